"""Whether a process lives, asked from outside."""

import subprocess
import time
from collections.abc import Iterable


def is_alive(pid: int) -> bool:
    """Return whether the process exists and is more than a zombie that nobody has waited for."""
    shown = subprocess.run(["/bin/ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(shown.stdout.strip()) and not shown.stdout.startswith("Z")


def survivors(pids: Iterable[int], *, wait_s: float) -> list[int]:
    """Return those that still live after at most `wait_s` seconds."""
    left = list(pids)
    deadline = time.monotonic() + wait_s
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = [pid for pid in left if is_alive(pid)]
    return left

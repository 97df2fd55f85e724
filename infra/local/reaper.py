"""Ends the parts of a stack whose supervisor is gone, however it went.

Runs as a process of its own, in its own session, with one end of a pipe as its standard input. Every part writes its
process id into that pipe before it becomes the part, so none can be missed; the supervisor writes the negated id of a
part that it has ended itself. When the supervisor exits, is killed or closes the pipe, the reader sees the end of the
file, ends what is left and exits. Started as a plain script with nothing but the standard library: it is up in
milliseconds, and works wherever there are pipes and process groups.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable
from typing import TextIO

GRACE_S = 2.0
_STEP_S = 0.02


def read_groups(lines: TextIO) -> set[int]:
    """Return the process groups that are registered and not forgotten when `lines` ends.

    Args:
        lines: One decimal number a line: `n` registers group n, `-n` forgets it.
    """
    groups: set[int] = set()
    for line in lines:
        number = int(line)
        if number > 0:
            groups.add(number)
        else:
            groups.discard(-number)
    return groups


def signal_group(group: int, number: int) -> bool:
    """Send signal `number` to a process group (0 only asks) and tell whether anything was there to take it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS refuses a group in which only zombies are left
        return False
    return True


def end_groups(groups: Iterable[int], *, grace_s: float = GRACE_S) -> None:
    """Ask every group to end, and kill what is left after `grace_s` seconds."""
    left = [group for group in groups if signal_group(group, signal.SIGTERM)]
    deadline = time.monotonic() + grace_s
    while left and time.monotonic() < deadline:
        time.sleep(_STEP_S)
        left = [group for group in left if signal_group(group, 0)]
    for group in left:
        signal_group(group, signal.SIGKILL)


def main() -> None:
    """Read until the pipe ends, then end what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end_groups(read_groups(sys.stdin))


if __name__ == "__main__":
    main()

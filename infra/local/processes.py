"""Starting a part as a process, ending it, and reading the tail of its log.

Every part leads its own session: a Ctrl-C in the terminal reaches the supervisor alone, which then ends the parts in
order, and ending a part's group ends whatever it started itself.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from infra.local import reaper
from infra.local.reaper import signal_group

GRACE_S = 3.0
TAIL_LINES = 20

# The shell tells the reaper its process id and only then becomes the part: however early the supervisor is killed, a
# part that runs is a part that the reaper knows.
_REGISTER_THEN_RUN = 'echo $$ >&0; exec "$@" </dev/null'


class PartFailedError(Exception):
    """A part of the stack died, or did not become ready in time.

    Attributes:
        part: The part's name.
        reason: What happened, without the part's name.
        log_tail: The last lines of its log.
    """

    def __init__(self, part: str, *, reason: str, log_tail: str) -> None:
        super().__init__(f"{part} {reason}")
        self.part = part
        self.reason = reason
        self.log_tail = log_tail


class Reaper:
    """The supervisor's side of the reaper: the pipe that every part registers itself in."""

    def __init__(self) -> None:
        read_end, self._write_end = os.pipe()
        command = [sys.executable, "-I", "-S", reaper.__file__]
        self.process = subprocess.Popen(  # noqa: S603 - our own file
            command, stdin=read_end, stdout=subprocess.DEVNULL, start_new_session=True
        )
        os.close(read_end)

    @property
    def pipe(self) -> int:
        """File descriptor that a part registers itself in."""
        return self._write_end

    def forget(self, pid: int) -> None:
        """Tell the reaper that this part has ended, so that its number may be used by others."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._write_end, b"-%d\n" % pid)

    def close(self) -> None:
        """Let the reaper end what is still registered, and wait for it."""
        os.close(self._write_end)
        self.process.wait()


def launch(command: Sequence[str], *, log: Path, env: Mapping[str, str], reaper_pipe: int) -> subprocess.Popen[bytes]:
    """Start `command` as the leader of a session and a process group of its own.

    Args:
        command: Program and arguments.
        log: File that takes standard output and error; appended to.
        env: The whole environment of the process.
        reaper_pipe: See `Reaper.pipe`.
    """
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - the stack's own commands
            ["/bin/sh", "-c", _REGISTER_THEN_RUN, "sh", *command],
            stdin=reaper_pipe,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(env),
            start_new_session=True,
        )


def end(processes: Iterable[subprocess.Popen[bytes]], *, grace_s: float = GRACE_S) -> None:
    """End the processes with their groups: asked first, all at once, and killed after `grace_s` seconds."""
    left = list(processes)
    for process in left:
        signal_group(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    for process in left:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=max(0.0, deadline - time.monotonic()))
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and whatever is left of its group, and wait for it."""
    signal_group(process.pid, signal.SIGKILL)
    process.wait()


def describe_exit(returncode: int) -> str:
    """Return how a process ended, in words: `exited with 1`, `was ended by SIGKILL`."""
    if returncode < 0:
        return f"was ended by {signal.Signals(-returncode).name}"
    return f"exited with {returncode}"


def read_tail(log: Path, *, lines: int = TAIL_LINES) -> str:
    """Return the last lines of a log; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])

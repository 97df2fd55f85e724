"""What ends the parts when their supervisor is gone; real processes, gone at the end of each test."""

import io
import signal
import subprocess
import sys

from infra.local import reaper
from infra.local.reaper import end_groups, read_groups, signal_group


def start(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)


def close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    process.stdout.close()
    process.wait()


def test_read_groups__forgotten_ones_are_left_out() -> None:
    assert read_groups(io.StringIO("12\n34\n-12\n56\n")) == {34, 56}


def test_end_groups__a_group_that_does_not_heed_sigterm_is_killed() -> None:
    stubborn = start("/bin/sh", "-c", "trap '' TERM; echo; while :; do sleep 0.05; done")
    assert stubborn.stdout is not None
    stubborn.stdout.readline()
    end_groups([stubborn.pid], grace_s=0.2)
    assert stubborn.wait(timeout=5) == -signal.SIGKILL
    close(stubborn)


def test_end_groups__a_group_that_is_gone_is_no_error() -> None:
    gone = start("/bin/sh", "-c", "exit 0")
    close(gone)
    end_groups([gone.pid], grace_s=0.2)


def test_signal_group__tells_whether_anything_was_there() -> None:
    sleeper = start("/bin/sleep", "30")
    assert signal_group(sleeper.pid, signal.SIGKILL)
    close(sleeper)
    assert not signal_group(sleeper.pid, 0)


def test_reaper__ends_what_is_registered_when_its_pipe_closes() -> None:
    kept = start("/bin/sleep", "30")
    forgotten = start("/bin/sleep", "30")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", reaper.__file__], stdin=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(b"%d\n%d\n-%d\n" % (kept.pid, forgotten.pid, forgotten.pid))
    process.stdin.flush()
    process.stdin.close()
    assert kept.wait(timeout=10) == -signal.SIGTERM
    assert process.wait(timeout=10) == 0
    assert forgotten.poll() is None
    forgotten.kill()
    close(forgotten)
    close(kept)

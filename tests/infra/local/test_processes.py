"""Starting and ending parts; real processes, gone at the end of each test."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.processes import Reaper, describe_exit, end, kill, launch, read_tail
from tests.infra.local.liveness import survivors


@pytest.fixture
def reaper() -> Iterator[Reaper]:
    reaper = Reaper()
    yield reaper
    reaper.close()


def start(reaper: Reaper, log: Path, *command: str) -> subprocess.Popen[bytes]:
    return launch(command, log=log, env=os.environ, reaper_pipe=reaper.pipe)


def await_text(log: Path) -> str:
    deadline = time.monotonic() + 10
    while not (text := log.read_text()).endswith("\n"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return text


def test_launch__the_process_leads_its_own_group_and_writes_to_the_log(reaper: Reaper, tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    process = start(reaper, log, "/bin/sh", "-c", "echo out $$; echo err >&2; exit 3")
    assert process.wait(timeout=10) == 3
    assert log.read_text() == f"out {process.pid}\nerr\n"


def test_launch__is_in_the_reaper_before_it_runs(tmp_path: Path) -> None:
    reaper = Reaper()
    process = start(reaper, tmp_path / "part.log", "/bin/sleep", "30")
    reaper.close()
    assert process.wait(timeout=10) == -signal.SIGTERM


def test_close__a_running_process_that_is_forgotten_does_not_keep_the_reaper(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    reaper = Reaper()
    process = start(reaper, log, "/bin/sh", "-c", "echo; exec sleep 30")
    await_text(log)
    reaper.forget(process.pid)
    reaper.close()
    assert process.poll() is None
    kill(process)


def test_end__takes_what_the_process_started_itself(reaper: Reaper, tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    process = start(reaper, log, "/bin/sh", "-c", "trap '' TERM; sleep 30 & echo $!; wait; wait")
    grandchild = int(await_text(log))
    end([process], grace_s=0.2)
    assert survivors([process.pid, grandchild], wait_s=5) == []


def test_describe_exit__names_the_signal() -> None:
    assert describe_exit(1) == "exited with 1"
    assert describe_exit(-signal.SIGKILL) == "was ended by SIGKILL"


def test_read_tail__gives_the_last_lines_and_nothing_for_no_log(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    assert read_tail(log) == ""
    log.write_text("".join(f"{number}\n" for number in range(100_000)))
    assert read_tail(log, lines=2) == "99998\n99999"

"""`preheat up` as a process: how it is told to stop, and what is left when it is not told."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from infra.local.cli import main
from infra.local.state_file import StackState, read_state, write_state
from tests.infra.local.liveness import survivors

WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Running:
    """A supervisor in its own process, ready, and what it printed."""

    process: subprocess.Popen[str]
    pids: dict[str, int]
    urls: dict[str, str]
    env: dict[str, str]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Running]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.infra.local.standins.supervisor", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    facts = json.loads(process.stdout.readline())
    yield Running(process, pids=facts["pids"], urls=facts["urls"], env=facts["env"])
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def test_up__runs_until_sigterm_and_leaves_nothing(up: Running, tmp_path: Path) -> None:
    assert httpx.get(f"{up.urls['gateway']}/healthz").status_code == 200
    assert up.env["AWS_ENDPOINT_URL"] == up.urls["aws"]
    state_file = tmp_path / "stack.json"
    assert stat.S_IMODE(state_file.stat().st_mode) == 0o600
    assert read_state(tmp_path).pid == up.process.pid

    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(timeout=WAIT_S) == 0
    assert survivors(up.pids.values(), wait_s=0.5) == []
    assert not state_file.exists()


def test_up__a_part_that_crashes_is_named_with_its_log_and_everything_stops(up: Running, tmp_path: Path) -> None:
    os.kill(up.pids["cache"], signal.SIGKILL)
    assert up.process.wait(timeout=WAIT_S) == 1
    assert up.process.stderr is not None
    message = up.process.stderr.read()
    assert message.startswith("cache was ended by SIGKILL; the stack is stopped.")
    assert "Traceback" not in message
    assert "Ready to accept connections" in message
    assert survivors(up.pids.values(), wait_s=0.5) == []
    assert not (tmp_path / "stack.json").exists()


def test_up__killed_without_a_warning_leaves_nothing_either(
    up: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    up.process.kill()
    up.process.wait()
    assert survivors(up.pids.values(), wait_s=15) == []
    with pytest.raises(SystemExit) as exited:
        main(["token", "--tenant", "acme", "--user", "ada", "--state-dir", str(tmp_path)])
    assert exited.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_up__a_second_stack_in_the_same_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_state(tmp_path, StackState(pid=os.getpid(), urls={}, token_secret="hush"))
    with pytest.raises(SystemExit) as exited:
        main(["up", "--state-dir", str(tmp_path)])
    assert exited.value.code == 2
    assert f"process {os.getpid()}" in capsys.readouterr().err

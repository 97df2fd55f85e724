"""What a running stack leaves for other commands."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from infra.local.state_file import NoStackError, StackState, read_state, remove_state, write_state


def state(pid: int) -> StackState:
    return StackState(pid=pid, urls={"gateway": "http://127.0.0.1:1"}, token_secret="hush")


def test_state__is_read_as_it_was_written_while_its_process_lives(tmp_path: Path) -> None:
    write_state(tmp_path, state(os.getpid()))
    assert read_state(tmp_path) == state(os.getpid())


def test_write_state__nobody_else_may_read_it(tmp_path: Path) -> None:
    path = write_state(tmp_path, state(os.getpid()))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_read_state__a_dead_process_is_no_stack(tmp_path: Path) -> None:
    gone = subprocess.Popen(["/bin/sh", "-c", "exit 0"])
    gone.wait()
    write_state(tmp_path, state(gone.pid))
    with pytest.raises(NoStackError, match=f"process {gone.pid} is gone"):
        read_state(tmp_path)


def test_read_state__no_file_is_no_stack(tmp_path: Path) -> None:
    remove_state(write_state(tmp_path, state(os.getpid())))
    with pytest.raises(NoStackError, match="no stack is running"):
        read_state(tmp_path)


@pytest.mark.parametrize("content", ["", "{}", '{"pid": "x"}', "\x00"])
def test_read_state__a_broken_file_is_no_stack(tmp_path: Path, content: str) -> None:
    (tmp_path / "stack.json").write_text(content)
    with pytest.raises(NoStackError, match="not readable"):
        read_state(tmp_path)

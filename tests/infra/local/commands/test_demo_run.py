"""`preheat demo` as a process, on a real stack: minutes, so it is run on demand."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

COMMAND = [sys.executable, "-m", "infra.local.cli", "demo", "--prefix", "512", "--pairs", "1"]
WAIT_S = 240.0


def left_over(state_dir: Path) -> list[str]:
    """Return the commands of this machine that name the stack's folder."""
    commands = (path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline"))
    return [command.decode().replace("\0", " ") for command in commands if str(state_dir).encode() in command]


def test_demo__every_check_holds_and_the_report_is_written(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--out", str(tmp_path)], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "demo.json").read_text(encoding="utf-8"))["held"] is True
    assert (tmp_path / "report.html").stat().st_size > 0
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("after_s", [2.0, 15.0])
def test_demo__ctrl_c_is_one_line_and_exit_code_130(tmp_path: Path, after_s: float) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, err) == (130, "")
    assert out.splitlines()[-1] == "stopped; nothing is left running"
    assert left_over(tmp_path) == []

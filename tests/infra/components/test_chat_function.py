"""The streaming function: its settings, and its start script run for real."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from preheat import names
from tests.infra.assembly import ROOT, Assembly

_START_TIMEOUT_S = 30.0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def started(plain: Assembly) -> Iterator[int]:
    """The app as Lambda's wrapper starts it, from the asset; its port."""
    function = plain.function(names.CHAT)
    task_root = plain.asset(function["Code"]["S3Key"])
    port = _free_port()
    variables = function["Environment"]["Variables"]
    environment = {
        **os.environ,
        # What the template sets; where it names a resource, any name will do.
        **{name: value if isinstance(value, str) else "placeholder" for name, value in variables.items()},
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LAMBDA_TASK_ROOT": str(task_root),
        "PORT": str(port),
    }
    script = task_root / function["Handler"]
    process = subprocess.Popen([script], cwd=task_root, env=environment)  # our own start script
    try:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not _is_open(port):
            assert process.poll() is None, "the app ended before it listened"
            assert time.monotonic() < deadline, "the app does not listen"
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=10)


def test_chat__runs_under_the_web_adapter_and_streams(plain: Assembly) -> None:
    function = plain.function(names.CHAT)
    variables = function["Environment"]["Variables"]
    assert variables["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/bootstrap"
    assert variables["AWS_LWA_INVOKE_MODE"] == "response_stream"
    assert variables["PORT"].isdigit()
    assert "753240598075:layer:LambdaAdapterLayerArm64:" in str(function["Layers"][-1])
    assert len(function["Layers"]) == 3


def test_chat__start_script_can_be_run_from_the_asset(plain: Assembly) -> None:
    function = plain.function(names.CHAT)
    script = plain.asset(function["Code"]["S3Key"]) / function["Handler"]
    assert os.access(script, os.X_OK)


def test_chat__app_answers_when_started_like_in_lambda(started: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", started, timeout=10)
    connection.request("GET", "/v1/chat/completions")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 405


def test_chat__source_is_the_start_script_of_the_repository() -> None:
    assert (ROOT / "functions" / names.CHAT / "run.sh").read_text(encoding="utf-8").startswith("#!/bin/sh\n")

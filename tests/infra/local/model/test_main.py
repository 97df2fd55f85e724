"""The process itself: how it starts, what it refuses, and that it leaves nothing behind."""

import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from botocore.exceptions import EventStreamError

from infra.local.model.launch import start_model_server

if TYPE_CHECKING:
    from tests.infra.local.model.conftest import Caller

COMMAND = [sys.executable, "-m", "infra.local.model"]


class BreakingServer(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that hangs up after the first token."""

    def do_GET(self) -> None:
        self._answer(json.dumps({"data": [{"id": "m"}]}).encode(), "application/json")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n', "text/event-stream")

    def _answer(self, body: bytes, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def breaking_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), BreakingServer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def slot_folders(pid: int) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"preheat-kv-{pid}-*"))


def children_of(pid: int) -> list[str]:
    table = subprocess.run(["ps", "-A", "-o", "ppid="], check=True, capture_output=True, text=True)
    return [line for line in table.stdout.split() if line == str(pid)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_main__a_signal_in_the_middle_of_a_prefill_ends_it_and_leaves_nothing(number: signal.Signals) -> None:
    arguments = ["--slots", "1", "--context", "2048", "--threads", "1"]
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().split()[1].decode()
        body = {"messages": [{"role": "user", "content": "word " * 1800}], "max_tokens": 1, "stream": True}
        folders, children = slot_folders(process.pid), children_of(process.pid)
        with httpx.stream("POST", f"{url}/invocations", json=body) as response:
            assert response.status_code == 200
            process.send_signal(number)
            code = process.wait(20)
        stderr = process.stderr.read().decode()

    assert (code, stderr) == (0, "")
    assert children == []
    assert len(folders) == 1
    assert slot_folders(process.pid) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "none.gguf"], "No such file"),
        (["--endpoint", "http://127.0.0.1:1"], "does not answer"),
        (["--slots", "0"], "must be at least 1"),
    ],
)
def test_main__arguments_that_cannot_work_are_one_line_and_code_2(arguments: list[str], words: str) -> None:
    ended = subprocess.run([*COMMAND, *arguments], check=False, capture_output=True, text=True)

    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert words in ended.stderr


def test_main__a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = subprocess.run([*COMMAND, "--port", port], check=False, capture_output=True, text=True)

    assert ended.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr


def test_endpoint__a_server_that_hangs_up_is_an_event_stream_error(caller_of: "Callable[[str], Caller]") -> None:
    with breaking_server() as endpoint, start_model_server(endpoint=endpoint) as server:
        caller = caller_of(server.url)
        response = caller.client.invoke_endpoint_with_response_stream(
            EndpointName="preheat", Body=caller.body("x", stream=True)
        )
        events = iter(response["Body"])
        first = next(events)
        with pytest.raises(EventStreamError, match="ModelStreamError") as caught:
            next(events)
        response["Body"].close()
        caller.client.close()
        facts = caller.engine()

    assert b"Hi" in first["PayloadPart"]["Bytes"]
    assert caught.value.response["Error"]["Code"] == "ModelStreamError"
    assert (facts["cache_salt"], facts["model"]) == ("native", "m")

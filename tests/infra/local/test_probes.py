"""Asking a part whether it is ready."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.ports import HOST, reserve_port
from infra.local.probes import file_probe, http_probe, valkey_probe


@pytest.fixture
def answering(request: pytest.FixtureRequest) -> Iterator[int]:
    """Port of a server that answers its first caller with the bytes in the test's parameter."""
    with socket.create_server((HOST, 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1024)
                connection.sendall(request.param)

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        thread.join(timeout=10)


@pytest.mark.parametrize("answering", [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], indirect=True)
def test_http_probe__200_is_ready(answering: int) -> None:
    assert http_probe(answering, "/ping")()


@pytest.mark.parametrize(
    "answering", [b"HTTP/1.1 503 Loading\r\nContent-Length: 0\r\n\r\n", b"nonsense\r\n\r\n", b""], indirect=True
)
def test_http_probe__anything_else_is_not_ready(answering: int) -> None:
    assert not http_probe(answering, "/ping")()


@pytest.mark.parametrize("answering", [b"+PONG\r\n"], indirect=True)
def test_valkey_probe__pong_is_ready(answering: int) -> None:
    assert valkey_probe(answering)()


@pytest.mark.parametrize("answering", [b"-LOADING the dataset\r\n"], indirect=True)
def test_valkey_probe__loading_is_not_ready(answering: int) -> None:
    assert not valkey_probe(answering)()


def test_probes__a_port_that_nobody_listens_on_is_not_ready() -> None:
    port = reserve_port()
    assert not http_probe(port, "/ping")()
    assert not valkey_probe(port)()


def test_file_probe__is_ready_once_the_file_is_there(tmp_path: Path) -> None:
    probe = file_probe(tmp_path / "ready")
    assert not probe()
    (tmp_path / "ready").touch()
    assert probe()

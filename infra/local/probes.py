"""Asking a part whether it is ready. A probe answers at once and never raises: not yet is an answer."""

import http.client
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

from infra.local.ports import HOST

Probe = Callable[[], bool]

_TIMEOUT_S = 1.0
_HTTP_OK = 200


def http_probe(port: int, path: str) -> Probe:
    """Return a probe that is true once `GET path` answers 200."""
    return partial(_answers_ok, port, path)


def valkey_probe(port: int) -> Probe:
    """Return a probe that is true once the server answers PING."""
    return partial(_answers_pong, port)


def file_probe(path: Path) -> Probe:
    """Return a probe that is true once the part has made the file `path`."""
    return path.exists


def valkey_version(port: int) -> str:
    """Return the version that a running Valkey says it has.

    Raises:
        OSError: nothing listens on the port.
    """
    for line in _ask_valkey(port, b"INFO server\r\n").decode().splitlines():
        name, _, value = line.partition(":")
        if name == "valkey_version":
            return value
    return "unknown"


def _answers_ok(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == _HTTP_OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _answers_pong(port: int) -> bool:
    try:
        return _ask_valkey(port, b"PING\r\n").startswith(b"+PONG")
    except OSError:
        return False


def _ask_valkey(port: int, command: bytes) -> bytes:
    with socket.create_connection((HOST, port), timeout=_TIMEOUT_S) as connection:
        connection.sendall(command)
        return connection.recv(64 * 1024)

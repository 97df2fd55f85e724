"""Stands between the functions and the model server and keeps a copy of what the engine is asked.

It is how the demo can show the very bytes that a prompt was made of without a hole in the product. It passes every
byte on as it comes, in both directions, and understands just enough HTTP to tell requests apart.
"""

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from infra.local.ports import HOST
from preheat import names

_PIECE_BYTES: Final = 64 * 1024
_HEAD_END: Final = b"\r\n\r\n"
_ATTRIBUTES: Final = "x-amzn-sagemaker-custom-attributes"


@dataclass(frozen=True, slots=True)
class EngineCall:
    """One request that reached the engine: its body, and whether it was a warm-up."""

    body: bytes
    warm_up: bool

    @property
    def messages(self) -> bytes:
        """The bytes of the body up to the end of its messages, without the closing bracket."""
        return self.body[: self.body.index(b'],"cache_salt":')]

    def text(self) -> str:
        """Return the contents of all messages, one after another."""
        messages = json.loads(self.body)["messages"]
        return "\n".join(str(message["content"]) for message in messages)


class EngineRelay:
    """A relay to one server, which is named once it is known. Runs for the time of its context."""

    def __init__(self) -> None:
        """Listen at once, so that the address can be given to others."""
        self._listener = socket.create_server((HOST, 0))
        self._target: tuple[str, int] | None = None
        self._calls: list[EngineCall] = []
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="engine-relay", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            for one in (self._listener, *self._open):
                _close(one)

    def connect_to(self, port: int) -> None:
        """Name the server's port on this machine; connections made before are closed."""
        self._target = (HOST, port)

    def take_calls(self) -> tuple[EngineCall, ...]:
        """Return the calls since the last time, in the order in which their last byte came, and forget them."""
        with self._lock:
            taken, self._calls = tuple(self._calls), []
        return taken

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target or ("", 0))
            except OSError:
                caller.close()
                continue
            with self._lock:
                self._open = [one for one in self._open if one.fileno() >= 0] + [caller, server]
            for one in (caller, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            reader = RequestReader(self._keep)
            threading.Thread(target=_pump, args=(caller, server, reader.feed), daemon=True).start()
            threading.Thread(target=_pump, args=(server, caller, _unread), daemon=True).start()

    def _keep(self, call: EngineCall) -> None:
        with self._lock:
            self._calls.append(call)


class RequestReader:
    """Takes the requests of one connection out of its bytes: HTTP/1.1 with a Content-Length, as botocore sends it."""

    def __init__(self, keep: Callable[[EngineCall], None]) -> None:
        """Start at the beginning of a connection."""
        self._keep = keep
        self._pending = b""

    def feed(self, piece: bytes) -> None:
        """Take the next bytes; every request that they complete is kept."""
        self._pending += piece
        while _HEAD_END in self._pending:
            head, _, rest = self._pending.partition(_HEAD_END)
            headers = _headers(head)
            length = int(headers.get("content-length", "0"))
            if len(rest) < length:
                return
            body, self._pending = rest[:length], rest[length:]
            if body:
                self._keep(EngineCall(body, warm_up=headers.get(_ATTRIBUTES) == names.WARM_UP_PRIORITY))


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _pump(source: socket.socket, sink: socket.socket, seen: Callable[[bytes], None]) -> None:
    """Pass bytes on until one side closes, then close the other."""
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            seen(piece)  # first: whoever has the answer must find the request here
            sink.sendall(piece)
    _close(source)
    _close(sink)


def _close(one: socket.socket) -> None:
    """Close for both threads that use the socket: `close` alone leaves the other one in its `recv`."""
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


def _unread(_: bytes) -> None:
    """Let an answer's bytes go by."""

"""Reading a request's body up to a limit, with or without a declared length, and giving it on to an ASGI app."""

from http import HTTPStatus
from typing import Final

from starlette.types import Message, Receive

from infra.local.problem import RefusedError

# An over-long body is read on and thrown away up to here, so that the caller gets to see the answer.
_DRAIN_FACTOR: Final = 16


class BodyTooLargeError(RefusedError):
    """The body has more bytes than the limit."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"a body may have {limit_bytes} bytes")


class DisconnectedError(Exception):
    """The caller went away before the body was complete."""


async def read_body(receive: Receive, *, limit_bytes: int) -> bytes:
    """Return the whole body.

    Raises:
        BodyTooLargeError: it has more than `limit_bytes`.
        DisconnectedError: the caller is gone.
    """
    body = bytearray()
    size_bytes = 0
    more = True
    while more and size_bytes <= limit_bytes * _DRAIN_FACTOR:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        chunk = message.get("body", b"")
        size_bytes += len(chunk)
        if size_bytes <= limit_bytes:
            body += chunk
        more = message.get("more_body", False)
    if size_bytes > limit_bytes:
        raise BodyTooLargeError(limit_bytes)
    return bytes(body)


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body in one piece, and then what `receive` gives: the caller's departure."""
    pending = [body]

    async def receive_again() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return receive_again

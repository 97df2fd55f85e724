"""Reading a body up to a limit."""

import asyncio
from collections.abc import Iterable

import pytest
from starlette.types import Message, Receive

from infra.local.request_body import BodyTooLargeError, DisconnectedError, read_body, replay


def sent(chunks: Iterable[bytes], *, whole: bool = True) -> tuple[Receive, list[Message]]:
    """Return a `receive` and the messages that it has not given yet."""
    messages: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages.append({"type": "http.request"} if whole else {"type": "http.disconnect"})

    async def receive() -> Message:
        return messages.pop(0)

    return receive, messages


def read(chunks: Iterable[bytes], *, limit_bytes: int) -> bytes:
    receive, _ = sent(chunks)
    return asyncio.run(read_body(receive, limit_bytes=limit_bytes))


def test_read_body__puts_the_pieces_together() -> None:
    assert read([b"ab", b"", b"cd"], limit_bytes=10) == b"abcd"


def test_read_body__takes_exactly_the_limit_and_no_byte_more() -> None:
    assert read([b"12345", b"67890"], limit_bytes=10) == b"1234567890"
    with pytest.raises(BodyTooLargeError):
        read([b"12345", b"67890", b"1"], limit_bytes=10)


def test_read_body__reads_an_over_long_body_on_so_that_its_sender_hears_the_answer() -> None:
    receive, left = sent([b"x" * 10] * 5)
    with pytest.raises(BodyTooLargeError):
        asyncio.run(read_body(receive, limit_bytes=10))
    assert left == []


def test_read_body__reads_no_endless_body_to_its_end() -> None:
    receive, left = sent([b"x" * 10] * 1000)
    with pytest.raises(BodyTooLargeError):
        asyncio.run(read_body(receive, limit_bytes=10))
    assert len(left) > 900


def test_read_body__a_caller_that_leaves_is_told_apart() -> None:
    receive, _ = sent([b"ab"], whole=False)
    with pytest.raises(DisconnectedError):
        asyncio.run(read_body(receive, limit_bytes=10))


def test_replay__gives_the_body_once_and_then_the_callers_departure() -> None:
    receive, _ = sent([], whole=False)

    async def hear_twice() -> list[Message]:
        again = replay(b"ab", receive)
        return [await again(), await again()]

    assert asyncio.run(hear_twice()) == [
        {"type": "http.request", "body": b"ab", "more_body": False},
        {"type": "http.disconnect"},
    ]

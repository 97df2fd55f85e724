"""A function that streams: what its app is given, and what becomes of its failures."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infra.local.execution_environment import InvocationError, OverrunError
from infra.local.streamed_function import StreamedFunction
from infra.topology import FUNCTIONS
from preheat import names

(CHAT,) = (function for function in FUNCTIONS if function.folder == names.CHAT)
START: Message = {"type": "http.response.start", "status": 200, "headers": []}


async def departed() -> Message:
    return {"type": "http.disconnect"}


def invoke(app: ASGIApp, send: Callable[[Message], Awaitable[None]], *, timeout_s: int = CHAT.timeout_s) -> None:
    headers = [(b"accept", b"*/*"), (names.REQUEST_CONTEXT_HEADER.encode(), b'{"authorizer": "forged"}')]
    function = StreamedFunction(replace(CHAT, timeout_s=timeout_s), app)
    call = function.invoke(
        {"type": "http", "headers": headers}, departed, send=send, body=b"question", context={"stage": "lokäl"}
    )
    asyncio.run(call)


def collect(app: ASGIApp, *, timeout_s: int = CHAT.timeout_s) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    invoke(app, send, timeout_s=timeout_s)
    return sent


def test_invoke__the_context_is_ours_whatever_the_caller_sent() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        seen.append(scope)
        await send(START)

    collect(app)
    contexts = [value for name, value in seen[0]["headers"] if name == names.REQUEST_CONTEXT_HEADER.encode()]
    assert [json.loads(context) for context in contexts] == [{"stage": "lokäl"}]
    assert (b"accept", b"*/*") in seen[0]["headers"]


def test_invoke__the_app_reads_the_body_and_then_hears_of_the_callers_departure() -> None:
    heard: list[Message] = []

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        heard.extend([await receive(), await receive()])
        await send(START)

    collect(app)
    assert heard == [
        {"type": "http.request", "body": b"question", "more_body": False},
        {"type": "http.disconnect"},
    ]


def test_invoke__every_piece_is_sent_on_before_the_next_is_made() -> None:
    order: list[str] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(START)
        for piece in (b"1", b"2"):
            order.append(f"made {piece.decode()}")
            await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def send(message: Message) -> None:
        order.append(f"sent {message.get('body', b'').decode()}")

    invoke(app, send)
    assert order == ["sent ", "made 1", "sent 1", "made 2", "sent 2"]


def test_invoke__a_failure_before_the_answer_is_an_invocation_error() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise KeyError("user text")

    with pytest.raises(InvocationError, match=r"^chat failed with KeyError$"):
        collect(app)


def test_invoke__no_answer_is_an_invocation_error() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        """Do nothing."""

    with pytest.raises(InvocationError, match="gave no answer"):
        collect(app)


def test_invoke__no_answer_in_time_is_an_overrun() -> None:
    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.sleep(30)

    with pytest.raises(OverrunError):
        collect(app, timeout_s=0)


def test_invoke__a_failure_in_the_middle_of_an_answer_cuts_it_off() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(START)
        raise KeyError("user text")

    with pytest.raises(KeyError):
        collect(app)

"""A call ends when its caller is gone."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from infra.local.model.exchange import Exchange
from infra.local.model.serving import EVENTS, Serving

Event = MutableMapping[str, Any]


class Call:
    """A call that never ends by itself, and notes that it was ended."""

    def __init__(self) -> None:
        self.ended = False

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Serving]:
        try:
            yield Serving(EVENTS, self._parts(), "id")
        finally:
            self.ended = True

    async def _parts(self) -> AsyncIterator[bytes]:
        yield b"one"
        await asyncio.Event().wait()


def test_exchange__ends_the_call_when_the_caller_hangs_up() -> None:
    call, sent = Call(), asyncio.Event()

    async def receive() -> Event:
        await sent.wait()
        return {"type": "http.disconnect"}

    async def send(event: Event) -> None:
        if event.get("body"):
            sent.set()

    async def run() -> None:
        await asyncio.wait_for(Exchange(call.serve, "invoke_stream")({"type": "http"}, receive, send), 5)

    asyncio.run(run())
    assert call.ended


def test_exchange__ends_the_call_when_it_is_cancelled_itself() -> None:
    call, sent = Call(), asyncio.Event()

    async def receive() -> Event:
        await asyncio.Event().wait()
        return {}

    async def send(event: Event) -> None:
        if event.get("body"):
            sent.set()

    async def run() -> None:
        exchange = asyncio.ensure_future(Exchange(call.serve, "container")({"type": "http"}, receive, send))
        await sent.wait()
        exchange.cancel()
        await asyncio.wait({exchange})

    asyncio.run(run())
    assert call.ended

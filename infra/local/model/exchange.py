"""One HTTP exchange around a call: it ends the call when the caller hangs up, and answers in one of three framings."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from infra.local.model.contract import STREAM_CONTENT_TYPE, VARIANT, container_response, endpoint_response
from infra.local.model.errors import BrokenStreamError, ModelServerError
from infra.local.model.eventstream import CONTENT_TYPE, model_stream_error, payload_part
from infra.local.model.serving import EVENTS, Serving

# invoke: InvokeEndpoint. invoke_stream: InvokeEndpointWithResponseStream. container: /invocations itself.
Framing = Literal["invoke", "invoke_stream", "container"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """An ASGI response that runs its call while it is sent.

    Attributes:
        call: Starts the call.
        framing: How its parts are sent.
    """

    call: Callable[[], AbstractAsyncContextManager[Serving]]
    framing: Framing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the call and answer; stop both when the caller is gone."""
        work = asyncio.create_task(self._work(scope, receive, send))
        gone = asyncio.create_task(_hung_up(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.wait({work, gone})
        if not work.cancelled():
            work.result()

    async def _work(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self.call() as serving:
                if self.framing == "invoke_stream":
                    await _send_framed(serving, send)
                elif self.framing == "container" and serving.content_type == EVENTS:
                    await _send_events(serving, send)
                else:
                    body = b"".join([part async for part in serving.parts])
                    headers = {VARIANT: serving.engine_id}
                    await Response(body, headers=headers, media_type=serving.content_type)(scope, receive, send)
        except ModelServerError as error:
            respond = container_response if self.framing == "container" else endpoint_response
            await respond(error)(scope, receive, send)


async def _send_framed(serving: Serving, send: Send) -> None:
    headers = {
        "content-type": CONTENT_TYPE,
        STREAM_CONTENT_TYPE: serving.content_type,
        VARIANT: serving.engine_id,
    }
    await _send_all(send, headers, pieces=_frames(serving.parts))


async def _frames(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for part in parts:
            yield payload_part(part)
    except ModelServerError as error:
        yield model_stream_error(str(error), error_code="StreamBroken")


async def _send_events(serving: Serving, send: Send) -> None:
    """Send the container's own stream. When the engine goes away the connection is cut, as the container's would be."""
    headers = {"content-type": serving.content_type, VARIANT: serving.engine_id}
    try:
        await _send_all(send, headers, pieces=serving.parts)
    except BrokenStreamError:
        return


async def _send_all(send: Send, headers: Mapping[str, str], *, pieces: AsyncIterator[bytes]) -> None:
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": raw})
    async for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

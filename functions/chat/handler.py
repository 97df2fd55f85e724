"""The answer: an ASGI app in OpenAI's chat-completions shape, under the Lambda Web Adapter or any ASGI server."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from functions.chat import call, stream
from preheat.adapters.http import PROBLEM_JSON, problem
from preheat.adapters.openai_chat import Head, completion
from preheat.adapters.system_clock import SystemClock
from preheat.answer import answer
from preheat.errors import PreheatError
from preheat.runtime import get_runtime


async def chat(request: Request) -> Response:
    """Answer one message; streamed as server-sent events when asked for. See events/chat.json."""
    clock = SystemClock()
    accepted_ms = clock.monotonic_ms()
    try:
        body = await call.read_body(request)
        asked, question = call.read(request, body, request_id=uuid.uuid4().hex, accepted_ms=accepted_ms)
        items = stream.watched(answer(question, get_runtime().ports), session=question.scope.session)
        head = Head(f"chatcmpl-{question.request_id}", agent=asked.model, created=int(clock.now()))
        if not asked.stream:
            return JSONResponse(await run_in_threadpool(completion, items, head))
        first = await run_in_threadpool(next, items)
    except PreheatError as error:
        status, shown = problem(error)
        return JSONResponse(shown, status_code=status, media_type=PROBLEM_JSON)
    return StreamingResponse(stream.events(first, items, head), media_type="text/event-stream")


@asynccontextmanager
async def prepared(_: Starlette) -> AsyncIterator[None]:
    """Build clients while the environment starts, not while a user waits."""
    await run_in_threadpool(get_runtime().prepare)
    yield


app = Starlette(lifespan=prepared, routes=[Route("/v1/chat/completions", chat, methods=["POST"])])

"""Stands in for the function `chat`: streams the tenant and the message back as server-sent events."""

import json
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from preheat import names


async def answer(request: Request) -> StreamingResponse:
    """Stream the caller's tenant, the message, and the end mark."""
    context = json.loads(request.headers[names.REQUEST_CONTEXT_HEADER])
    message = (await request.json())["message"]

    async def events() -> AsyncIterator[str]:
        for word in (context["authorizer"]["claims"][names.CLAIM_TENANT], message, "[DONE]"):
            yield f"data: {word}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])

"""The routes: SageMaker runtime's two calls, the container's two, and two that exist only here.

- `POST /endpoints/{name}/invocations`, `POST /endpoints/{name}/invocations-response-stream`: what boto3 calls.
- `GET /ping`, `POST /invocations`: what SageMaker calls on a container.
- `POST /tokenize` with `{"messages": [...]}` or `{"text": "..."}`: `{"tokens": n}`. `GET /engine`: what the engine is.
"""

import logging
import traceback
from dataclasses import asdict
from functools import partial
from typing import Annotated, Self

from pydantic import BaseModel, Field, JsonValue, ValidationError, model_validator
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from infra.local.model.chat import MAX_BODY_BYTES
from infra.local.model.contract import (
    PREFIX_ID,
    check_headers,
    check_size,
    container_response,
    endpoint_response,
    is_warm_up,
    unknown_endpoint,
)
from infra.local.model.errors import ModelServerError, ServiceError, refusal
from infra.local.model.exchange import Exchange, Framing
from infra.local.model.serving import Container

logger = logging.getLogger(__name__)
_INTERNAL = ServiceError("InternalFailure", 500, "An internal failure occurred.")


class _Countable(BaseModel):
    messages: Annotated[list[dict[str, JsonValue]], Field(min_length=1)] | None = None
    text: str | None = None
    cache_salt: str | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.messages is None) == (self.text is None):
            raise ValueError("give messages or text")
        return self


def make_app(container: Container, *, endpoint_name: str) -> Starlette:
    """Return the application that serves `container` under the endpoint's name."""

    async def invoke(request: Request, framing: Framing) -> ASGIApp:
        if request.path_params["name"] != endpoint_name:
            raise unknown_endpoint(request.path_params["name"])
        check_headers(request.headers)
        raw = await _read(request)
        check_size(len(raw))
        return _exchange(container, request, raw, framing=framing)

    async def invocations(request: Request) -> ASGIApp:
        raw = await _read(request)
        if len(raw) > MAX_BODY_BYTES:
            raise refusal(413, f"the body is over {MAX_BODY_BYTES} bytes")
        return _exchange(container, request, raw, framing="container")

    async def ping(_: Request) -> Response:
        return Response(status_code=200 if container.ready else 503)

    async def engine(_: Request) -> Response:
        return JSONResponse(asdict(container.backend.facts))

    async def tokenize(request: Request) -> Response:
        return JSONResponse({"tokens": await _count(container, await _read(request))})

    return Starlette(
        routes=[
            Route("/endpoints/{name}/invocations", partial(invoke, framing="invoke"), methods=["POST"]),
            Route(
                "/endpoints/{name}/invocations-response-stream",
                partial(invoke, framing="invoke_stream"),
                methods=["POST"],
            ),
            Route("/ping", ping, methods=["GET"]),
            Route("/invocations", invocations, methods=["POST"]),
            Route("/engine", engine, methods=["GET"]),
            Route("/tokenize", tokenize, methods=["POST"]),
        ],
        exception_handlers={
            ModelServerError: _in_words_of_the_route,
            ClientDisconnect: _nobody_there,
            Exception: _failed,
        },
    )


def _exchange(container: Container, request: Request, raw: bytes, *, framing: Framing) -> Exchange:
    prefix_id, warm_up = request.headers.get(PREFIX_ID, ""), is_warm_up(request.headers)
    return Exchange(partial(container.serve, raw, prefix_id=prefix_id, warm_up=warm_up), framing)


async def _read(request: Request) -> bytes:
    """Read the whole body, but keep no more of it than shows that it is over the limit."""
    raw = bytearray()
    async for piece in request.stream():
        raw += piece[: MAX_BODY_BYTES + 1 - len(raw)]
    return bytes(raw)


async def _count(container: Container, raw: bytes) -> int:
    backend = container.backend
    try:
        asked = _Countable.model_validate_json(raw)
    except ValidationError as error:
        raise refusal(400, error.errors(include_input=False, include_url=False)[0]["msg"]) from error
    if asked.messages is not None:
        return await backend.count_messages(tuple(asked.messages), cache_salt=asked.cache_salt)
    return await backend.count_text(asked.text or "")


async def _in_words_of_the_route(request: Request, error: Exception) -> Response:
    respond = endpoint_response if request.url.path.startswith("/endpoints/") else container_response
    return respond(error if isinstance(error, ModelServerError) else _INTERNAL)


async def _failed(request: Request, error: Exception) -> Response:
    """Log a fault of this server by the type of the error: its text could hold a prompt."""
    where = "".join(traceback.format_tb(error.__traceback__))
    logger.error("a call failed: %s\n%s", type(error).__name__, where)
    return await _in_words_of_the_route(request, error)


async def _nobody_there(_: Request, __: Exception) -> Response:
    """The caller hung up while sending: there is nobody to answer, and nothing to log."""
    return Response(status_code=400)

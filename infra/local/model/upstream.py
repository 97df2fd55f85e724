"""The HTTP side of an engine: one client, its errors in our words."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import httpx

from infra.local.model.errors import BrokenStreamError, ContainerError, StartError, refusal
from infra.local.model.sse import split_events

CHAT_PATH: Final = "/v1/chat/completions"
_JSON: Final = {"content-type": "application/json"}
# SageMaker ends a stream after eight minutes.
_TIMEOUT: Final = httpx.Timeout(480.0, connect=5.0)
# No connection is used twice: llama.cpp closes idle ones, and a call that meets the closing fails (ran).
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=0)


def engine_client(url: str) -> httpx.AsyncClient:
    """Return a client for the engine at `url`, its OpenAI base without `/v1`.

    Proxies of the environment are not used.

    Raises:
        StartError: `url` is not one.
    """
    try:
        return httpx.AsyncClient(base_url=url, limits=_LIMITS, timeout=_TIMEOUT, trust_env=False)
    except httpx.InvalidURL as error:
        raise StartError(f"not a URL: {url}") from error


async def post_json(client: httpx.AsyncClient, path: str, *, body: bytes) -> bytes:
    """Return the body of a 200 answer.

    Raises:
        ContainerError: the engine answered something else, or is not there (503).
    """
    try:
        response = await client.post(path, content=body, headers=_JSON)
    except httpx.TransportError as error:
        raise refusal(503, f"the engine is not reachable: {type(error).__name__}") from error
    if response.status_code != httpx.codes.OK:
        raise ContainerError(response.status_code, response.content)
    return response.content


@asynccontextmanager
async def post_stream(client: httpx.AsyncClient, path: str, *, body: bytes) -> AsyncIterator[AsyncIterator[bytes]]:
    """Post and yield the server-sent events of the answer; leaving the block closes the socket.

    Raises:
        ContainerError: before the first event, when the engine refuses or is not there (503).
        BrokenStreamError: while iterating, when the engine goes away.
    """
    request = client.build_request("POST", path, content=body, headers=_JSON)
    try:
        response = await client.send(request, stream=True)
    except httpx.TransportError as error:
        raise refusal(503, f"the engine is not reachable: {type(error).__name__}") from error
    try:
        if response.status_code != httpx.codes.OK:
            raise ContainerError(response.status_code, await response.aread())
        yield split_events(_pieces(response))
    finally:
        await response.aclose()


async def _pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in response.aiter_bytes():
            yield piece
    except httpx.TransportError as error:
        raise BrokenStreamError(f"the engine closed the stream: {type(error).__name__}") from error

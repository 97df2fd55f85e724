"""An engine's failures in our words."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from infra.local.model.errors import BrokenStreamError, ContainerError, StartError
from infra.local.model.upstream import engine_client, post_json, post_stream


class _Cut(httpx.AsyncByteStream):
    """A body whose connection is reset after the first event."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"data: {}\n\n"
        raise httpx.ReadError("reset")


def client_on(answer: httpx.Response | httpx.TransportError) -> httpx.AsyncClient:
    def handle(request: httpx.Request) -> httpx.Response:
        if isinstance(answer, httpx.TransportError):
            answer.request = request
            raise answer
        return answer

    return httpx.AsyncClient(base_url="http://engine", transport=httpx.MockTransport(handle))


async def _events(client: httpx.AsyncClient) -> list[bytes]:
    async with post_stream(client, "/x", body=b"{}") as events:
        return [event async for event in events]


def test_post_json__a_server_that_is_away_is_a_503() -> None:
    with pytest.raises(ContainerError, match="503"):
        asyncio.run(post_json(client_on(httpx.ConnectError("refused")), "/x", body=b"{}"))


def test_post_json__another_status_keeps_its_body() -> None:
    with pytest.raises(ContainerError) as caught:
        asyncio.run(post_json(client_on(httpx.Response(418, content=b"tea")), "/x", body=b"{}"))

    assert (caught.value.status, caught.value.body) == (418, b"tea")


def test_post_stream__a_server_that_is_away_is_a_503() -> None:
    with pytest.raises(ContainerError, match="503"):
        asyncio.run(_events(client_on(httpx.ReadError("reset"))))


def test_post_stream__a_cut_connection_is_a_broken_stream() -> None:
    with pytest.raises(BrokenStreamError, match="ReadError"):
        asyncio.run(_events(client_on(httpx.Response(200, stream=_Cut()))))


def test_engine_client__what_is_no_url() -> None:
    with pytest.raises(StartError):
        engine_client("http://engine:port")

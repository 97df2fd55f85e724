"""Bodies pass to another server as they are."""

import asyncio
import json

import httpx
import pytest

from infra.local.model.backend import Isolation
from infra.local.model.chat import parse_chat
from infra.local.model.errors import ContainerError, StartError
from infra.local.model.remote_backend import RemoteBackend, connect_remote
from infra.local.model.salt import salt_text

MODELS = {"object": "list", "data": [{"id": "served", "max_model_len": 4096}]}
RAW = b'{ "messages": [{"role": "user", "content": "Hello"}], "model": "served", "cache_salt": "t" }'


class Server:
    """An OpenAI-compatible server that repeats what it was asked."""

    def __init__(self, models: object = MODELS, *, tokenizes: bool = True) -> None:
        self.models = models
        self.tokenizes = tokenizes

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/models":
            return httpx.Response(200, json=self.models)
        if request.url.path == "/tokenize":
            return httpx.Response(200, json={"count": 7}) if self.tokenizes else httpx.Response(404)
        return httpx.Response(200, content=request.read())


async def _connect(server: Server, cache_salt: Isolation = "native") -> RemoteBackend:
    client = httpx.AsyncClient(base_url="http://engine/", transport=httpx.MockTransport(server))
    return await connect_remote(client, cache_salt=cache_salt)


def sent(raw: bytes, cache_salt: Isolation = "native") -> bytes:
    async def run() -> bytes:
        backend = await _connect(Server(), cache_salt)
        async with backend.open(parse_chat(raw), session="") as parts:
            return b"".join([part async for part in parts])

    return asyncio.run(run())


def test_connect_remote__says_what_the_server_says() -> None:
    facts = asyncio.run(_connect(Server())).facts

    assert (facts.url, facts.model, facts.context, facts.cache_salt) == ("http://engine", "served", 4096, "native")


@pytest.mark.parametrize("models", [{"data": []}, {"object": "list"}, "hello"])
def test_connect_remote__another_kind_of_server_is_refused(models: object) -> None:
    with pytest.raises(StartError):
        asyncio.run(_connect(Server(models)))


def test_open__the_bytes_pass_as_they_are() -> None:
    assert sent(RAW) == RAW


def test_open__a_missing_model_is_filled_in_at_the_end() -> None:
    raw = b'{"messages":[{"role":"user","content":"\xc3\xbc"}]}'

    assert sent(raw) == raw[:-1] + b',"model":"served"}'


def test_open__text_isolation_salts_the_prompt() -> None:
    assert json.loads(sent(RAW, "text")) == {
        "messages": [{"role": "system", "content": salt_text("t")}, {"role": "user", "content": "Hello"}],
        "model": "served",
    }


def test_count_text__is_the_server_s_count() -> None:
    async def run() -> tuple[int, int]:
        backend = await _connect(Server())
        return await backend.count_text("x"), await backend.count_messages(({"role": "user"},), cache_salt="t")

    assert asyncio.run(run()) == (7, 7)


def test_count_text__a_server_that_does_not_count() -> None:
    async def run() -> int:
        return await (await _connect(Server(tokenizes=False))).count_text("x")

    with pytest.raises(ContainerError, match="501"):
        asyncio.run(run())

"""Any OpenAI-compatible server (vLLM): bodies go through byte for byte, the engine isolates and schedules by itself."""

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError

from infra.local.model.backend import EngineFacts, Isolation
from infra.local.model.chat import Chat
from infra.local.model.errors import ContainerError, StartError, refusal
from infra.local.model.salt import Message, salted
from infra.local.model.upstream import CHAT_PATH, post_json, post_stream

_START_TIMEOUT_S: Final = 10.0


class _Model(BaseModel):
    id: str
    max_model_len: int | None = None


class _Models(BaseModel):
    data: list[_Model]


class _Count(BaseModel):
    count: int


class RemoteBackend:
    """A server that somebody else runs.

    A restart of that server does not change `engine_id`, which is this process's; the server's own count of
    cached tokens shows it.
    """

    def __init__(self, client: httpx.AsyncClient, *, facts: EngineFacts) -> None:
        self._client = client
        self._facts = facts

    @property
    def facts(self) -> EngineFacts:
        """What it is."""
        return self._facts

    @asynccontextmanager
    async def open(self, chat: Chat, *, session: str) -> AsyncIterator[AsyncIterator[bytes]]:  # noqa: ARG002  the engine finds equal beginnings by itself
        """Start a call; see `Backend.open`."""
        body = self._body(chat)
        if chat.stream:
            async with post_stream(self._client, CHAT_PATH, body=body) as events:
                yield events
        else:
            yield _once(await post_json(self._client, CHAT_PATH, body=body))

    def _body(self, chat: Chat) -> bytes:
        body = dict(chat.body)
        if self._facts.cache_salt == "text":
            salt = body.pop("cache_salt", None)
            body["messages"] = [*salted(chat.messages, str(salt))] if salt else body["messages"]
        body.setdefault("model", self._facts.model)
        if body == chat.body:
            return chat.raw
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

    async def count_messages(self, messages: tuple[Message, ...], *, cache_salt: str | None) -> int:
        """Return the tokens of the messages by vLLM's `/tokenize`."""
        if cache_salt and self._facts.cache_salt == "text":
            messages = tuple(salted(messages, cache_salt))
        return await self._count({"messages": list(messages), "add_generation_prompt": False})

    async def count_text(self, text: str) -> int:
        """Return the tokens of a text by vLLM's `/tokenize`."""
        return await self._count({"prompt": text, "add_special_tokens": False})

    async def _count(self, body: dict[str, object]) -> int:
        raw = json.dumps({"model": self._facts.model, **body}).encode()
        try:
            return _Count.model_validate_json(await post_json(self._client, "/tokenize", body=raw)).count
        except (ContainerError, ValidationError) as error:
            raise refusal(501, "the engine does not count tokens") from error


async def _once(part: bytes) -> AsyncIterator[bytes]:
    yield part


async def connect_remote(client: httpx.AsyncClient, *, cache_salt: Isolation) -> RemoteBackend:
    """Look at the server that the client reaches and return it.

    Raises:
        StartError: it is not there, or does not list its models as an OpenAI-compatible server does.
    """
    url = str(client.base_url).rstrip("/")
    try:
        response = await client.get("/v1/models", timeout=_START_TIMEOUT_S)
        response.raise_for_status()
        models = TypeAdapter(_Models).validate_json(response.content).data
    except httpx.HTTPError as error:
        raise StartError(f"the endpoint {url} does not answer: {type(error).__name__}") from error
    except ValidationError as error:
        raise StartError(f"the endpoint {url} is not an OpenAI-compatible server") from error
    if not models:
        raise StartError(f"the endpoint {url} serves no model")
    facts = EngineFacts(
        engine_id=secrets.token_hex(8),
        url=url,
        model=models[0].id,
        context=models[0].max_model_len,
        slots=None,
        cache_salt=cache_salt,
        template_shared_tokens=None,
        lacks=() if cache_salt == "native" else ("cache_salt",),
    )
    return RemoteBackend(client, facts=facts)

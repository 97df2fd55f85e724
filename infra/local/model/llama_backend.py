"""llama.cpp's server behind the container contract: salt in the text, slots by session, calls that can be dropped.

Every call streams from the engine with `return_progress`, also where the caller wants one document: the engine notices
a closed socket when it writes, and without progress it writes nothing before the first token (ran: it then read a
dropped prompt to its end; with progress it stopped within two batches of 64 tokens and kept them).
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Final

import httpx
from pydantic import BaseModel, JsonValue

from infra.local.model.backend import EngineFacts
from infra.local.model.chat import Chat
from infra.local.model.errors import ContainerError, refusal
from infra.local.model.parking import SlotKeeper
from infra.local.model.salt import Message, plain_text, salt_text, salted
from infra.local.model.sse import event_json, whole_answer
from infra.local.model.upstream import CHAT_PATH, post_json, post_stream

_PROGRESS: Final = b'"prompt_progress"'
_SAMPLE_SALTS: Final = 64


class _Prompt(BaseModel):
    prompt: str


class _TokenIds(BaseModel):
    tokens: list[int]


class LlamaBackend:
    """llama.cpp in this process, reached by its own listener.

    Args:
        client: Reaches it.
        facts: What it is.
        keeper: Lends its slots.
        takes_tools: Its chat template renders tool schemas.
        running: The engine itself, kept alive with this object.
    """

    def __init__(
        self, client: httpx.AsyncClient, facts: EngineFacts, *, keeper: SlotKeeper, takes_tools: bool, running: object
    ) -> None:
        self._running = running
        self._client = client
        self._facts = facts
        self._keeper = keeper
        self._takes_tools = takes_tools

    @property
    def facts(self) -> EngineFacts:
        """What it is."""
        return self._facts

    @asynccontextmanager
    async def open(self, chat: Chat, *, session: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Start a call; see `Backend.open`. An empty session stands for all calls that begin with the same message."""
        if chat.has_tools and not self._takes_tools:
            raise refusal(400, "tools: this model's chat template drops them; write them into the system message")
        messages = _salted(chat.messages, chat.cache_salt)
        text = plain_text(messages)
        key = session or hashlib.sha256(plain_text(messages[:1]).encode()).hexdigest()
        async with self._keeper.hold(key, text) as slot:
            body = _engine_body(chat, messages, slot=slot)
            async with post_stream(self._client, CHAT_PATH, body=body) as events:
                first = await anext(events)
                self._check(event_json(first) or {}, chat.max_tokens)
                answer = _answer(first, events)
                yield answer if chat.stream else _document(answer)

    def _check(self, first: dict[str, JsonValue], max_tokens: int | None) -> None:
        """Refuse what vLLM refuses: a prompt and an answer that do not fit together. Before the prompt is read."""
        if "error" in first:
            raise ContainerError(500, _bytes(first))
        progress, context = first.get("prompt_progress"), self._facts.context
        if not isinstance(progress, dict) or max_tokens is None or context is None:
            return
        prompt_tokens = int(str(progress["total"]))
        if prompt_tokens + max_tokens > context:
            raise refusal(
                400,
                f"This model's maximum context length is {context} tokens. However, you requested "
                f"{prompt_tokens + max_tokens} tokens ({prompt_tokens} in the messages, {max_tokens} in the "
                "completion). Please reduce the length of the messages or completion.",
            )

    async def count_messages(self, messages: tuple[Message, ...], *, cache_salt: str | None) -> int:
        """Return the tokens of the messages under the chat template."""
        body: dict[str, JsonValue] = {"messages": [*_salted(messages, cache_salt)], "add_generation_prompt": False}
        raw = await post_json(self._client, "/apply-template", body=_bytes(body))
        return len(await self._tokens(_Prompt.model_validate_json(raw).prompt, special=True))

    async def count_text(self, text: str) -> int:
        """Return the tokens of a text; marks of the template in it count as plain text."""
        return len(await self._tokens(text, special=False))

    async def _tokens(self, text: str, *, special: bool) -> list[int]:
        body: dict[str, JsonValue] = {"content": text, "add_special": special, "parse_special": special}
        return _TokenIds.model_validate_json(await post_json(self._client, "/tokenize", body=_bytes(body))).tokens

    async def shared_by_salts(self) -> int:
        """Return the most leading tokens that two of a sample of salts have in common: the template's, and chance."""
        samples = [salt_text(str(number)) for number in range(_SAMPLE_SALTS)]
        body: dict[str, JsonValue] = {"messages": [{"role": "system", "content": samples[0]}]}
        raw = await post_json(self._client, "/apply-template", body=_bytes(body))
        prompt = _Prompt.model_validate_json(raw).prompt
        prompts = [prompt.replace(samples[0], sample) for sample in samples]
        tokens = sorted(await asyncio.gather(*(self._tokens(one, special=True) for one in prompts)))
        return max(_common_tokens(one, other) for one, other in pairwise(tokens))


def _salted(messages: tuple[Message, ...], salt: str | None) -> list[Message]:
    return salted(messages, salt) if salt else list(messages)


def _engine_body(chat: Chat, messages: list[Message], *, slot: int) -> bytes:
    body = {name: value for name, value in chat.body.items() if name != "cache_salt"}
    body |= {"messages": [*messages], "id_slot": slot, "return_progress": True}
    if not chat.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return _bytes(body)


def _bytes(body: dict[str, JsonValue]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


async def _answer(first: bytes, events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the events of the answer, without those of progress."""
    if _PROGRESS not in first:
        yield first
    async for event in events:
        if _PROGRESS not in event:
            yield event


async def _document(answer: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    chunks = [chunk async for event in answer if (chunk := event_json(event)) is not None]
    for chunk in chunks:
        if "error" in chunk:
            raise ContainerError(500, _bytes(chunk))
    yield _bytes(whole_answer(chunks))


def _common_tokens(one: list[int], other: list[int]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(one), len(other)))

"""What the server needs of an engine, whichever it is."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from infra.local.model.chat import Chat
from infra.local.model.salt import Message

Isolation = Literal["text", "native"]


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What `GET /engine` says.

    Attributes:
        engine_id: Random, new at every start of this server: caches of another id are gone.
        url: The engine's own OpenAI base, without `/v1`.
        model: Name of the model, as the engine gives it.
        context: Tokens that a prompt and its answer may have together; None when the engine does not say.
        slots: Calls that run at a time; None when the engine does not say.
        cache_salt: How tenants are kept apart: in the prompt's text, or by the engine.
        template_shared_tokens: Tokens that prompts of different salts may share; None when not measured.
        lacks: What the engine in the cloud has and this one has not.
    """

    engine_id: str
    url: str
    model: str
    context: int | None
    slots: int | None
    cache_salt: Isolation
    template_shared_tokens: int | None
    lacks: tuple[str, ...]


class Backend(Protocol):
    """An engine that is ready."""

    @property
    def facts(self) -> EngineFacts:
        """What it is."""
        ...

    def open(self, chat: Chat, *, session: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Start a call; entered when the engine has taken it. Leaving the block ends the call.

        The parts are whole server-sent events when the chat streams, else one JSON document. `session` says which
        calls are likely to begin alike.

        Raises:
            ContainerError: on entering, the engine refuses.
            ServiceError: on entering, it is at capacity.
            BrokenStreamError: while iterating, it went away.
        """
        ...

    async def count_messages(self, messages: tuple[Message, ...], *, cache_salt: str | None) -> int:
        """Return how many tokens the messages are in a prompt, without the opening of the answer."""
        ...

    async def count_text(self, text: str) -> int:
        """Return how many tokens a text is, on its own."""
        ...

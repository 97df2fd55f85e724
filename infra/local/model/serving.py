"""One call of the container, from bytes to parts: the door, the order of calls, the engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from infra.local.model.backend import Backend
from infra.local.model.chat import Chat, parse_chat
from infra.local.model.errors import ServiceError
from infra.local.model.scheduler import Scheduler

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Serving:
    """An answer that has begun.

    Attributes:
        content_type: Of the container's answer.
        parts: Its pieces: whole server-sent events, or one JSON document.
        engine_id: Who answers.
    """

    content_type: str
    parts: AsyncIterator[bytes]
    engine_id: str


class Container:
    """The model container: not ready until it is given an engine."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._backend: Backend | None = None

    def use(self, backend: Backend) -> None:
        """Serve with this engine from now on."""
        self._backend = backend

    @property
    def ready(self) -> bool:
        """The engine is there."""
        return self._backend is not None

    @property
    def backend(self) -> Backend:
        """The engine.

        Raises:
            ServiceError: ServiceUnavailable, it is still being loaded.
        """
        if self._backend is None:
            raise ServiceError("ServiceUnavailable", 503, "The model is loading. Try your call again.")
        return self._backend

    @asynccontextmanager
    async def serve(self, raw: bytes, *, prefix_id: str, warm_up: bool) -> AsyncIterator[Serving]:
        """Run a call; leaving the block ends it.

        Args:
            raw: OpenAI chat JSON.
            prefix_id: The session, or empty. Only calls with the same cache salt can be of the same session.
            warm_up: Gives way to answers; its parts come all together.

        Raises:
            ContainerError: on entering, the call is refused.
            ServiceError: on entering, there is no engine yet, or no room.
            BrokenStreamError: while iterating, or on entering for a warm-up: the engine went away.
        """
        backend = self.backend
        chat = parse_chat(raw)
        session = f"{prefix_id}/{chat.cache_salt or ''}" if prefix_id else ""
        content_type, engine_id = EVENTS if chat.stream else JSON, backend.facts.engine_id
        if warm_up:

            async def attempt() -> list[bytes]:
                return await _all_parts(backend, chat, session=session)

            parts = await self._scheduler.warm_up(session, call=attempt)
            yield Serving(content_type, _each(parts), engine_id)
            return
        async with self._scheduler.answer(session), backend.open(chat, session=session) as running:
            yield Serving(content_type, running, engine_id)


async def _all_parts(backend: Backend, chat: Chat, *, session: str) -> list[bytes]:
    async with backend.open(chat, session=session) as parts:
        return [part async for part in parts]


async def _each(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part

"""Who may use the engine now: answers at once, a warm-up only while no answer runs, and one warm-up at a time.

An answer that arrives while a warm-up runs drops it. If it is the warm-up's own session, the warm-up is over
(superseded): the answer reads the rest of the prefix itself, on top of what was done. Otherwise the warm-up waits and
starts again when no answer runs. Both are cheap because the engine keeps the tokens that a dropped call has read.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from infra.local.model.errors import refusal

MAX_WARM_UPS: Final = 8
_Result = TypeVar("_Result")


@dataclass(slots=True, eq=False)
class _WarmUp:
    session: str
    superseded: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Scheduler:
    """Orders the calls of one engine. For one event loop.

    Args:
        max_warm_ups: How many warm-ups may run or wait at a time; those above are refused.
    """

    def __init__(self, *, max_warm_ups: int = MAX_WARM_UPS) -> None:
        self._max_warm_ups = max_warm_ups
        self._answers = 0
        self._warm_ups: list[_WarmUp] = []
        self._attempt: asyncio.Task[object] | None = None

    @asynccontextmanager
    async def answer(self, session: str) -> AsyncIterator[None]:
        """Hold warm-ups back for the time of the block; entered when the running one has let go of the engine."""
        self._answers += 1
        try:
            for warm_up in self._warm_ups:
                if session and warm_up.session == session:
                    warm_up.superseded = True
            self._tell_all()
            if self._attempt is not None:
                await _stop(self._attempt)
            yield
        finally:
            self._answers -= 1
            self._tell_all()

    async def warm_up(self, session: str, *, call: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Run `call` when its turn comes, first come first served; cancel it for an answer and run it again later.

        Args:
            session: An answer for the same session ends this warm-up; empty when it belongs to none.
            call: Makes one attempt; when cancelled it frees the engine.

        Raises:
            ContainerError: 429 when too many warm-ups wait, 503 when an answer for the session took over.
        """
        if len(self._warm_ups) >= self._max_warm_ups:
            raise refusal(429, "too many warm-ups are waiting")
        warm_up = _WarmUp(session)
        self._warm_ups.append(warm_up)
        try:
            while True:
                await self._turn_of(warm_up)
                attempt = self._attempt = asyncio.create_task(call())
                try:
                    await asyncio.wait({attempt})
                finally:
                    await _stop(attempt)
                    self._attempt = None
                if not attempt.cancelled():
                    return attempt.result()
        finally:
            self._warm_ups.remove(warm_up)
            self._tell_all()

    async def _turn_of(self, warm_up: _WarmUp) -> None:
        while not warm_up.superseded:
            if self._warm_ups[0] is warm_up and not self._answers:
                return
            warm_up.news.clear()
            await warm_up.news.wait()
        raise refusal(503, "superseded by an answer of the same session", kind="SupersededError")

    def _tell_all(self) -> None:
        for warm_up in self._warm_ups:
            warm_up.news.set()


async def _stop(task: asyncio.Task[Any]) -> None:
    """Cancel the task and wait until it has ended, without raising what it raises."""
    task.cancel()
    await asyncio.wait({task})

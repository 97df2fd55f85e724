"""Answers first; warm-ups one at a time, dropped and resumed."""

import asyncio
import json
from collections.abc import Coroutine
from functools import partial
from typing import Any

import pytest

from infra.local.model.errors import ContainerError
from infra.local.model.scheduler import Scheduler


class Engine:
    """A fake: each attempt waits until it is let go, and notes how it ended."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    def attempt(self, name: str) -> Coroutine[Any, Any, str]:
        return self._run(name)

    async def _run(self, name: str) -> str:
        self.log.append(f"{name} starts")
        try:
            await self.gates.setdefault(name, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.log.append(f"{name} dropped")
            raise
        self.log.append(f"{name} ends")
        return name


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def _refusal(task: "asyncio.Task[str]") -> tuple[int, str]:
    error = task.exception()
    assert isinstance(error, ContainerError)
    return error.status, json.loads(error.body)["error"]["message"]


def test_warm_up__runs_one_at_a_time_in_order() -> None:
    async def run() -> list[str]:
        scheduler, engine = Scheduler(), Engine()
        tasks = [asyncio.create_task(scheduler.warm_up(name, call=partial(engine.attempt, name))) for name in "abc"]
        await _settle()
        for name in "cba":
            engine.gates.setdefault(name, asyncio.Event()).set()
        await asyncio.gather(*tasks)
        return engine.log

    assert asyncio.run(run()) == ["a starts", "a ends", "b starts", "b ends", "c starts", "c ends"]


def test_answer__of_another_session_drops_the_warm_up_which_starts_again_after_it() -> None:
    async def run() -> tuple[list[str], str]:
        scheduler, engine = Scheduler(), Engine()
        warm_up = asyncio.create_task(scheduler.warm_up("a", call=lambda: engine.attempt("a")))
        await _settle()
        async with scheduler.answer("b"):
            engine.log.append("answer starts")
            await _settle()
            engine.log.append("answer ends")
        await _settle()
        engine.gates["a"].set()
        return engine.log, await warm_up

    log, result = asyncio.run(run())
    assert log == ["a starts", "a dropped", "answer starts", "answer ends", "a starts", "a ends"]
    assert result == "a"


def test_answer__of_the_same_session_ends_its_warm_up() -> None:
    async def run() -> tuple[list[str], tuple[int, str]]:
        scheduler, engine = Scheduler(), Engine()
        warm_up = asyncio.create_task(scheduler.warm_up("a", call=lambda: engine.attempt("a")))
        await _settle()
        async with scheduler.answer("a"):
            engine.log.append("answer starts")
            await _settle()
        await _settle()
        return engine.log, _refusal(warm_up)

    log, (status, message) = asyncio.run(run())
    assert log == ["a starts", "a dropped", "answer starts"]
    assert (status, message) == (503, "superseded by an answer of the same session")


def test_answer__ends_a_waiting_warm_up_of_its_session_and_no_other() -> None:
    async def run() -> tuple[list[str], int]:
        scheduler, engine = Scheduler(), Engine()
        first = asyncio.create_task(scheduler.warm_up("a", call=lambda: engine.attempt("a")))
        second = asyncio.create_task(scheduler.warm_up("b", call=lambda: engine.attempt("b")))
        await _settle()
        async with scheduler.answer("b"):
            await _settle()
        engine.gates["a"].set()
        await first
        return engine.log, _refusal(second)[0]

    log, status = asyncio.run(run())
    assert log == ["a starts", "a dropped", "a starts", "a ends"]
    assert status == 503


def test_answer__without_a_session_supersedes_nobody() -> None:
    async def run() -> str:
        scheduler, engine = Scheduler(), Engine()
        warm_up = asyncio.create_task(scheduler.warm_up("", call=lambda: engine.attempt("a")))
        await _settle()
        async with scheduler.answer(""):
            await _settle()
        engine.gates["a"].set()
        return await warm_up

    assert asyncio.run(run()) == "a"


def test_warm_up__waits_for_the_last_of_several_answers() -> None:
    async def run() -> list[str]:
        scheduler, engine = Scheduler(), Engine()
        async with scheduler.answer("x"):
            async with scheduler.answer("y"):
                warm_up = asyncio.create_task(scheduler.warm_up("a", call=lambda: engine.attempt("a")))
                await _settle()
            await _settle()
            engine.log.append("last answer ends")
        await _settle()
        engine.gates["a"].set()
        await warm_up
        return engine.log

    assert asyncio.run(run()) == ["last answer ends", "a starts", "a ends"]


def test_warm_up__above_the_bound_is_refused_at_once() -> None:
    async def run() -> int:
        scheduler, engine = Scheduler(max_warm_ups=1), Engine()
        running = asyncio.create_task(scheduler.warm_up("a", call=lambda: engine.attempt("a")))
        await _settle()
        with pytest.raises(ContainerError) as caught:
            await scheduler.warm_up("b", call=lambda: engine.attempt("b"))
        engine.gates["a"].set()
        await running
        return caught.value.status

    assert asyncio.run(run()) == 429


def test_warm_up__whose_caller_leaves_frees_the_engine_and_the_queue() -> None:
    async def run() -> list[str]:
        scheduler, engine = Scheduler(), Engine()
        left = asyncio.create_task(scheduler.warm_up("a", call=lambda: engine.attempt("a")))
        next_one = asyncio.create_task(scheduler.warm_up("b", call=lambda: engine.attempt("b")))
        await _settle()
        left.cancel()
        await _settle()
        engine.gates["b"].set()
        await next_one
        return engine.log

    assert asyncio.run(run()) == ["a starts", "a dropped", "b starts", "b ends"]


def test_warm_up__raises_what_the_engine_raises() -> None:
    async def fails() -> str:
        raise ContainerError(400, b"{}")

    with pytest.raises(ContainerError):
        asyncio.run(Scheduler().warm_up("a", call=fails))

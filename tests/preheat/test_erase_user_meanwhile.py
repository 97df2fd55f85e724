"""Who was at work on an erased user, at whatever step, brings nothing of them back."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, Final, cast

import pytest

from preheat.adapters.memory_records import MemoryRecords
from preheat.answer import AnswerRequest, answer
from preheat.errors import (
    NotFoundError,
    SourceUnavailableError,
)
from preheat.events import PreferenceChanged
from preheat.ports import Ports, Records, WarmStore
from preheat.prefill import NewMessage, Sampling
from preheat.refresh_preferences import refresh_preferences
from preheat.report import AnswerReport, WarmReport
from preheat.warm_session import warm_session
from preheat.warm_state import SETTLE_S
from tests.preheat.erasing import CANARY, erase, give_a_past, traces
from tests.world import TENANT, USER, World, scope


@pytest.fixture
def past(world: World) -> World:
    return give_a_past(world)


class Watched:
    """Records or a store that call `before` ahead of each of their methods."""

    def __init__(self, watched: object, before: Callable[[], None]) -> None:
        self._watched = watched
        self._before = before

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._watched, name)

        def call(*given: object, **named: object) -> object:
            self._before()
            return method(*given, **named)

        return call


def watched_ports(world: World, before: Callable[[], None]) -> Ports:
    return replace(
        world.ports,
        records=cast("Records", Watched(world.records, before)),
        store=cast("WarmStore", Watched(world.store, before)),
    )


def says(world: World, ports: Ports, *, then: Callable[[], object] = lambda: None) -> AnswerReport:
    """Ask; do `then` once the first piece of the answer is out."""
    request = AnswerRequest(
        scope=scope(),
        new=(NewMessage("user", CANARY),),
        sampling=Sampling(max_tokens=8),
        request_id="r1",
        accepted_ms=world.clock.monotonic_ms(),
    )
    items = answer(request, ports)
    next(items)
    then()
    return cast("AnswerReport", list(items)[-1])


def at_each_step(new_world: Callable[[], World], act: Callable[[World, Ports], object]) -> int:
    """Erase the user before each step of `act` in turn, each time in a new world; return how many steps there are."""
    for step in count():
        world, numbers = new_world(), count()
        came: list[int] = []

        def before(world: World = world, numbers: Iterator[int] = numbers, came: list[int] = came) -> None:
            number = next(numbers)
            if number == step:  # noqa: B023  # called while this round lasts
                came.append(number)
                erase(world)

        with suppress(NotFoundError):
            act(world, watched_ports(world, before))
        if not came:
            return step
        assert traces(world) == [], f"erased before step {step}"
    raise AssertionError


def refreshed(_: World, ports: Ports) -> tuple[WarmReport, ...]:
    return refresh_preferences(PreferenceChanged(tenant=TENANT, user=USER), ports)


ACTS: Final[dict[str, Callable[[World, Ports], object]]] = {
    "a warm-up": lambda world, ports: warm_session(scope(), ports, asked_at=world.clock.now() - 1),
    "a refresh": refreshed,
    "an answer": says,
}


@pytest.mark.parametrize("stale", [False, True], ids=["bundle at hand", "bundle behind"])
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_erase_user__at_any_step_of_somebody_at_work_nothing_comes_back(
    world: World, act: Callable[[World, Ports], object], *, stale: bool
) -> None:
    def new_world() -> World:
        made = World(world.executor)
        made.records = MemoryRecords(sleep=made.clock.sleep)
        made.add_agent()
        made.set_preference("seat", CANARY)
        warm_session(scope(), made.ports)
        if stale:
            made.set_preference("tone", CANARY)
            made.store.sealed.clear()
        return made

    assert at_each_step(new_world, act) >= 4


def test_erase_user__while_an_answer_streams_its_turns_and_bundle_are_not_kept(past: World) -> None:
    report = says(past, past.ports, then=lambda: erase(past))

    assert report.reasons[-2:] == ("turns_not_saved", "user_erased")
    assert traces(past) == []


def test_answer__to_a_session_that_was_erased_and_started_again_is_not_saved_into_the_new_one(past: World) -> None:
    def erase_and_start_again() -> None:
        erase(past)
        past.start(scope(), warm=False)

    says(past, past.ports, then=erase_and_start_again)

    assert past.records.turns_from(TENANT, USER, first_seq=0) == ()


@pytest.mark.parametrize("started_again", [False, True])
def test_answer__whose_versions_were_unreadable_is_not_saved_for_an_erased_user(
    past: World, *, started_again: bool
) -> None:
    past.records.unavailable = {"read_versions"}

    def erase_and_recover() -> None:
        past.records.unavailable = set()
        erase(past)
        if started_again:
            past.start(scope(), warm=False)

    report = says(past, past.ports, then=erase_and_recover)

    assert "user_erased" in report.reasons
    assert past.records.turns_from(TENANT, USER, first_seq=0) == ()


def test_answer__whose_versions_were_unreadable_is_saved_once_they_are_not(past: World) -> None:
    past.records.unavailable = {"read_versions"}

    says(past, past.ports, then=past.records.unavailable.clear)

    assert [turn.content for turn in past.records.newest_turns(TENANT, USER, limit=2)] == [CANARY, "All set."]


def test_answer__kept_late_looks_at_the_counters_once_more(past: World) -> None:
    def slow() -> None:
        past.clock.sleep(SETTLE_S / 2)

    before = past.records.calls["read_versions"]

    report = says(past, replace(past.ports, store=cast("WarmStore", Watched(past.store, slow))))

    assert report.reasons == ()
    assert past.records.calls["read_versions"] - before == 2


def test_warm_session__event_from_before_the_erasure_brings_nobody_back(past: World) -> None:
    asked_at = past.clock.now()
    erase(past)

    report = warm_session(scope(), past.ports, asked_at=asked_at)

    assert report.outcome == "user_erased"
    assert traces(past) == []


def test_warm_session__event_from_after_the_erasure_warms(past: World) -> None:
    erase(past)

    report = warm_session(scope(), past.ports, asked_at=past.clock.now())

    assert report.outcome == "warm"
    assert CANARY not in past.last_prompt()


def test_warm_session__reads_the_counters_once_more_after_it_has_kept_its_bundle(past: World) -> None:
    past.store.sealed.clear()
    before = past.records.calls["read_versions"]

    warm_session(scope(), replace(past.ports, limits=_without_prefill(past)))

    assert past.records.calls["read_versions"] - before == 2


def _without_prefill(world: World) -> Any:  # noqa: ANN401  # the deployment's limits
    limits = world.ports.limits
    return replace(limits, prefill=replace(limits.prefill, enabled=False))


def test_warm_session__that_cannot_read_the_counters_again_takes_its_bundle_back(past: World) -> None:
    past.store.sealed.clear()
    reads = count()

    def fail_the_second() -> None:
        if past.store.writes > writes and not next(reads):
            past.records.unavailable = {"read_versions"}

    writes = past.store.writes
    with pytest.raises(SourceUnavailableError):
        warm_session(scope(), replace(past.ports, records=cast("Records", Watched(past.records, fail_the_second))))

    assert [key for key in past.store.sealed if "bundle" in key] == []

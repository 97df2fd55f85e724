"""An erased user is nowhere, whoever was at work on them and at whatever step; and the receipt says what went."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, Final, cast

import pytest

from preheat import keys
from preheat.adapters.memory_records import MemoryRecords
from preheat.adapters.memory_store import MemoryWarmStore
from preheat.adapters.tiered_store import TieredWarmStore
from preheat.answer import AnswerRequest, answer
from preheat.canonical import sha256_hex
from preheat.erase_user import EraseReceipt, erase_user
from preheat.errors import (
    EraseIncompleteError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    SourceUnavailableError,
    StoreUnavailableError,
)
from preheat.events import PreferenceChanged
from preheat.ports import NewTurn, Ports, Records, WarmStore
from preheat.prefill import NewMessage, Sampling
from preheat.refresh_preferences import refresh_preferences
from preheat.report import AnswerReport, WarmReport
from preheat.session import Principal, UserId
from preheat.start_session import read_session
from preheat.warm_session import warm_session
from preheat.warm_state import SETTLE_S, look_up
from tests.world import SERVICE, TENANT, USER, World, scope

CANARY: Final = "canary-7f3a"
DAY_S: Final = 24 * 3600.0


@pytest.fixture
def past(world: World) -> World:
    """Give the user a past: a preference, turns, and a warm session made of them."""
    world.records = MemoryRecords(sleep=world.clock.sleep)
    world.add_agent()
    world.set_preference("seat", CANARY)
    world.records.append_turns(TENANT, USER, turns=[NewTurn("t1", scope().session, "user", CANARY)])
    warm_session(scope(), world.ports)
    return world


def erase(world: World) -> EraseReceipt:
    return erase_user(SERVICE, USER, world.ports)


def traces(world: World) -> list[str]:
    """Return what is left of the user in any tier."""
    left = [key for key in world.store.sealed if keys.owner_of(key) == keys.user_partition(TENANT, USER)]
    rows = (
        world.records.list_preferences(TENANT, USER),
        world.records.turns_from(TENANT, USER, first_seq=0),
        world.records.list_sessions(TENANT, USER, now=0.0),
        world.records.read_frozen(scope()) or (),
    )
    return left + [repr(found) for found in rows if found]


# --- what is gone -----------------------------------------------------------------------------------------------------
def test_erase_user__is_shown_by_nothing_after_it_returns(past: World) -> None:
    assert traces(past)

    erase(past)

    assert traces(past) == []
    with pytest.raises(NotFoundError):
        read_session(SERVICE, USER, session="s1", ports=past.ports)
    with pytest.raises(NotFoundError):
        past.ask(scope())


def test_erase_user__of_a_thousand_reads_after_it_none_shows_anything(past: World) -> None:
    erase(past)

    for number in range(1000):
        session = scope(f"new-{number % 20}")
        past.start(session, warm=False)
        assert past.records.list_preferences(TENANT, USER) == ()
        assert CANARY not in repr((look_up(session, past.ports), look_up(scope(), past.ports)))
        if number % 20 == 0:
            past.ask(session, f"question {number}", request_id=f"r{number}")
            assert CANARY not in past.last_prompt()


def test_delete_preference__of_a_thousand_reads_after_it_none_shows_the_value(world: World) -> None:
    world.set_preference("seat", CANARY)
    sessions = [scope(f"s{number}") for number in range(40)]
    for session in sessions:
        warm_session(session, world.ports)
        assert CANARY in world.last_prompt()

    world.records.delete_preference(TENANT, USER, key="seat", now=world.clock.now())

    for number in range(1000):
        assert world.records.list_preferences(TENANT, USER) == ()
        if number % 10 == 0:
            world.ask(sessions[number // 10 % 40], f"question {number}", request_id=f"r{number}")
            assert CANARY not in world.last_prompt()


def test_erase_user__a_bundle_kept_before_never_passes_for_current(past: World) -> None:
    kept = dict(past.store.sealed)
    erase(past)
    past.store.sealed.update(kept)
    past.set_preference("seat", "aisle")
    past.records.append_turns(TENANT, USER, turns=[NewTurn("t1", scope().session, "user", "hello")])
    past.start(scope(), warm=False)

    past.ask(scope())

    assert CANARY not in past.last_prompt()


def test_erase_user__leaves_other_users_and_tenants_as_they_are(past: World) -> None:
    other = scope(user=UserId(f"{USER}2"))
    past.set_preference("seat", "window", of=other)
    warm_session(other, past.ports)

    erase(past)

    assert past.ask(other)[1].state == "warm"
    assert "window" in past.last_prompt()


# --- who may, and what they are told ----------------------------------------------------------------------------------
def test_erase_user__by_their_own_token_or_the_services_only(past: World) -> None:
    with pytest.raises(ForbiddenError):
        erase_user(Principal(TENANT, UserId("bob"), service=False), USER, past.ports)
    with pytest.raises(InvalidInputError):
        erase_user(SERVICE, "no#id", past.ports)
    assert traces(past)

    erase_user(Principal(TENANT, USER, service=False), USER, past.ports)

    assert traces(past) == []


def test_receipt__counts_what_went_and_says_what_stays(past: World) -> None:
    past.set_preference("tone", "dry")
    began = past.clock.now()

    receipt = erase(past)

    assert (receipt.user, receipt.erased_at) == (USER, began)
    assert receipt.tiers == {
        "records": {"frozen": 1, "preferences": 2, "sessions": 1, "turn_ids": 1, "turns": 1},
        "memory": 3,
    }
    assert [(stay.what, stay.until) for stay in receipt.stays] == [
        ("counters", began + 30 * DAY_S),
        ("engine_prefix_cache", began + past.ports.limits.prefill.ttl_s),
    ]
    assert CANARY not in repr(receipt)


def test_receipt__hash_is_of_the_keys_that_went(past: World) -> None:
    warm_keys = sorted(f"memory {key}" for key in past.store.sealed)
    rows = ["FROZEN#s1", "PREFERENCES", "SESSION#s1", "TURN#000000000001", "TURNID#t1"]

    receipt = erase(past)

    assert receipt.sha256 == sha256_hex("\n".join(sorted([*warm_keys, *(f"records {row}" for row in rows)])))
    assert erase(past).sha256 == sha256_hex("")


def test_receipt__counters_stay_longer_than_any_session(past: World) -> None:
    limits = replace(past.ports.limits, session_ttl_s=40 * DAY_S)

    receipt = erase_user(SERVICE, USER, replace(past.ports, limits=limits))

    assert receipt.stays[0].until >= receipt.erased_at + 80 * DAY_S


def test_erase_user__twice_is_harmless_and_nobody_known_is_no_error(past: World) -> None:
    erase(past)

    assert erase(past).tiers == {"records": {}, "memory": 0}
    assert erase_user(SERVICE, "nobody", past.ports).tiers == {"records": {}, "memory": 0}


# --- what is out of service -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("broken", "other"), [(0, "dynamodb"), (1, "valkey")])
def test_erase_user__a_tier_out_of_reach_is_named_and_the_next_call_does_the_rest(
    past: World, broken: int, other: str
) -> None:
    tiers = (MemoryWarmStore(), MemoryWarmStore())
    store = TieredWarmStore((("valkey", tiers[0]), ("dynamodb", tiers[1])), clock=past.clock, on_fault=lambda *_: None)
    ports = replace(past.ports, store=store)
    warm_session(scope(), ports)
    tiers[broken].fault = StoreUnavailableError("the cache at 10.0.0.7 does not serve")

    with pytest.raises(EraseIncompleteError) as caught:
        erase_user(SERVICE, USER, ports)

    assert caught.value.left == ("valkey" if broken == 0 else "dynamodb",)
    assert caught.value.erased.keys() == {"records", other}
    assert "10.0.0.7" not in str(caught.value)
    assert not tiers[1 - broken].sealed
    tiers[broken].fault = None
    erase_user(SERVICE, USER, ports)
    assert not tiers[broken].sealed


def test_erase_user__one_tier_alone_out_of_reach_is_an_incomplete_erasure(past: World) -> None:
    past.store.fault = StoreUnavailableError("down")

    with pytest.raises(EraseIncompleteError) as caught:
        erase(past)

    assert caught.value.left == ("warm store",)
    assert cast("Any", caught.value.erased)["records"]["turns"] == 1


def test_erase_user__records_out_of_reach_is_an_outage_and_nothing_went(past: World) -> None:
    past.records.unavailable = {"erase_user"}

    with pytest.raises(SourceUnavailableError):
        erase(past)

    past.records.unavailable = set()
    assert past.ask(scope())[1].state == "warm"


def test_erase_user__preferences_that_cannot_be_read_are_erased_all_the_same(past: World) -> None:
    past.records.unavailable = {"list_preferences"}

    receipt = erase(past)

    past.records.unavailable = set()
    assert cast("Any", receipt.tiers)["records"]["preferences"] == 1
    assert traces(past) == []


# --- who is at work meanwhile -----------------------------------------------------------------------------------------
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

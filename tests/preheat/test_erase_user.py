"""An erased user is shown by nothing, and the receipt says what went and what stays."""

from dataclasses import replace
from typing import Any, Final, cast

import pytest

from preheat.adapters.memory_store import MemoryWarmStore
from preheat.adapters.tiered_store import TieredWarmStore
from preheat.canonical import sha256_hex
from preheat.erase_user import erase_user
from preheat.errors import (
    EraseIncompleteError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    SourceUnavailableError,
    StoreUnavailableError,
)
from preheat.ports import NewTurn
from preheat.session import Principal, UserId
from preheat.start_session import read_session
from preheat.warm_session import warm_session
from preheat.warm_state import look_up
from tests.preheat.erasing import CANARY, erase, give_a_past, traces
from tests.world import SERVICE, TENANT, USER, World, scope

DAY_S: Final = 24 * 3600.0


@pytest.fixture
def past(world: World) -> World:
    return give_a_past(world)


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

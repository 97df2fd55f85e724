"""The stored forms and limits that every adapter of the records shares."""

import pytest

from preheat import rows
from preheat.agent import Profile
from preheat.history import ToolCall
from preheat.ports import NewTurn
from preheat.preference_set import (
    Mark,
    PreferenceSet,
    with_observation,
    with_only,
    with_preference,
    without_preference,
)
from preheat.preferences import MAX_PREFERENCES, NewPreference
from preheat.session import SessionId
from preheat.stamp import UserState
from preheat.tools import Tool
from tests.preheat.material import NOW

EMPTY = PreferenceSet()


def test_catalog_document__is_equal_for_any_order_of_the_tools() -> None:
    one, other = Tool("a/x", "finds", "{}"), Tool("b/y", "sends", "{}")

    assert rows.catalog_document([one, other]) == rows.catalog_document([other, one])


def test_catalog_document__differs_for_another_server_with_the_same_wire_name() -> None:
    one, other = Tool("a/b__c", "finds", "{}"), Tool("a__b/c", "finds", "{}")

    assert rows.catalog_document([one]) != rows.catalog_document([other])


def test_profile_document__keeps_text_readable() -> None:
    assert '"instructions":"Sé breve 日本"' in rows.profile_document(Profile("Sé breve 日本")).decode()


def test_counters_after__values_that_python_takes_for_equal_are_a_change() -> None:
    one, other = (with_preference(EMPTY, NewPreference("k", value), version=1, now=NOW) for value in (1, True))

    assert rows.counters_after(UserState(2, 5, 7), one, other) == UserState(2, 6, 7)


def test_counters_after__what_shows_nowhere_moves_none() -> None:
    before = with_preference(EMPTY, NewPreference("k", "v"), version=1, now=NOW)
    drifted = with_observation(before, ("k", None), "w")
    gone = without_preference(drifted, ("other", None), now=NOW)

    assert rows.counters_after(UserState(2, 5, 7), before, gone) == UserState(2, 5, 7)


def test_counters_after__deletions_move_forget_ver_once() -> None:
    before = with_only(EMPTY, [NewPreference("a", 1), NewPreference("b", 2)], version=1, now=NOW)

    assert rows.counters_after(UserState(), before, EMPTY) == UserState(forget_ver=1, pref_ver=1)


def test_preference_document__of_a_realistic_full_set_is_far_from_the_limit() -> None:
    text = "Vegetariana e sem lactose; queijo curado e ovos não são problema. Nada que cheire a peixe, por favor."
    wanted = [NewPreference(f"key_{number}", f"{number}: {text}") for number in range(MAX_PREFERENCES)]
    kept = with_only(EMPTY, wanted, version=1, now=NOW)

    assert len(rows.preference_document(kept)) < rows.MAX_SET_BYTES / 100


@pytest.mark.parametrize(
    ("mark", "void"),
    [(None, False), (Mark(version=1), False), (Mark(time=9.0), True), (Mark(2, 10.0), True), (Mark(time=10.5), False)],
    ids=str,
)
def test_is_void__what_was_made_elsewhere_before_the_user_was_erased(mark: Mark | None, *, void: bool) -> None:
    assert rows.is_void(UserState(erased_at=10.0), mark) is void


def test_checked_turns__the_largest_that_are_taken_fit_one_transaction() -> None:
    turns = [NewTurn(f"t-{n}", SessionId("s"), "user", "x" * rows.MAX_TEXT_BYTES) for n in range(11)]

    assert len(rows.checked_turns(turns)) == 11
    assert 2 * rows.MAX_TURNS + 1 <= 100
    assert rows.MAX_BATCH_BYTES < 4 * 1024 * 1024
    assert rows.MAX_TEXT_BYTES + rows.MAX_CALLS_BYTES < 400 * 1024


def test_calls_json__is_canonical() -> None:
    calls = (ToolCall("c-1", "crm/find", '{"q": "é"}'),)

    assert rows.calls_json(calls) == r'[{"arguments":"{\"q\": \"é\"}","call_id":"c-1","name":"crm/find"}]'

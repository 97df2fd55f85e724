"""The contract of `preheat.ports.Records`: preferences that are set and deleted here, one by one."""

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preheat.errors import InvalidInputError
from preheat.ports import Records
from preheat.preferences import MAX_PREFERENCES, NewPreference, Preference, PreferenceValue
from preheat.session import AgentId
from preheat.stamp import UserState
from tests.contracts.records.samples import (
    AGENT,
    LATER,
    NOW,
    SCOPE,
    STRANGE_TEXT,
    TENANT,
    USER,
    WRITERS,
    at_once,
    frozen,
)


def test_set_preference__moves_the_counter_and_lists_sorted(records: Records) -> None:
    for number, key in enumerate(("units", "Tone", "é", "language"), start=1):
        records.set_preference(TENANT, USER, key=key, value=number, now=NOW + number)

    assert records.list_preferences(TENANT, USER) == (
        Preference("Tone", 2, 2, NOW + 2),
        Preference("language", 4, 4, NOW + 4),
        Preference("units", 1, 1, NOW + 1),
        Preference("é", 3, 3, NOW + 3),
    )
    assert records.read_user_state(TENANT, USER) == UserState(forget_ver=0, pref_ver=4)


def test_set_preference__the_latest_value_replaces(records: Records) -> None:
    records.set_preference(TENANT, USER, key="units", value="metric", now=NOW)

    state = records.set_preference(TENANT, USER, key="units", value="imperial", now=LATER)

    assert records.list_preferences(TENANT, USER) == (Preference("units", "imperial", 2, LATER),)
    assert state.pref_ver == 2


@pytest.mark.parametrize("value", [1, 1.0, True, "1", ("1",), (), 0.1, -0.0, 2**70, STRANGE_TEXT, ""], ids=ascii)
def test_set_preference__the_same_value_again_is_a_no_op(records: Records, value: PreferenceValue) -> None:
    first = records.set_preference(TENANT, USER, key="k", value=value, now=NOW)

    assert records.set_preference(TENANT, USER, key="k", value=value, now=LATER) == first
    assert records.list_preferences(TENANT, USER) == (Preference("k", value, 1, NOW),)


def test_set_preference__values_that_python_calls_equal_are_changes(records: Records) -> None:
    for value in (1, 1.0, True):
        records.set_preference(TENANT, USER, key="k", value=value, now=NOW)

    (preference,) = records.list_preferences(TENANT, USER)
    assert (preference.version, preference.value, type(preference.value)) == (3, True, bool)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4).map(tuple),
    )
)
def test_preference_values__survive_rows_and_frozen_records(records: Records, value: PreferenceValue) -> None:
    records.set_preference(TENANT, USER, key="k", value=value, now=NOW)
    (listed,) = records.list_preferences(TENANT, USER)
    before = records.read_frozen(SCOPE)
    again = frozen(before.generation + 1 if before else 0, preferences=(listed,))
    records.put_frozen(SCOPE, again, expires_at=LATER)

    kept = records.read_frozen(SCOPE)

    assert kept == again
    assert kept is not None
    for preference in (listed, *kept.preferences):
        assert repr(preference.value) == repr(value)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("-inf"), "x" * 300_001, "\ud800", ("a", "\udfff")],
    ids=["not a number", "infinite", "too long", "lone surrogate", "lone surrogate in a list"],
)
def test_set_preference__values_that_no_row_can_hold_are_refused(records: Records, value: PreferenceValue) -> None:
    with pytest.raises(InvalidInputError) as caught:
        records.set_preference(TENANT, USER, key="k", value=value, now=NOW)

    assert caught.value.field == "value"
    assert records.read_user_state(TENANT, USER) == UserState()


def test_set_preference__identical_sets_at_once_leave_one_row(records: Records) -> None:
    at_once(lambda _: records.set_preference(TENANT, USER, key="units", value="metric", now=NOW))

    assert records.list_preferences(TENANT, USER) == (Preference("units", "metric", 1, NOW),)
    assert records.read_user_state(TENANT, USER).pref_ver == 1


def test_set_preference__different_keys_at_once_all_count(records: Records) -> None:
    at_once(lambda number: records.set_preference(TENANT, USER, key=f"k{number}", value=number, now=NOW))

    preferences = records.list_preferences(TENANT, USER)
    assert {preference.key: preference.value for preference in preferences} == {f"k{n}": n for n in range(WRITERS)}
    assert sorted(preference.version for preference in preferences) == list(range(1, WRITERS + 1))
    assert records.read_user_state(TENANT, USER).pref_ver == WRITERS


def test_set_preference__beyond_what_a_user_may_have_is_refused(records: Records) -> None:
    wanted = [NewPreference(f"k{number}", number) for number in range(MAX_PREFERENCES)]
    full = records.replace_preferences(TENANT, USER, wanted=wanted, now=NOW)

    with pytest.raises(InvalidInputError) as caught:
        records.set_preference(TENANT, USER, key="one more", value=1, now=NOW)

    assert caught.value.field == "key"
    assert records.read_user_state(TENANT, USER) == full
    assert records.set_preference(TENANT, USER, key="k0", value="changed", now=NOW).pref_ver == full.pref_ver + 1


def test_set_preference__more_than_a_row_can_hold_is_refused_and_the_set_stays(records: Records) -> None:
    noise = [hashlib.shake_256(b"%d" % number).hexdigest(140_000) for number in range(4)]
    for number in range(2):
        records.set_preference(TENANT, USER, key=f"k{number}", value=noise[number], now=NOW)

    with pytest.raises(InvalidInputError) as caught:
        records.set_preference(TENANT, USER, key="k2", value=noise[2], now=NOW)

    assert caught.value.field == "preferences"
    assert [preference.value for preference in records.list_preferences(TENANT, USER)] == noise[:2]
    assert records.read_user_state(TENANT, USER).pref_ver == 2


def test_set_preference__options_and_source_are_kept(records: Records) -> None:
    records.set_preference(
        TENANT, USER, key="seat", value="aisle", now=NOW, options=("aisle", "window"), source="imported"
    )

    (listed,) = records.list_preferences(TENANT, USER)

    assert listed == Preference("seat", "aisle", 1, NOW, options=("aisle", "window"), source="imported")
    assert listed.kind == "choice"


def test_set_preference__an_agents_own_stands_beside_the_general_one(records: Records) -> None:
    for agent, value in ((None, "aisle"), (AGENT, "window"), (AgentId("sales"), "middle")):
        records.set_preference(TENANT, USER, key="seat", value=value, now=NOW, agent=agent)

    records.delete_preference(TENANT, USER, key="seat", now=NOW, agent=AGENT)

    assert [(one.agent, one.value, one.version) for one in records.list_preferences(TENANT, USER)] == [
        (None, "aisle", 1),
        ("sales", "middle", 3),
    ]
    assert records.read_user_state(TENANT, USER) == UserState(forget_ver=1, pref_ver=4)


def test_list_preferences__large_values_are_whole(records: Records) -> None:
    long = "x" * 280_000
    for number in range(6):
        records.set_preference(TENANT, USER, key=f"k{number}", value=long, now=NOW)

    assert [preference.key for preference in records.list_preferences(TENANT, USER)] == [f"k{n}" for n in range(6)]


def test_delete_preference__moves_both_counters(records: Records) -> None:
    records.set_preference(TENANT, USER, key="a", value=1, now=NOW)
    records.set_preference(TENANT, USER, key="b", value=2, now=NOW)

    state = records.delete_preference(TENANT, USER, key="a", now=NOW)

    assert state == UserState(forget_ver=1, pref_ver=3) == records.read_user_state(TENANT, USER)
    assert [preference.key for preference in records.list_preferences(TENANT, USER)] == ["b"]


def test_delete_preference__a_key_that_is_not_there_is_a_no_op(records: Records) -> None:
    records.set_preference(TENANT, USER, key="a", value=1, now=NOW)

    assert records.delete_preference(TENANT, USER, key="b", now=NOW) == UserState(pref_ver=1)


def test_delete_preference__the_same_value_set_anew_is_a_change(records: Records) -> None:
    records.set_preference(TENANT, USER, key="a", value=1, now=NOW)
    records.delete_preference(TENANT, USER, key="a", now=NOW)

    assert records.set_preference(TENANT, USER, key="a", value=1, now=LATER) == UserState(forget_ver=1, pref_ver=3)
    assert records.list_preferences(TENANT, USER) == (Preference("a", 1, 3, LATER),)

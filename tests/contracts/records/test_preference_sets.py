"""The contract of `preheat.ports.Records`: whole preference sets, changes made elsewhere, behaviour against a value."""

import pytest

from preheat.errors import InvalidInputError, NotFoundError
from preheat.ports import Records
from preheat.preference_set import TOMBSTONE_TTL_S, Mark
from preheat.preferences import DRIFT_AFTER, MAX_PREFERENCES, Drift, NewPreference, Preference
from preheat.stamp import UserState
from tests.contracts.records.samples import AGENT, LATER, NOW, TENANT, USER, WRITERS, at_once

AISLE = NewPreference("seat", "aisle")


def replace(records: Records, *wanted: NewPreference, now: float = NOW) -> UserState:
    return records.replace_preferences(TENANT, USER, wanted=wanted, now=now)


def set_seat(records: Records, value: str, *, mark: Mark | None = None, now: float = NOW) -> UserState:
    return records.set_preference(TENANT, USER, key="seat", value=value, now=now, mark=mark)


def delete_seat(records: Records, *, mark: Mark | None = None, now: float = NOW) -> UserState:
    return records.delete_preference(TENANT, USER, key="seat", now=now, mark=mark)


def observe(records: Records, value: str, *, times: int = 1) -> Preference:
    for _ in range(times):
        preference = records.observe_preference(TENANT, USER, key="seat", value=value)
    return preference


def seats(records: Records) -> list[object]:
    return [one.value for one in records.list_preferences(TENANT, USER)]


def test_replace_preferences__is_one_change_of_each_counter(records: Records) -> None:
    replace(records, AISLE, NewPreference("diet", "vegan"), NewPreference("tone", "brief"))

    state = replace(records, AISLE, NewPreference("diet", "halal"), NewPreference("tone", "x", AGENT), now=LATER)

    assert state == UserState(forget_ver=1, pref_ver=2) == records.read_user_state(TENANT, USER)
    assert records.list_preferences(TENANT, USER) == (
        Preference("diet", "halal", 2, LATER),
        Preference("seat", "aisle", 1, NOW),
        Preference("tone", "x", 2, LATER, AGENT),
    )


def test_replace_preferences__without_a_deletion_moves_no_forget_ver(records: Records) -> None:
    replace(records, AISLE)

    assert replace(records, AISLE, NewPreference("diet", "vegan")) == UserState(pref_ver=2)


def test_replace_preferences__by_the_same_in_another_order_is_a_no_op(records: Records) -> None:
    wanted = (AISLE, NewPreference("diet", ("no", "nuts"), AGENT, source="imported"))
    first = replace(records, *wanted)

    assert replace(records, *wanted[::-1], now=LATER) == first
    assert {one.updated_at for one in records.list_preferences(TENANT, USER)} == {NOW}


def test_replace_preferences__by_nothing_deletes_all(records: Records) -> None:
    replace(records, AISLE, NewPreference("diet", "vegan"))

    assert replace(records) == UserState(forget_ver=1, pref_ver=2)
    assert records.list_preferences(TENANT, USER) == ()
    assert replace(records) == UserState(forget_ver=1, pref_ver=2)


def test_replace_preferences__all_of_them_by_as_many_others_is_still_one_change(records: Records) -> None:
    replace(records, *(NewPreference(f"old{number}", number) for number in range(MAX_PREFERENCES)))

    state = replace(records, *(NewPreference(f"new{number}", number) for number in range(MAX_PREFERENCES)))

    assert state == UserState(forget_ver=1, pref_ver=2)
    listed = records.list_preferences(TENANT, USER)
    assert {(one.key[:3], one.version) for one in listed} == {("new", 2)}
    assert len(listed) == MAX_PREFERENCES


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ([NewPreference(f"k{number}", number) for number in range(MAX_PREFERENCES + 1)], "preferences"),
        ([AISLE, NewPreference("seat", "window")], "preferences.1.key"),
        ([AISLE, NewPreference("k", float("nan"))], "preferences.1.value"),
        ([NewPreference("k", "a", options=("a", "\ud800"))], "preferences"),
    ],
    ids=["too many", "one name twice", "not a number", "lone surrogate"],
)
def test_replace_preferences__what_cannot_be_kept_is_refused_and_the_set_stays(
    records: Records, wanted: list[NewPreference], field: str
) -> None:
    before = replace(records, AISLE)

    with pytest.raises(InvalidInputError) as caught:
        replace(records, *wanted)

    assert caught.value.field == field
    assert records.read_user_state(TENANT, USER) == before
    assert seats(records) == ["aisle"]


def test_replace_preferences__at_once_one_whole_set_wins_and_no_reader_meets_half_of_one(records: Records) -> None:
    replace(records, *(NewPreference(f"k{number}", -1) for number in range(20)))

    def write_or_read(worker: int) -> None:
        for step in range(3):
            if worker % 2:
                replace(records, *(NewPreference(f"k{number}", f"{worker}-{step}") for number in range(20)))
            else:
                listed = records.list_preferences(TENANT, USER)
                assert len(listed) == 20
                assert len({(one.value, one.version) for one in listed}) == 1

    at_once(write_or_read)

    assert records.read_user_state(TENANT, USER) == UserState(pref_ver=1 + 3 * WRITERS // 2)


def test_set_preference__made_elsewhere_counts_when_it_is_newer(records: Records) -> None:
    set_seat(records, "aisle", mark=Mark(version=5))

    assert set_seat(records, "window", mark=Mark(version=4)) == UserState(pref_ver=1)
    assert set_seat(records, "aisle", mark=Mark(version=5)) == UserState(pref_ver=1)
    assert set_seat(records, "window", mark=Mark(version=6)) == UserState(pref_ver=2)
    assert seats(records) == ["window"]


def test_set_preference__made_elsewhere_with_a_newer_mark_and_the_same_value_moves_the_mark_alone(
    records: Records,
) -> None:
    set_seat(records, "aisle", mark=Mark(version=1))

    assert set_seat(records, "aisle", mark=Mark(version=5)) == UserState(pref_ver=1)
    assert set_seat(records, "window", mark=Mark(version=4)) == UserState(pref_ver=1)
    assert seats(records) == ["aisle"]


def test_set_preference__made_elsewhere_before_a_set_or_deletion_here_is_too_late(records: Records) -> None:
    set_seat(records, "aisle", now=NOW)
    assert set_seat(records, "window", mark=Mark(time=NOW - 1), now=NOW + 1) == UserState(pref_ver=1)

    delete_seat(records, now=NOW + 2)
    assert set_seat(records, "window", mark=Mark(time=NOW + 1), now=NOW + 3) == UserState(forget_ver=1, pref_ver=2)

    assert set_seat(records, "window", mark=Mark(time=NOW + 4), now=NOW + 5).pref_ver == 3
    assert records.list_preferences(TENANT, USER) == (Preference("seat", "window", 3, NOW + 4),)


def test_delete_preference__made_elsewhere_keeps_an_older_set_from_coming_back(records: Records) -> None:
    set_seat(records, "aisle", mark=Mark(version=1))
    assert delete_seat(records, mark=Mark(version=3)) == UserState(forget_ver=1, pref_ver=2)

    assert set_seat(records, "window", mark=Mark(version=2)) == UserState(forget_ver=1, pref_ver=2)
    assert delete_seat(records, mark=Mark(version=3)) == UserState(forget_ver=1, pref_ver=2)
    assert seats(records) == []


def test_delete_preference__that_comes_before_its_set_holds_until_its_tombstone_ends(records: Records) -> None:
    assert delete_seat(records, mark=Mark(version=2)) == UserState()

    ended = NOW + TOMBSTONE_TTL_S
    assert set_seat(records, "aisle", mark=Mark(version=1), now=ended - 1) == UserState()
    assert set_seat(records, "aisle", mark=Mark(version=1), now=ended) == UserState(pref_ver=1)


def test_delete_preference__made_elsewhere_before_a_set_here_leaves_it(records: Records) -> None:
    set_seat(records, "aisle")

    assert delete_seat(records, mark=Mark(time=NOW - 1)) == UserState(pref_ver=1)
    assert seats(records) == ["aisle"]


def test_changes_made_elsewhere__at_once_the_newest_is_left(records: Records) -> None:
    at_once(lambda number: set_seat(records, f"seat {number}", mark=Mark(version=number)))

    assert seats(records) == [f"seat {WRITERS - 1}"]


def test_observe_preference__counts_and_changes_nothing_else(records: Records) -> None:
    before = set_seat(records, "aisle")

    observed = observe(records, "window", times=DRIFT_AFTER)

    assert observed == Preference("seat", "aisle", 1, NOW, drift=Drift("window", DRIFT_AFTER))
    assert records.list_preferences(TENANT, USER) == (observed,)
    assert records.read_user_state(TENANT, USER) == before


def test_observe_preference__ends_with_agreement_a_set_or_a_deletion(records: Records) -> None:
    set_seat(records, "aisle")
    observe(records, "window", times=2)
    assert observe(records, "aisle").drift is None

    observe(records, "window", times=2)
    assert set_seat(records, "aisle", now=LATER).pref_ver == 1
    assert records.list_preferences(TENANT, USER) == (Preference("seat", "aisle", 1, NOW),)

    observe(records, "window", times=2)
    delete_seat(records)
    set_seat(records, "aisle")
    assert [one.drift for one in records.list_preferences(TENANT, USER)] == [None]


def test_observe_preference__at_once_every_one_counts(records: Records) -> None:
    set_seat(records, "aisle")

    at_once(lambda _: observe(records, "window"))

    assert [one.drift for one in records.list_preferences(TENANT, USER)] == [Drift("window", WRITERS)]


def test_observe_preference__of_an_agent_without_one_of_its_own_speaks_of_the_general_one(records: Records) -> None:
    set_seat(records, "aisle")

    observed = records.observe_preference(TENANT, USER, key="seat", value="window", agent=AGENT)

    assert (observed.agent, observed.drift) == (None, Drift("window", 1))


def test_observe_preference__of_what_was_never_set_is_not_found(records: Records) -> None:
    with pytest.raises(NotFoundError):
        observe(records, "window")

    assert records.read_user_state(TENANT, USER) == UserState()


def test_observe_preference__value_that_no_row_can_hold_is_refused(records: Records) -> None:
    set_seat(records, "aisle")

    with pytest.raises(InvalidInputError) as caught:
        records.observe_preference(TENANT, USER, key="seat", value=float("inf"))

    assert caught.value.field == "value"

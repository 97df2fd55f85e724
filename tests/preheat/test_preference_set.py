"""How a preference set changes: what is said last counts, however late, often and in whatever order it comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.errors import InvalidInputError, NotFoundError
from preheat.preference_set import (
    TOMBSTONE_TTL_S,
    Mark,
    PreferenceSet,
    Seen,
    says_the_same,
    with_observation,
    with_only,
    with_preference,
    without_preference,
)
from preheat.preferences import DRIFT_AFTER, MAX_PREFERENCES, Drift, NewPreference, Preference, PreferenceValue
from preheat.session import AgentId
from tests.preheat.material import NOW

DESK, SHOP = AgentId("desk"), AgentId("shop")
AISLE, WINDOW = NewPreference("seat", "aisle"), NewPreference("seat", "window")
EMPTY = PreferenceSet()


def told(*news: NewPreference, now: float = NOW) -> PreferenceSet:
    """Return a set to which the preferences were told here, one after the other."""
    kept = EMPTY
    for version, new in enumerate(news, start=1):
        kept = with_preference(kept, new, version=version, now=now)
    return kept


def values(kept: PreferenceSet) -> dict[str, PreferenceValue]:
    return {one.key: one.value for one in kept.preferences}


def test_with_preference__the_same_again_keeps_its_version_and_its_time() -> None:
    kept = with_preference(told(AISLE), AISLE, version=2, now=NOW + 9)

    assert kept.preferences == (Preference("seat", "aisle", 1, NOW),)
    assert says_the_same(kept, told(AISLE))


@pytest.mark.parametrize(
    "new",
    [
        NewPreference("seat", "window"),
        NewPreference("seat", "aisle", options=("aisle", "window")),
        NewPreference("seat", "aisle", source="inferred"),
    ],
    ids=["value", "options", "source"],
)
def test_with_preference__whatever_differs_is_a_change(new: NewPreference) -> None:
    kept = with_preference(told(AISLE), new, version=2, now=NOW + 9)

    assert kept.preferences == (Preference("seat", new.value, 2, NOW + 9, None, new.options, new.source),)
    assert not says_the_same(kept, told(AISLE))


@pytest.mark.parametrize(("old", "new"), [(1, True), (0, False), (1, 1.0), ("1", 1), (("a",), "a")])
def test_with_preference__values_that_python_takes_for_equal_are_changes(
    old: PreferenceValue, new: PreferenceValue
) -> None:
    kept = with_preference(told(NewPreference("k", old)), NewPreference("k", new), version=1, now=NOW)

    assert repr(kept.preferences[0].value) == repr(new)
    assert not says_the_same(kept, told(NewPreference("k", old)))


def test_with_preference__general_and_agents_own_stand_side_by_side() -> None:
    kept = told(NewPreference("seat", "window", SHOP), NewPreference("seat", "middle", DESK), AISLE)

    assert [(one.agent, one.value) for one in kept.preferences] == [(None, "aisle"), (DESK, "middle"), (SHOP, "window")]


def test_with_preference__more_than_a_user_may_have_is_refused_and_a_change_of_one_is_not() -> None:
    full = told(*(NewPreference(f"k{n}", n, DESK if n % 2 else None) for n in range(MAX_PREFERENCES)))

    with pytest.raises(InvalidInputError) as caught:
        with_preference(full, AISLE, version=200, now=NOW)

    assert caught.value.field == "key"
    assert values(with_preference(full, NewPreference("k0", "new"), version=200, now=NOW))["k0"] == "new"


def test_with_preference__later_mark_is_written_and_earlier_or_equal_is_not() -> None:
    kept = with_preference(EMPTY, AISLE, version=1, now=NOW, mark=Mark(version=7))

    for version in (3, 7):
        assert with_preference(kept, WINDOW, version=2, now=NOW, mark=Mark(version=version)) is kept
    later = with_preference(kept, WINDOW, version=2, now=NOW + 1, mark=Mark(version=8))
    assert later.preferences == (Preference("seat", "window", 2, NOW + 1),)


def test_with_preference__a_mark_with_a_time_says_when_it_was_changed() -> None:
    kept = with_preference(EMPTY, AISLE, version=1, now=NOW, mark=Mark(time=NOW - 60))

    assert kept.preferences == (Preference("seat", "aisle", 1, NOW - 60),)


def test_with_preference__change_made_elsewhere_before_one_made_here_is_too_late() -> None:
    kept = told(AISLE)

    assert with_preference(kept, WINDOW, version=2, now=NOW + 9, mark=Mark(time=NOW - 1)) is kept
    assert values(with_preference(kept, WINDOW, version=2, now=NOW + 9, mark=Mark(time=NOW + 1))) == {"seat": "window"}


def test_with_preference__said_again_here_holds_against_what_came_between() -> None:
    kept = with_preference(told(AISLE), AISLE, version=2, now=NOW + 60)

    assert with_preference(kept, WINDOW, version=2, now=NOW + 61, mark=Mark(time=NOW + 30)) is kept


def test_with_preference__change_made_here_keeps_the_count_of_the_other_source() -> None:
    kept = with_preference(EMPTY, AISLE, version=1, now=NOW, mark=Mark(version=7))
    kept = with_preference(kept, NewPreference("seat", "middle"), version=2, now=NOW + 1)

    assert with_preference(kept, AISLE, version=3, now=NOW + 2, mark=Mark(version=7)) is kept
    assert values(with_preference(kept, WINDOW, version=3, now=NOW + 2, mark=Mark(version=8))) == {"seat": "window"}


@pytest.mark.parametrize(
    ("seen", "mark", "admitted"),
    [
        (Seen(version=1), Mark(version=2), True),
        (Seen(version=2), Mark(version=2), False),
        (Seen(version=1, time=9.0), Mark(version=2, time=1.0), True),
        (Seen(version=2, time=1.0), Mark(version=1, time=9.0), False),
        (Seen(time=1.0), Mark(time=2.0), True),
        (Seen(time=1.0), Mark(time=1.0), False),
        (Seen(time=2.0), Mark(version=1, time=1.0), False),
        (Seen(time=2.0), Mark(version=1), True),
        (Seen(version=2), Mark(time=1.0), True),
        (Seen(version=1, time=1.0, here_at=3.0), Mark(version=2, time=2.0), False),
        (Seen(version=1, time=1.0, here_at=3.0), Mark(version=2, time=3.5), True),
        (Seen(version=1, here_at=3.0), Mark(version=1, time=4.0), False),
        (Seen(here_at=3.0), Mark(time=3.0), False),
        (Seen(here_at=3.0), Mark(version=1), True),
        (Seen(), Mark(version=0), True),
        (Seen(), Mark(time=0.0), True),
        (Seen(version=9, time=9.0, here_at=9.0), None, True),
    ],
    ids=str,
)
def test_admits__only_what_comes_after_changes_here_by_time_and_elsewhere_by_count_or_time(
    seen: Seen, mark: Mark | None, *, admitted: bool
) -> None:
    assert seen.admits(mark) is admitted


def test_without_preference__late_change_cannot_bring_it_back() -> None:
    kept = with_preference(EMPTY, AISLE, version=1, now=NOW, mark=Mark(version=1))
    gone = without_preference(kept, AISLE.name, now=NOW, mark=Mark(version=3))

    assert gone.preferences == ()
    assert with_preference(gone, WINDOW, version=2, now=NOW, mark=Mark(version=2)) is gone
    assert without_preference(gone, AISLE.name, now=NOW, mark=Mark(version=3)) is gone
    assert values(with_preference(gone, WINDOW, version=2, now=NOW, mark=Mark(version=4))) == {"seat": "window"}


def test_without_preference__that_comes_before_the_set_it_deletes_holds() -> None:
    gone = without_preference(EMPTY, AISLE.name, now=NOW, mark=Mark(version=2))

    assert with_preference(gone, AISLE, version=1, now=NOW, mark=Mark(version=1)) is gone
    assert says_the_same(gone, EMPTY)


def test_without_preference__made_here_holds_against_an_earlier_change_elsewhere() -> None:
    gone = without_preference(told(AISLE), AISLE.name, now=NOW + 5)

    assert with_preference(gone, WINDOW, version=2, now=NOW + 6, mark=Mark(time=NOW + 4)) is gone


def test_without_preference__takes_the_agents_own_and_leaves_the_general_one() -> None:
    kept = told(AISLE, NewPreference("seat", "window", DESK))

    assert values(without_preference(kept, ("seat", DESK), now=NOW)) == {"seat": "aisle"}
    assert [one.agent for one in without_preference(kept, ("seat", None), now=NOW).preferences] == [DESK]


def test_without_preference__a_tombstone_tells_nothing_and_ends() -> None:
    kept = told(NewPreference("secret_key", "secret value", AgentId("secret-agent")))
    gone = without_preference(kept, ("secret_key", AgentId("secret-agent")), now=NOW, mark=Mark(version=5))

    assert "secret" not in repr(gone)
    ended = NOW + TOMBSTONE_TTL_S
    assert gone.seen(("secret_key", AgentId("secret-agent")), now=ended - 1).version == 5
    assert gone.seen(("secret_key", AgentId("secret-agent")), now=ended) == Seen()
    assert without_preference(gone, ("other", None), now=ended).tombstones[0].expires_at == ended + TOMBSTONE_TTL_S


def test_without_preference__however_much_is_deleted_the_set_stays_small() -> None:
    kept = EMPTY
    for number in range(1000):
        kept = without_preference(kept, (f"k{number}", None), now=NOW + number, mark=Mark(version=1))

    assert len(kept.tombstones) == 400
    assert kept.seen(("k999", None), now=NOW + 1000).version == 1


def test_with_only__is_exactly_what_is_wanted_and_leaves_alone_what_says_the_same() -> None:
    before = told(
        AISLE, NewPreference("diet", "vegan"), NewPreference("tone", "brief"), NewPreference("tone", "x", DESK)
    )
    wanted = [NewPreference("tone", "brief"), NewPreference("diet", "halal"), NewPreference("home", "OPO", SHOP)]

    after = with_only(before, wanted, version=5, now=NOW + 5)

    assert after.preferences == (
        Preference("diet", "halal", 5, NOW + 5),
        Preference("home", "OPO", 5, NOW + 5, SHOP),
        Preference("tone", "brief", 3, NOW),
    )


def test_with_only__a_whole_set_can_take_the_place_of_another() -> None:
    before = told(*(NewPreference(f"old{n}", n) for n in range(MAX_PREFERENCES)))

    after = with_only(before, [NewPreference(f"new{n}", n) for n in range(MAX_PREFERENCES)], version=101, now=NOW)

    assert {one.version for one in after.preferences} == {101}
    assert [one.key for one in after.preferences] == sorted(f"new{n}" for n in range(MAX_PREFERENCES))


def test_with_only__what_is_gone_cannot_be_brought_back_by_a_late_change() -> None:
    after = with_only(told(AISLE), [], version=2, now=NOW + 5)

    assert with_preference(after, WINDOW, version=3, now=NOW + 6, mark=Mark(time=NOW + 4)) is after


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ([NewPreference(f"k{n}", n) for n in range(MAX_PREFERENCES + 1)], "preferences"),
        ([AISLE, NewPreference("seat", "x", DESK), WINDOW], "preferences.2.key"),
    ],
    ids=["too many", "one name twice"],
)
def test_with_only__what_cannot_be_a_set_is_refused_by_field(wanted: list[NewPreference], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        with_only(EMPTY, wanted, version=1, now=NOW)

    assert caught.value.field == field


def observed(kept: PreferenceSet, *seen: PreferenceValue, agent: AgentId | None = None) -> Drift | None:
    for value in seen:
        kept = with_observation(kept, ("seat", agent), value)
    return next(one.drift for one in kept.preferences)


def test_with_observation__contradictions_in_a_row_are_counted_and_the_value_stays() -> None:
    kept = told(AISLE)
    for _ in range(DRIFT_AFTER):
        assert not kept.preferences[0].has_drifted
        kept = with_observation(kept, AISLE.name, "window")

    (preference,) = kept.preferences
    assert (preference.value, preference.version, preference.drift) == ("aisle", 1, Drift("window", DRIFT_AFTER))
    assert preference.has_drifted
    assert says_the_same(kept, told(AISLE))


def test_with_observation__agreement_ends_the_count() -> None:
    assert observed(told(AISLE), "window", "window", "Aisle ") is None
    assert observed(told(AISLE), "window", "window", "aisle", "window") == Drift("window", 1)


def test_with_observation__different_contradictions_count_together_and_the_last_is_shown() -> None:
    assert observed(told(AISLE), "window", "middle", "window", "middle") == Drift("middle", 4)


@pytest.mark.parametrize(
    ("stored", "seen", "agrees"),
    [
        (1, 1.0, True),
        (1, True, False),
        (True, "yes", False),
        ("5", 5, False),
        (("a", "B"), ("b", "A"), True),
        (("a",), ("a", "b"), False),
        ("çà", "ÇÀ", True),
        (2**5000, 1.5, False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_with_observation__what_means_the_same_agrees(
    stored: PreferenceValue, seen: PreferenceValue, *, agrees: bool
) -> None:
    assert (observed(told(NewPreference("seat", stored)), seen) is None) is agrees


def test_with_observation__speaks_of_the_agents_own_before_the_general_one() -> None:
    both = told(AISLE, NewPreference("seat", "window", DESK))

    own = with_observation(both, ("seat", DESK), "middle")
    general = with_observation(both, ("seat", SHOP), "middle")

    assert [one.drift for one in own.preferences] == [None, Drift("middle", 1)]
    assert [one.drift for one in general.preferences] == [Drift("middle", 1), None]


def test_with_observation__of_what_was_never_set_is_not_found() -> None:
    with pytest.raises(NotFoundError):
        with_observation(told(NewPreference("seat", "window", DESK)), ("seat", None), "aisle")


def test_drift__is_called_off_by_a_set_and_not_by_a_whole_set_that_repeats_it() -> None:
    drifted = with_observation(told(AISLE), AISLE.name, "window")

    assert with_preference(drifted, AISLE, version=2, now=NOW).preferences[0].drift is None
    assert with_preference(drifted, WINDOW, version=2, now=NOW).preferences[0].drift is None
    assert with_only(drifted, [AISLE], version=2, now=NOW).preferences[0].drift == Drift("window", 1)
    assert with_only(drifted, [WINDOW], version=2, now=NOW).preferences[0].drift is None


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[int, str, str | None]]:
    """Draw what one source did to a few keys, numbered in its own order; None is a deletion."""
    done = draw(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None])), max_size=8))
    return [(number, key, value) for number, (key, value) in enumerate(done, start=1)]


@given(data=st.data(), history=histories(), by_time=st.booleans())
def test_changes_made_elsewhere__come_to_the_same_set_in_any_order_and_number(
    *, data: st.DataObject, history: list[tuple[int, str, str | None]], by_time: bool
) -> None:
    last = {key: value for _, key, value in history}
    repeats = data.draw(st.lists(st.sampled_from(history), max_size=8)) if history else []
    kept = EMPTY

    for step, (number, key, value) in enumerate(data.draw(st.permutations([*history, *repeats])), start=1):
        mark = Mark(time=NOW + number / 8) if by_time else Mark(version=number)
        if value is None:
            kept = without_preference(kept, (key, None), now=NOW, mark=mark)
        else:
            kept = with_preference(kept, NewPreference(key, value), version=step, now=NOW, mark=mark)

    assert values(kept) == {key: value for key, value in last.items() if value is not None}

"""Versions only grow; what a session keeps serves exactly as long as its prefix is right."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.agent import AgentState
from preheat.stamp import Stamp, UserState, stamp_of
from tests.preheat.material import Rows, agent, at, freeze

_COUNTERS = ("agent_ver", "catalog_ver", "forget_ver", "pref_ver", "hist_seq")
_counts = st.integers(0, 10**9)


def _moved(stamp: Stamp, counter: str, *, by: int) -> Stamp:
    fields = asdict(stamp)
    return Stamp(**{**fields, counter: fields[counter] + by})


_stamps = st.builds(Stamp, _counts, _counts, _counts, _counts, _counts, st.just("m"), st.just("r"))


@given(_stamps, st.sampled_from(_COUNTERS), st.integers(1, 1000))
def test_order__grows_with_each_counter(stamp: Stamp, counter: str, by: int) -> None:
    newer = _moved(stamp, counter, by=by)

    assert newer.order > stamp.order


@given(_stamps, _stamps)
def test_str__tells_two_stamps_of_one_model_apart(one: Stamp, other: Stamp) -> None:
    assert (str(one) == str(other)) == (one == other)


def test_stamp_of__takes_every_counter() -> None:
    stamp = stamp_of(AgentState(1, 2, "p", "c"), UserState(3, 4, 5), model="m", renderer="r")

    assert stamp == Stamp(1, 2, 3, 4, 5, "m", "r")
    assert str(stamp) == "a1.c2.f3.p4.h5"


def test_user_state__never_written_is_all_zeros() -> None:
    assert UserState() == UserState(forget_ver=0, pref_ver=0, hist_seq=0)


@pytest.mark.parametrize("counter", ["pref_ver", "hist_seq"])
def test_serves__what_a_correction_or_an_appended_turn_can_say(counter: str) -> None:
    frozen = freeze(Rows(agent()))

    assert frozen.serves(_moved(frozen.stamp, counter, by=7))


@pytest.mark.parametrize(
    "change",
    [{"agent_ver": 2}, {"catalog_ver": 2}, {"forget_ver": 1}, {"model": "m2"}, {"renderer": "r2"}],
    ids=str,
)
def test_serves__not_when_the_prefix_itself_is_wrong(change: dict[str, int | str]) -> None:
    frozen = freeze(Rows(agent()))

    assert frozen.serves(frozen.stamp)
    assert not frozen.serves(Stamp(**{**asdict(frozen.stamp), **change}))


@pytest.mark.parametrize("counter", ["agent_ver", "catalog_ver", "forget_ver"])
def test_is_newer_than__stamp_read_before_a_change(counter: str) -> None:
    frozen = freeze(Rows(agent()))
    later = replace(frozen, stamp=_moved(frozen.stamp, counter, by=4))

    assert later.is_newer_than(frozen.stamp)
    assert not frozen.is_newer_than(later.stamp)
    assert not frozen.is_newer_than(frozen.stamp)


def test_is_newer_than__ignores_what_does_not_replace_the_record() -> None:
    frozen = freeze(Rows(agent()))
    later = replace(frozen, stamp=at(9, pref_ver=9))

    assert not later.is_newer_than(frozen.stamp)

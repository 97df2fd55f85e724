"""What a bundle becomes at newer versions."""

from dataclasses import replace

import pytest

from preheat.renewal import with_corrections, without_unverified
from preheat.stamp import Stamp
from tests.preheat.material import (
    Rows,
    agent,
    assistant,
    at,
    build,
    numbered,
    preference,
    prefill_body,
    section_names,
    user,
)


def test_with_corrections__running_session_keeps_its_prefix_and_says_the_change_at_the_tail() -> None:
    before = build(Rows(agent(), (preference("project", "A"),)))

    after = with_corrections(before, at(pref_ver=2), current=(preference("project", "B", version=2),))

    assert prefill_body(after) == prefill_body(before)
    assert after.corrections == ('project is now "B"; ignore the earlier value.',)
    assert after.stamp.pref_ver == 2


@pytest.mark.parametrize(
    ("stamp", "left", "gone"),
    [
        (at(2, pref_ver=1), ["preferences", "recent_turns"], []),
        (at(2, pref_ver=2), ["recent_turns"], ["preferences"]),
        (at(3, pref_ver=1), ["preferences"], ["recent_turns"]),
        (at(3, pref_ver=2), [], ["preferences", "recent_turns"]),
    ],
)
def test_without_unverified__what_may_be_old_is_left_out_and_named(
    stamp: Stamp, left: list[str], gone: list[str]
) -> None:
    rows = Rows(agent(), (preference("seat", "aisle"),), numbered([user(0), assistant(0)]))
    bundle = replace(build(rows), corrections=('seat is now "window".',))

    verified = without_unverified(bundle, stamp)

    assert section_names(verified) == ["core_tools", "instructions", "session_tools", *left]
    assert [(one.name, one.reason) for one in verified.missing] == [(name, "source_unavailable") for name in gone]
    assert bool(verified.corrections) == ("preferences" in left)
    assert verified.stamp == stamp

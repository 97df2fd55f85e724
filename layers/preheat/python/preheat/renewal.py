"""Brings a bundle to newer versions: what did not change stays as it is, and its prefix with it."""

from collections.abc import Sequence
from dataclasses import replace

from preheat import preferences
from preheat.budget import TextCount
from preheat.building import recent_turns
from preheat.bundle import Bundle, Missing
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.sections import Section, SectionName, grown_turns
from preheat.session import SessionId
from preheat.stamp import Stamp


def with_corrections(bundle: Bundle, stamp: Stamp, *, current: Sequence[Preference]) -> Bundle:
    """Return the bundle at a newer `pref_ver`: the sections stay, the tail says what changed."""
    return replace(bundle, stamp=stamp, corrections=preferences.corrections(bundle.frozen.preferences, current))


def with_turns(
    bundle: Bundle, stamp: Stamp, *, session: SessionId, turns: Sequence[Turn], count: TextCount, now: float
) -> Bundle:
    """Return the bundle at a newer `hist_seq`: only the recent turns are rebuilt.

    Args:
        bundle: Whose frozen record serves `stamp`.
        stamp: Counters read before the rows.
        session: The running session.
        turns: The user's turns from `bundle.frozen.first_seq` on, oldest first.
        count: The deployment's counter, which `stamp` names.
        now: Epoch seconds.
    """
    rebuilt = recent_turns(turns, bundle.frozen, session=session, count=count, versions=str(stamp), now=now)
    return _with_recent(bundle, stamp, rebuilt)


def with_appended(bundle: Bundle, stamp: Stamp, *, turns: Sequence[Turn], count: TextCount, now: float) -> Bundle:
    """Return the bundle after one more plain exchange (a user's turn and its answer, no tool calls).

    Gives the bytes that `with_turns` would give from all the rows, without reading or counting them again.
    """
    before = bundle.section("recent_turns")
    return _with_recent(bundle, stamp, grown_turns(before, turns, count=count, versions=str(stamp), built_at=now))


def without_unverified(bundle: Bundle, stamp: Stamp) -> Bundle:
    """Return the bundle without the sections whose versions are not those of `stamp`.

    For when the rows behind them cannot be read: better no section than an old one.
    """
    stale: dict[SectionName, bool] = {
        "preferences": bundle.stamp.pref_ver != stamp.pref_ver,
        "recent_turns": bundle.stamp.hist_seq != stamp.hist_seq,
    }
    gone = tuple(Missing(name, "source_unavailable") for name, is_stale in stale.items() if is_stale)
    return replace(
        bundle,
        stamp=stamp,
        sections=tuple(section for section in bundle.sections if not stale.get(section.name, False)),
        corrections=() if stale["preferences"] else bundle.corrections,
        missing=(*bundle.missing, *gone),
    )


def _with_recent(bundle: Bundle, stamp: Stamp, recent: Section) -> Bundle:
    others = [section for section in bundle.sections if section.name != "recent_turns"]
    return replace(bundle, stamp=stamp, sections=(*others, *([recent] if recent.content else [])))

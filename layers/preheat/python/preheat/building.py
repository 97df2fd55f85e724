"""Builds a session's bundle from rows and its frozen record: the same bytes on the warm and on the cold path."""

from collections.abc import Sequence

from preheat import preferences
from preheat.agent import Agent
from preheat.budget import Budgets, TextCount
from preheat.bundle import SYSTEM_TOKENS, Bundle, Missing
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.sections import Section, text_section, turns_section
from preheat.session import SessionId
from preheat.stamp import Frozen, Stamp


def assemble(
    agent: Agent,
    frozen: Frozen,
    stamp: Stamp,
    *,
    session: SessionId,
    current: Sequence[Preference],
    turns: Sequence[Turn],
    count: TextCount,
    now: float,
) -> Bundle:
    """Build the bundle of a session.

    Args:
        agent: At the versions of `stamp`.
        frozen: The session's frozen record; must serve `stamp`.
        stamp: Counters read before the rows.
        session: Whose turns, beside those before freezing, belong to the window.
        current: The user's whole preference set.
        turns: The user's turns from `frozen.first_seq` on, oldest first.
        count: The deployment's counter, which `stamp` names.
        now: Epoch seconds.
    """
    at = str(stamp)
    core = text_section(
        "core_tools",
        agent.block(agent.profile.core_tools),
        count=count,
        versions=at,
        built_at=now,
        why="always loaded",
    )
    instructions = text_section(
        "instructions", agent.profile.text, count=count, versions=at, built_at=now, why="the agent's profile"
    )
    session_tools = text_section(
        "session_tools", agent.block(frozen.tools), count=count, versions=at, built_at=now, why=frozen.tools_why
    )
    wanted = text_section(
        "preferences",
        preferences.render(frozen.preferences),
        count=count,
        versions=str(frozen.stamp),
        built_at=now,
        why=f"all {len(frozen.preferences)} keys, latest values",
    )
    recent = recent_turns(turns, frozen, session=session, count=count, versions=at, now=now)
    return Bundle(
        stamp=stamp,
        frozen=frozen,
        sections=tuple(one for one in (core, instructions, session_tools, wanted, recent) if one.content),
        corrections=preferences.corrections(frozen.preferences, current),
        built_at=now,
        missing=_without_room((core, instructions, wanted), agent.profile.budgets),
    )


def _without_room(kept_whole: Sequence[Section], budgets: Budgets) -> tuple[Missing, ...]:
    tokens, most = SYSTEM_TOKENS + sum(section.tokens for section in kept_whole), budgets.max_tokens
    if tokens <= most:
        return ()
    reason = f"no_room: sections that are never dropped take {tokens} of {most} tokens"
    return (Missing("session_tools", reason), Missing("recent_turns", reason))


def recent_turns(
    turns: Sequence[Turn], frozen: Frozen, *, session: SessionId, count: TextCount, versions: str, now: float
) -> Section:
    """Return the section of a session's window; its content is empty when no turn is in it.

    The window holds the turns from before freezing, then only the session's own, so that it just grows.
    """
    window = [
        turn
        for turn in turns
        if turn.seq >= frozen.first_seq and (turn.seq <= frozen.stamp.hist_seq or turn.session == session)
    ]
    return turns_section(
        window,
        tool_output_tokens=frozen.budgets.tool_output_tokens,
        count=count,
        versions=versions,
        built_at=now,
    )

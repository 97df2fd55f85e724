"""The warm bundle: an immutable list of sections, most stable first, with the stamp that it was built from.

Everything here is a pure function of (agent, frozen record, preferences, turns): equal versions give equal bytes,
however and whenever the bundle is built.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from preheat import history, preferences, tools
from preheat.agent import Agent
from preheat.budget import Budgets, count_tokens
from preheat.canonical import canonical_json, sha256_hex
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.session import SessionId
from preheat.stamp import Frozen, Stamp
from preheat.tools import Tool

SectionName = Literal["core_tools", "instructions", "session_tools", "preferences", "recent_turns"]
# A running session's window may outgrow its budget by this factor before the session is frozen anew.
_OUTGROWN: Final = 2.0
# Tokens: a budget below this would freeze a session anew at every message.
_SMALLEST_WINDOW: Final = 400


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a bundle.

    Attributes:
        name: Which part.
        content: Text; tools and turns are lines of canonical JSON.
        tokens: A careful count (see `preheat.budget.count_tokens`).
        sha256: Of the content, 64 hex digits.
        versions: The source versions, in a stamp's letters.
        built_at: Epoch seconds.
        why: Why it is there, in words without user text.
    """

    name: SectionName
    content: str
    tokens: int
    sha256: str
    versions: str
    built_at: float
    why: str


@dataclass(frozen=True, slots=True)
class Missing:
    """A section that could not be built, and why."""

    name: SectionName
    reason: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """What is in place before the message: sections, corrections for the tail, and the versions of it all."""

    stamp: Stamp
    frozen: Frozen
    sections: tuple[Section, ...]
    corrections: tuple[str, ...]
    built_at: float
    missing: tuple[Missing, ...] = ()

    @property
    def tokens(self) -> int:
        """Careful count of the tokens of all sections."""
        return sum(section.tokens for section in self.sections)


def freeze(
    agent: Agent, stamp: Stamp, *, current: Sequence[Preference], turns: Sequence[Turn], generation: int = 0
) -> Frozen:
    """Choose what a session keeps for its life: tools, preferences and the window of recent turns.

    Args:
        agent: At the versions of `stamp`.
        stamp: Counters read before the rows.
        current: The user's whole preference set.
        turns: The user's newest turns, oldest first.
        generation: One more than the record that this one replaces.
    """
    budgets = agent.profile.budgets
    core = set(agent.profile.core_tools)
    room = max(0, budgets.max_tokens - kept_whole_tokens(agent, current))
    selection = tools.select(agent.catalog, turns, count=budgets.session_tools, core=core)
    chosen, room = _that_fit(selection.names, {tool.name: tool for tool in agent.catalog}, room)
    first_seq = stamp.hist_seq + 1
    if turns:
        first_seq = history.recent_window(
            turns,
            max_tokens=min(budgets.history_tokens, room),
            max_turns=budgets.max_turns,
            tool_output_tokens=budgets.tool_output_tokens,
        )
    return Frozen(
        stamp=stamp,
        generation=generation,
        tools=chosen,
        tools_why=selection.why,
        preferences=tuple(sorted(current, key=lambda one: one.key)),
        first_seq=first_seq,
        budgets=budgets,
    )


def kept_whole_tokens(agent: Agent, current: Iterable[Preference]) -> int:
    """Return a careful count of what is never dropped: core tools, instructions, the whole preference set."""
    core = set(agent.profile.core_tools)
    return (
        tools.block_tokens(tool for tool in agent.catalog if tool.name in core)
        + count_tokens(_instructions(agent))
        + count_tokens(preferences.render(current))
    )


def _that_fit(ranked: Iterable[str], catalog: dict[str, Tool], room: int) -> tuple[tuple[str, ...], int]:
    chosen: list[str] = []
    for name in ranked:
        tokens = tools.block_tokens([catalog[name]]) + 1  # for the line break
        if tokens > room:
            break
        room -= tokens
        chosen.append(name)
    return tuple(chosen), room


def assemble(
    agent: Agent,
    frozen: Frozen,
    stamp: Stamp,
    *,
    session: SessionId,
    current: Sequence[Preference],
    turns: Sequence[Turn],
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
        now: Epoch seconds.
    """
    core = set(agent.profile.core_tools)
    session_tools = set(frozen.tools)
    at = str(stamp)
    sections = (
        _section(
            "core_tools", tools.block(tool for tool in agent.catalog if tool.name in core), at, now, "always loaded"
        ),
        _section("instructions", _instructions(agent), at, now, "the agent's profile"),
        _section(
            "session_tools",
            tools.block(tool for tool in agent.catalog if tool.name in session_tools),
            at,
            now,
            frozen.tools_why,
        ),
        _section(
            "preferences",
            preferences.render(frozen.preferences),
            str(frozen.stamp),
            now,
            f"all {len(frozen.preferences)} keys, latest values",
        ),
        _turns_section(window(turns, frozen, session), frozen.budgets, at, now),
    )
    return Bundle(
        stamp=stamp,
        frozen=frozen,
        sections=tuple(section for section in sections if section.content),
        corrections=preferences.corrections(frozen.preferences, current),
        built_at=now,
        missing=_without_room(agent, frozen),
    )


def _without_room(agent: Agent, frozen: Frozen) -> tuple[Missing, ...]:
    kept, most = kept_whole_tokens(agent, frozen.preferences), agent.profile.budgets.max_tokens
    if kept <= most:
        return ()
    reason = f"no_room: sections that are never dropped take {kept} of {most} tokens"
    return (Missing("session_tools", reason), Missing("recent_turns", reason))


def with_corrections(bundle: Bundle, stamp: Stamp, *, current: Sequence[Preference]) -> Bundle:
    """Return the bundle at a newer `pref_ver`: the sections stay, the tail says what changed."""
    return replace(bundle, stamp=stamp, corrections=preferences.corrections(bundle.frozen.preferences, current))


def with_turns(bundle: Bundle, stamp: Stamp, *, session: SessionId, turns: Sequence[Turn], now: float) -> Bundle:
    """Return the bundle at a newer `hist_seq`: only the recent turns are rebuilt.

    Args:
        bundle: Whose frozen record serves `stamp`.
        stamp: Counters read before the rows.
        session: The running session.
        turns: The user's turns from `bundle.frozen.first_seq` on, oldest first.
        now: Epoch seconds.
    """
    rebuilt = _turns_section(window(turns, bundle.frozen, session), bundle.frozen.budgets, str(stamp), now)
    kept = [section for section in bundle.sections if section.name != "recent_turns"]
    return replace(bundle, stamp=stamp, sections=(*kept, *([rebuilt] if rebuilt.content else [])))


def window(turns: Sequence[Turn], frozen: Frozen, session: SessionId) -> list[Turn]:
    """Return the turns of the window: those before freezing, then only this session's own, so that it just grows."""
    return [
        turn
        for turn in turns
        if turn.seq >= frozen.first_seq and (turn.seq <= frozen.stamp.hist_seq or turn.session == session)
    ]


def outgrown(bundle: Bundle) -> bool:
    """Tell whether the session's recent turns have outgrown their budget, so that it must be frozen anew."""
    used = sum(section.tokens for section in bundle.sections if section.name == "recent_turns")
    return used > _OUTGROWN * max(bundle.frozen.budgets.history_tokens, _SMALLEST_WINDOW)


def _instructions(agent: Agent) -> str:
    parts = (agent.profile.instructions.strip(), agent.profile.domain_knowledge.strip())
    return "\n\n".join(part for part in parts if part)


def _turns_section(turns: Sequence[Turn], budgets: Budgets, versions: str, now: float) -> Section:
    kept = [
        history.trimmed(turn, max_tokens=budgets.tool_output_tokens)
        for exchange in history.exchanges(turns)
        for turn in exchange
    ]
    return _section_of_turns([_turn_line(turn) for turn in kept], sum(map(history.turn_tokens, kept)), versions, now)


def _section_of_turns(lines: Sequence[str], tokens: int, versions: str, now: float) -> Section:
    why = f"the last {len(lines)} turns, whole call and result pairs"
    return replace(_section("recent_turns", "\n".join(lines), versions, now, why), tokens=tokens)


def _turn_line(turn: Turn) -> str:
    message: dict[str, object] = {"role": turn.role, "content": turn.content}
    if turn.tool_calls:
        message["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.tool_calls
        ]
    if turn.tool_call_id is not None:
        message["tool_call_id"] = turn.tool_call_id
    return canonical_json(message)


def turn_messages(section: Section) -> list[dict[str, object]]:
    """Return the messages that a `recent_turns` section holds, oldest first."""
    return [json.loads(line) for line in section.content.split("\n")]


def _section(name: SectionName, content: str, versions: str, built_at: float, why: str) -> Section:
    return Section(name, content, count_tokens(content), sha256_hex(content), versions, built_at, why)


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


def with_appended(bundle: Bundle, stamp: Stamp, *, turns: Sequence[Turn], now: float) -> Bundle:
    """Return the bundle after one more plain exchange (a user's turn and its answer, no tool calls).

    Gives the bytes that `with_turns` would give from all the rows, without reading them.
    """
    old = next((section for section in bundle.sections if section.name == "recent_turns"), None)
    lines = [*(old.content.split("\n") if old else ()), *map(_turn_line, turns)]
    tokens = (old.tokens if old else 0) + sum(map(history.turn_tokens, turns))
    kept = [section for section in bundle.sections if section.name != "recent_turns"]
    return replace(bundle, stamp=stamp, sections=(*kept, _section_of_turns(lines, tokens, str(stamp), now)))

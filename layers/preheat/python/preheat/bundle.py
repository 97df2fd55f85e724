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
from preheat.errors import BudgetTooSmallError
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.session import SessionId
from preheat.stamp import Frozen, Stamp
from preheat.tools import Tool

SectionName = Literal["core_tools", "instructions", "session_tools", "preferences", "recent_turns"]
# A running session's window may outgrow its budget by this factor before the session is frozen anew.
_OUTGROWN: Final = 2.0


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

    Raises:
        BudgetTooSmallError: what may never be dropped does not fit `max_tokens`.
    """
    budgets = agent.profile.budgets
    core = set(agent.profile.core_tools)
    kept_whole = (
        tools.block_tokens(tool for tool in agent.catalog if tool.name in core)
        + count_tokens(_instructions(agent))
        + count_tokens(preferences.render(current))
    )
    room = budgets.max_tokens - kept_whole
    if room < 0:
        raise BudgetTooSmallError(
            f"core tools, instructions and preferences take {kept_whole} tokens of max_tokens {budgets.max_tokens}"
        )
    selection = tools.select(agent.catalog, turns, count=budgets.session_tools, core=core)
    chosen, room = _that_fit(selection.names, {tool.name: tool for tool in agent.catalog}, room)
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
    )


def _that_fit(ranked: Iterable[str], catalog: dict[str, Tool], room: int) -> tuple[tuple[str, ...], int]:
    chosen: list[str] = []
    for name in ranked:
        tokens = tools.block_tokens([catalog[name]])
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
        _turns_section(window(turns, frozen, session), agent.profile.budgets, at, now),
    )
    return Bundle(
        stamp=stamp,
        frozen=frozen,
        sections=tuple(section for section in sections if section.content),
        corrections=preferences.corrections(frozen.preferences, current),
        built_at=now,
    )


def with_corrections(bundle: Bundle, stamp: Stamp, *, current: Sequence[Preference]) -> Bundle:
    """Return the bundle at a newer `pref_ver`: the sections stay, the tail says what changed."""
    return replace(bundle, stamp=stamp, corrections=preferences.corrections(bundle.frozen.preferences, current))


def with_turns(
    bundle: Bundle, stamp: Stamp, *, budgets: Budgets, session: SessionId, turns: Sequence[Turn], now: float
) -> Bundle:
    """Return the bundle at a newer `hist_seq`: only the recent turns are rebuilt.

    Args:
        bundle: Whose frozen record serves `stamp`.
        stamp: Counters read before the rows.
        budgets: The agent's.
        session: The running session.
        turns: The user's turns from `bundle.frozen.first_seq` on, oldest first.
        now: Epoch seconds.
    """
    rebuilt = _turns_section(window(turns, bundle.frozen, session), budgets, str(stamp), now)
    kept = [section for section in bundle.sections if section.name != "recent_turns"]
    return replace(bundle, stamp=stamp, sections=(*kept, *([rebuilt] if rebuilt.content else [])))


def window(turns: Sequence[Turn], frozen: Frozen, session: SessionId) -> list[Turn]:
    """Return the turns of the window: those before freezing, then only this session's own, so that it just grows."""
    return [
        turn
        for turn in turns
        if turn.seq >= frozen.first_seq and (turn.seq <= frozen.stamp.hist_seq or turn.session == session)
    ]


def outgrown(bundle: Bundle, budgets: Budgets) -> bool:
    """Tell whether the session's recent turns have outgrown their budget, so that it must be frozen anew."""
    used = sum(section.tokens for section in bundle.sections if section.name == "recent_turns")
    return used > _OUTGROWN * max(budgets.history_tokens, 1)


def _instructions(agent: Agent) -> str:
    parts = (agent.profile.instructions.strip(), agent.profile.domain_knowledge.strip())
    return "\n\n".join(part for part in parts if part)


def _turns_section(turns: Sequence[Turn], budgets: Budgets, versions: str, now: float) -> Section:
    kept = [
        history.trimmed(turn, max_tokens=budgets.tool_output_tokens)
        for exchange in history.exchanges(turns)
        for turn in exchange
    ]
    content = "\n".join(_turn_line(turn) for turn in kept)
    return _section("recent_turns", content, versions, now, f"the last {len(kept)} turns, whole call and result pairs")


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

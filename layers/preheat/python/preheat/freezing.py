"""What a session keeps for its life, chosen within the agent's budget; `preheat.budget` says what is dropped first."""

from collections.abc import Iterable, Sequence

from preheat import history, preferences, tools
from preheat.agent import Agent
from preheat.budget import TextCount
from preheat.bundle import SYSTEM_TOKENS
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.sections import text_tokens
from preheat.stamp import Frozen, Stamp


def freeze(
    agent: Agent,
    stamp: Stamp,
    *,
    current: Sequence[Preference],
    turns: Sequence[Turn],
    count: TextCount,
    generation: int = 0,
) -> Frozen:
    """Choose what a session keeps for its life: tools, preferences and the window of recent turns.

    Args:
        agent: At the versions of `stamp`.
        stamp: Counters read before the rows.
        current: The user's whole preference set.
        turns: The user's newest turns, oldest first.
        count: The deployment's counter, which `stamp` names.
        generation: One more than the record that this one replaces.
    """
    budgets = agent.profile.budgets
    room = max(0, budgets.max_tokens - kept_whole_tokens(agent, current, count=count))
    selection = tools.select(agent.catalog, turns, count=budgets.session_tools, core=agent.profile.core_tools)
    chosen, room = _that_fit(agent, selection.names, room=room, count=count)
    first_seq = stamp.hist_seq + 1
    if turns:
        first_seq = history.recent_window(
            turns,
            max_tokens=min(budgets.history_tokens, room),
            max_turns=budgets.max_turns,
            tool_output_tokens=budgets.tool_output_tokens,
            count=count,
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


def kept_whole_tokens(agent: Agent, current: Iterable[Preference], *, count: TextCount) -> int:
    """Return what the system message takes without what may be dropped: core tools, instructions, all preferences."""
    return (
        SYSTEM_TOKENS
        + text_tokens("core_tools", agent.block(agent.profile.core_tools), count=count)
        + text_tokens("instructions", agent.profile.text, count=count)
        + text_tokens("preferences", preferences.render(current), count=count)
    )


def _that_fit(agent: Agent, ranked: Iterable[str], *, room: int, count: TextCount) -> tuple[tuple[str, ...], int]:
    """Return the first of the ranked tools that fit together, and the room that is left."""
    chosen: list[str] = []
    for name in ranked:
        line = agent.block([name])
        # The first one brings the heading, each other one a line break.
        tokens = count(line) + 1 if chosen else text_tokens("session_tools", line, count=count)
        if tokens > room:
            break
        room -= tokens
        chosen.append(name)
    return tuple(chosen), room

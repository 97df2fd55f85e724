"""Lever history: which recent turns are worth their tokens.

Turns are counted in tokens, not messages. A tool result never goes without its call, nor a call without its results; an
oversized tool output keeps its head and its tail. Once a session has started, its window only grows at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from preheat.budget import count_message_tokens, count_tokens
from preheat.session import SessionId

Role = Literal["user", "assistant", "tool"]
# Share of a trimmed output that its head keeps; the tail gets the rest.
_HEAD_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool as the model made it: `name` is `server/name`, `arguments` the JSON text."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a user's log. `seq` counts from 1 without gaps over all the user's sessions."""

    seq: int
    turn_id: str
    session: SessionId
    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


def recent_window(turns: Sequence[Turn], *, max_tokens: int, max_turns: int, tool_output_tokens: int) -> int:
    """Return the `seq` of the first turn to keep; one past the last turn when nothing fits.

    Args:
        turns: A user's newest turns, oldest first.
        max_tokens: What the kept turns may take together, after trimming.
        max_turns: How many turns are kept at most.
        tool_output_tokens: What one tool output may take.
    """
    start = turns[-1].seq + 1 if turns else 1
    used_tokens = 0
    used_turns = 0
    for group in reversed(exchanges(turns)):
        group_tokens = sum(turn_tokens(trimmed(turn, max_tokens=tool_output_tokens)) for turn in group)
        if used_tokens + group_tokens > max_tokens or used_turns + len(group) > max_turns:
            break
        used_tokens += group_tokens
        used_turns += len(group)
        start = group[0].seq
    return start


def exchanges(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Split turns into the groups that are kept or dropped whole: one user turn and all that answers it.

    A group opens at each user turn and at each change of session. Tool results without their call in the same group,
    and calls without all their results, are left out: an engine refuses such a history.
    """
    groups: list[list[Turn]] = []
    for turn in turns:
        if not groups or turn.role == "user" or turn.session != groups[-1][-1].session:
            groups.append([])
        groups[-1].append(turn)
    return [kept for group in groups if (kept := _paired(group))]


def _paired(group: Sequence[Turn]) -> list[Turn]:
    """Keep the turns of one group whose calls and results are both there, each result after its call."""
    answered = {turn.tool_call_id for turn in group if turn.role == "tool"}
    called: set[str] = set()
    kept: list[Turn] = []
    for turn in group:
        if turn.tool_calls:
            ids = {call.call_id for call in turn.tool_calls}
            if not ids <= answered:
                continue
            called |= ids
        if turn.role == "tool" and turn.tool_call_id not in called:
            continue
        kept.append(turn)
    return kept


def trimmed(turn: Turn, *, max_tokens: int) -> Turn:
    """Return the turn with an oversized tool output cut to head, marker and tail; others as they are."""
    if turn.role != "tool" or count_tokens(turn.content) <= max_tokens:
        return turn
    size = len(turn.content)
    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(_head_and_tail(turn.content, middle)) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return replace(turn, content=_head_and_tail(turn.content, low))


def _head_and_tail(text: str, keep: int) -> str:
    head = int(keep * _HEAD_SHARE)
    tail = keep - head
    return f"{text[:head]} [... {len(text) - keep} characters left out ...] {text[len(text) - tail :]}"


def turn_tokens(turn: Turn) -> int:
    """Return a careful count of the tokens that the turn takes in a prompt."""
    calls = sum(count_tokens(call.name) + count_tokens(call.arguments) for call in turn.tool_calls)
    return count_message_tokens(turn.content) + calls

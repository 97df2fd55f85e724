"""Lever history: which recent turns are worth their tokens.

Turns are counted in tokens, not messages. A tool result never goes without its call, nor a call without its results; an
oversized tool output keeps its head and its tail. Once a session has started, its window only grows at the end.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from preheat.budget import CHARACTERS_PER_TOKEN, TextCount, count_message_tokens
from preheat.canonical import canonical_json
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


def recent_window(
    turns: Sequence[Turn], *, max_tokens: int, max_turns: int, tool_output_tokens: int, count: TextCount
) -> int:
    """Return the `seq` of the first turn to keep; one past the last turn when nothing fits.

    Args:
        turns: A user's newest turns, oldest first.
        max_tokens: What the kept turns may take together, after trimming.
        max_turns: How many turns are kept at most.
        tool_output_tokens: What one tool output may take.
        count: Counts tokens.
    """
    start = turns[-1].seq + 1 if turns else 1
    used_tokens = 0
    used_turns = 0
    for group in reversed(exchanges(turns)):
        cut = (trimmed(turn, max_tokens=tool_output_tokens, count=count) for turn in group)
        group_tokens = sum(turn_tokens(turn, count=count) for turn in cut)
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
    """Keep the turns of one group whose calls and results are both there, each result once and after its call."""
    kept = {position for position, turn in enumerate(group) if turn.role != "tool" and not turn.tool_calls}
    waiting: dict[str, int] = {}
    results: defaultdict[int, list[int]] = defaultdict(list)
    for position, turn in enumerate(group):
        waiting |= {call.call_id: position for call in turn.tool_calls}
        caller = waiting.pop(turn.tool_call_id or "", None) if turn.role == "tool" else None
        if caller is not None:
            results[caller].append(position)
    for caller, answers in results.items():
        if len(answers) == len(group[caller].tool_calls):
            kept |= {caller, *answers}
    return [turn for position, turn in enumerate(group) if position in kept]


def trimmed(turn: Turn, *, max_tokens: int, count: TextCount) -> Turn:
    """Return the turn with an oversized tool output cut to head, marker and tail; others as they are."""
    if turn.role != "tool":
        return turn
    return replace(turn, content=shortened(turn.content, max_tokens=max_tokens, count=count))


def shortened(text: str, *, max_tokens: int, count: TextCount) -> str:
    """Return the text, or its head, a marker and its tail where it has more tokens.

    A text of more than `CHARACTERS_PER_TOKEN` characters a token is cut without counting it whole.
    """
    size, most = len(text), max_tokens * CHARACTERS_PER_TOKEN
    if size <= most and count(text) <= max_tokens:
        return text
    low, high = 0, min(size, most)
    while low < high:
        middle = (low + high + 1) // 2
        if count(_head_and_tail(text, middle)) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return _head_and_tail(text, low)


def _head_and_tail(text: str, keep: int) -> str:
    head = int(keep * _HEAD_SHARE)
    tail = keep - head
    return f"{text[:head]} [... {len(text) - keep} characters left out ...] {text[len(text) - tail :]}"


def turn_tokens(turn: Turn, *, count: TextCount) -> int:
    """Return what the turn takes in a prompt. Its own texts are counted apart from what is written around them."""
    around = count(result_text("")) if turn.role == "tool" else 0
    calls = sum(count(call_text(call.name, "")) + count(call.arguments) + 1 for call in turn.tool_calls)
    return count_message_tokens(turn.content, count=count) + around + calls


def call_text(name: str, arguments: str) -> str:
    """Return a tool call as the model reads and writes it. `arguments` is the JSON text."""
    return f'<tool_call>{{"name":{canonical_json(name.replace("/", "__"))},"arguments":{arguments}}}</tool_call>'


def result_text(content: str) -> str:
    """Return a tool's result as the model reads it."""
    return f"<tool_response>{content}</tool_response>"

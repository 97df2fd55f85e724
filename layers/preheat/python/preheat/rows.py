"""The stored form of what the records hold and what one write may hold: every adapter takes and compares the same.

The limits follow from DynamoDB: an item holds 400 KB with its names and keys, a transaction 4 MB and 100 items.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from preheat.agent import Profile
from preheat.canonical import canonical_json
from preheat.errors import InvalidInputError
from preheat.history import ToolCall
from preheat.ports import NewTurn
from preheat.preferences import PreferenceValue
from preheat.tools import Tool

# Each turn takes two items, and the counter one.
MAX_TURNS: Final = 40
MAX_TEXT_BYTES: Final = 300_000
MAX_CALLS_BYTES: Final = 90_000
MAX_BATCH_BYTES: Final = 3_500_000


def profile_document(profile: Profile) -> bytes:
    """Return the profile as canonical JSON in UTF-8.

    Raises:
        InvalidInputError: it holds text that UTF-8 cannot say.
    """
    return _utf8(canonical_json(asdict(profile)), field="profile")


def catalog_document(catalog: Sequence[Tool]) -> bytes:
    """Return the tools sorted by name as canonical JSON in UTF-8, equal for any order of the tools.

    Raises:
        InvalidInputError: it holds text that UTF-8 cannot say.
    """
    ordered = sorted(catalog, key=lambda tool: tool.name)
    return _utf8(canonical_json([asdict(tool) for tool in ordered]), field="catalog")


def checked_turns(turns: Sequence[NewTurn]) -> dict[str, NewTurn]:
    """Return the turns by their id, in order, the first one where an id is repeated.

    Raises:
        InvalidInputError: there are over `MAX_TURNS`, one is too large, or all together are.
    """
    if len(turns) > MAX_TURNS:
        raise InvalidInputError(f"at most {MAX_TURNS} turns are appended at once", field="turns")
    total_bytes = 0
    for position, turn in enumerate(turns):
        field = f"turns[{position}]"
        total_bytes += _size_bytes(turn.content, most=MAX_TEXT_BYTES, field=f"{field}.content")
        total_bytes += _size_bytes(calls_json(turn.tool_calls), most=MAX_CALLS_BYTES, field=f"{field}.tool_calls")
    if total_bytes > MAX_BATCH_BYTES:
        raise InvalidInputError(f"the turns take {total_bytes} bytes, at most {MAX_BATCH_BYTES}", field="turns")
    by_id: dict[str, NewTurn] = {}
    for turn in turns:
        by_id.setdefault(turn.turn_id, turn)
    return by_id


def calls_json(calls: Sequence[ToolCall]) -> str:
    """Return tool calls in the form in which they are stored."""
    return canonical_json([asdict(call) for call in calls])


def value_json(value: PreferenceValue) -> str:
    """Return a preference's value in the form in which it is stored and compared: `1`, `1.0` and `true` differ.

    Raises:
        InvalidInputError: the value is not a finite number, too large, or text that UTF-8 cannot say.
    """
    try:
        text = canonical_json(value)
    except ValueError as error:
        raise InvalidInputError("must be a finite number", field="value") from error
    _size_bytes(text, most=MAX_TEXT_BYTES, field="value")
    return text


def _size_bytes(text: str, *, most: int, field: str) -> int:
    size_bytes = len(_utf8(text, field=field))
    if size_bytes > most:
        raise InvalidInputError(f"takes {size_bytes} bytes, at most {most}", field=field)
    return size_bytes


def _utf8(text: str, *, field: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError("must be text without lone surrogates", field=field) from error

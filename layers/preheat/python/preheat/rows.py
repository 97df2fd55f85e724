"""The stored form of what the records hold and what one write may hold: every adapter takes and compares the same.

The limits follow from DynamoDB: an item holds 400 KB with its names and keys, a transaction 4 MB and 100 items.
"""

import zlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Final

from preheat.agent import Profile
from preheat.canonical import canonical_json
from preheat.errors import InvalidInputError, UserErasedError
from preheat.history import ToolCall
from preheat.ports import NewTurn
from preheat.preference_set import Mark, PreferenceSet, says_the_same
from preheat.preferences import NewPreference, PreferenceValue
from preheat.stamp import UserState
from preheat.tools import Tool

# Each turn takes two items, and the counter one.
MAX_TURNS: Final = 40
MAX_TEXT_BYTES: Final = 300_000
MAX_CALLS_BYTES: Final = 90_000
MAX_BATCH_BYTES: Final = 3_500_000
# Compressed: a preference set is one item, so that no reader meets half of a change.
MAX_SET_BYTES: Final = 390_000


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


def unless_erased(state: UserState, erase_ver: int | None) -> UserState:
    """Return the counters.

    Raises:
        UserErasedError: the user was erased since `erase_ver` was read; None where it does not matter.
    """
    if erase_ver is not None and state.erase_ver != erase_ver:
        raise UserErasedError("the user was erased in the meantime")
    return state


def calls_json(calls: Sequence[ToolCall]) -> str:
    """Return tool calls in the form in which they are stored."""
    return canonical_json([asdict(call) for call in calls])


def checked_value(value: PreferenceValue, *, field: str = "value") -> PreferenceValue:
    """Return a preference's value when it can be kept.

    Raises:
        InvalidInputError: the value is not a finite number, too large, or text that UTF-8 cannot say.
    """
    try:
        text = canonical_json(value)
    except ValueError as error:
        raise InvalidInputError("must be a finite number", field=field) from error
    _size_bytes(text, most=MAX_TEXT_BYTES, field=field)
    return value


def checked_preferences(wanted: Sequence[NewPreference]) -> Sequence[NewPreference]:
    """Return the preferences when each value can be kept.

    Raises:
        InvalidInputError: a value cannot be kept; `field` names it by its position.
    """
    for position, new in enumerate(wanted):
        checked_value(new.value, field=f"preferences.{position}.value")
    return wanted


def preference_document(kept: PreferenceSet) -> bytes:
    """Return the set as compressed canonical JSON in UTF-8.

    Raises:
        InvalidInputError: it is too large, or holds text that UTF-8 cannot say.
    """
    body = zlib.compress(_utf8(canonical_json(asdict(kept)), field="preferences"))
    if len(body) > MAX_SET_BYTES:
        raise InvalidInputError(f"all together take {len(body)} bytes, at most {MAX_SET_BYTES}", field="preferences")
    return body


def is_void(state: UserState, mark: Mark | None) -> bool:
    """Tell whether a change was made elsewhere before the user was erased."""
    return mark is not None and mark.time is not None and mark.time <= state.erased_at


def counters_after(state: UserState, before: PreferenceSet, after: PreferenceSet) -> UserState:
    """Return the user's counters after a change of the set: one more `pref_ver`, and `forget_ver` for deletions.

    What nobody is shown (drift, marks, tombstones) moves no counter.
    """
    if says_the_same(before, after):
        return state
    names = {one.name for one in after.preferences}
    forgotten = any(one.name not in names for one in before.preferences)
    return replace(state, pref_ver=state.pref_ver + 1, forget_ver=state.forget_ver + forgotten)


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

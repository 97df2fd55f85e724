"""Preferences in the records table: a user's whole set in one row, moved together with the user's counters.

One row is read at one moment, so no reader meets half of a change, however much it replaces; and no change is too large
for a transaction. The row and the counters hold the version of the last change that shows: a reader who meets a set
behind its counter has come between the two, since a transaction shows row by row for a moment, and reads again.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, TypedDict

from pydantic import TypeAdapter, ValidationError

from preheat import keys
from preheat.adapters.dynamodb_items import Fields, Key, user_state, user_state_key
from preheat.adapters.dynamodb_table import ABSENT, Table
from preheat.errors import ConflictError, SourceUnavailableError
from preheat.preference_set import (
    Mark,
    PreferenceSet,
    observable,
    with_observation,
    with_only,
    with_preference,
    without_preference,
)
from preheat.preferences import NewPreference, Preference, PreferenceName, PreferenceValue
from preheat.rows import checked_preferences, checked_value, counters_after, is_void, preference_document
from preheat.session import TenantId, UserId
from preheat.stamp import UserState

_SET: Final = TypeAdapter(PreferenceSet)
# In both rows: the `pref_ver` of the last change that shows. Counters that others move do not matter to it.
_SHOWN_VER: Final = "preferences_ver"
# In the set's row: counts every write, those that do not show too.
_REVISION: Final = "revision"

Change = Callable[[PreferenceSet, UserState], PreferenceSet]
"""Returns the set after a change that was made at these counters."""


@dataclass(frozen=True, slots=True)
class _Row:
    kept: PreferenceSet
    shown_ver: int
    revision: int


class PreferenceRows:
    """Reads and changes preference sets."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def list(self, tenant: TenantId, user: UserId) -> tuple[Preference, ...]:
        """Return the whole set, sorted by key, the general one before those of agents."""

        def attempt() -> tuple[Preference, ...]:
            state_row, fields = self._table.get(user_state_key(tenant, user), _set_key(tenant, user))
            if fields is None:
                return ()
            row = _read(fields)
            if row.shown_ver < _shown_ver(state_row):
                raise ConflictError("the set is behind its counter")
            return row.kept.preferences

        try:
            return self._table.until_committed(attempt)
        except ConflictError as error:
            raise SourceUnavailableError("the preferences stay behind their counter") from error

    def set(self, tenant: TenantId, user: UserId, *, new: NewPreference, now: float, mark: Mark | None) -> UserState:
        """Set one preference and move `pref_ver`, unless it says the same already or is not newer."""
        checked_value(new.value)

        def change(kept: PreferenceSet, state: UserState) -> PreferenceSet:
            if is_void(state, mark):
                return kept
            return with_preference(kept, new, version=state.pref_ver + 1, now=now, mark=mark)

        return self._change(tenant, user, change)[0]

    def delete(
        self, tenant: TenantId, user: UserId, *, name: PreferenceName, now: float, mark: Mark | None
    ) -> UserState:
        """Delete one preference and move both counters, unless it is not there or the change is not newer."""

        def change(kept: PreferenceSet, state: UserState) -> PreferenceSet:
            return kept if is_void(state, mark) else without_preference(kept, name, now=now, mark=mark)

        return self._change(tenant, user, change)[0]

    def replace(self, tenant: TenantId, user: UserId, *, wanted: Sequence[NewPreference], now: float) -> UserState:
        """Make the set exactly `wanted`; moves each counter by one at most."""
        checked = checked_preferences(wanted)

        def change(kept: PreferenceSet, state: UserState) -> PreferenceSet:
            return with_only(kept, checked, version=state.pref_ver + 1, now=now)

        return self._change(tenant, user, change)[0]

    def observe(self, tenant: TenantId, user: UserId, *, name: PreferenceName, value: PreferenceValue) -> Preference:
        """Count behaviour against a preference; moves no counter."""
        checked = checked_value(value)
        _, kept = self._change(tenant, user, lambda before, _: with_observation(before, name, checked))
        return observable(kept, name).preference

    def _change(self, tenant: TenantId, user: UserId, change: Change) -> tuple[UserState, PreferenceSet]:
        """Return the counters and the set after a change, made again while it loses to other writers.

        Raises:
            ConflictError: it lost every time.
        """
        state_key, set_key = user_state_key(tenant, user), _set_key(tenant, user)

        def attempt() -> tuple[UserState, PreferenceSet]:
            state_row, fields = self._table.get(state_key, set_key)
            state = user_state(state_row)
            row = _read(fields) if fields else _Row(PreferenceSet(), _shown_ver(state_row), revision=0)
            kept = change(row.kept, state)
            after = counters_after(state, row.kept, kept)
            if after == state:
                if kept != row.kept:
                    self._write(state_key, set_key, replace(row, kept=kept), state=state)
                # Once more: counters read beside a row may be older than the row.
                (state_row,) = self._table.get(state_key)
                return user_state(state_row), kept
            if not fields:
                # There before its counter moves: a reader must tell a set that is behind from one never written.
                self._write(state_key, set_key, row, state=state)
                row = replace(row, revision=1)
            shown = {_SHOWN_VER: after.pref_ver}
            moving = self._table.moving(state_key, seen=asdict(state), to={**asdict(after), **shown})
            written = replace(row, kept=kept, shown_ver=after.pref_ver)
            self._table.commit([moving, self._table.putting(set_key, _fields(written), **_as_seen(row))])
            return after, kept

        return self._table.until_committed(attempt)

    def _write(self, state_key: Key, set_key: Key, row: _Row, *, state: UserState) -> None:
        """Write what shows nowhere; a first row only while the user is not erased."""
        if row.revision:
            self._table.put(set_key, _fields(row), **_as_seen(row))
            return
        alive = self._table.checking(state_key, seen={"erase_ver": state.erase_ver})
        self._table.commit([alive, self._table.putting(set_key, _fields(row), **_as_seen(row))])


def _set_key(tenant: TenantId, user: UserId) -> Key:
    return keys.user_partition(tenant, user), keys.PREFERENCES


class _Condition(TypedDict):
    condition: str
    values: Fields


def _as_seen(row: _Row) -> _Condition:
    """Return the condition that the row is still the one that was read, there or not."""
    if not row.revision:
        return _Condition(condition=ABSENT, values={})
    return _Condition(condition=f"{_REVISION} = :{_REVISION}", values={_REVISION: row.revision})


def _fields(row: _Row) -> Fields:
    """Return the row's next revision."""
    return {"body": preference_document(row.kept), _SHOWN_VER: row.shown_ver, _REVISION: row.revision + 1}


def _shown_ver(fields: Fields | None) -> int:
    version = fields.get(_SHOWN_VER) if fields else None
    return version if isinstance(version, int) else 0


def _read(fields: Fields) -> _Row:
    body, revision = fields.get("body"), fields.get(_REVISION)
    if not isinstance(body, bytes) or not isinstance(revision, int):
        raise SourceUnavailableError("a stored row is not of this schema")
    try:
        return _Row(_SET.validate_json(zlib.decompress(body)), _shown_ver(fields), revision)
    except (zlib.error, ValidationError) as error:
        raise SourceUnavailableError("a stored row is not of this schema") from error

"""Preferences in the records table: one row per key, moved together with the user's counter."""

import json
from dataclasses import asdict, replace
from typing import Final

from pydantic import TypeAdapter

from preheat import keys
from preheat.adapters.dynamodb_items import Fields, Key, checked, user_state, user_state_key
from preheat.adapters.dynamodb_table import ABSENT, Table
from preheat.errors import SourceUnavailableError
from preheat.preferences import Preference, PreferenceValue
from preheat.rows import value_json
from preheat.session import TenantId, UserId
from preheat.stamp import UserState

_PREFERENCE: Final = TypeAdapter(Preference)


class PreferenceRows:
    """Reads and writes preferences. Values are stored as canonical JSON: `1`, `1.0` and `true` stay apart."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def list(self, tenant: TenantId, user: UserId) -> tuple[Preference, ...]:
        """Return the whole set, sorted by key."""
        rows = self._table.query(keys.user_partition(tenant, user), prefix=keys.PREFERENCE_PREFIX)
        return tuple(_preference(row) for row in rows)

    def set(self, tenant: TenantId, user: UserId, *, key: str, value: PreferenceValue, now: float) -> UserState:
        """Set one preference and move `pref_ver`, unless it already has the value."""
        state_key, row_key = _keys(tenant, user, key)
        text = value_json(value)

        def attempt() -> UserState:
            state_row, row = self._table.get(state_key, row_key)
            if row is not None and row.get("value") == text:
                return self._read_state(state_key)
            before = user_state(state_row)
            after = replace(before, pref_ver=before.pref_ver + 1)
            fields: Fields = {"key": key, "value": text, "version": after.pref_ver, "updated_at": float(now)}
            condition, values = _as_read(row)
            write = self._table.putting(row_key, fields, condition=condition, values=values)
            self._table.commit([self._table.moving(state_key, seen=asdict(before), to=asdict(after)), write])
            return after

        return self._table.until_committed(attempt)

    def delete(self, tenant: TenantId, user: UserId, *, key: str) -> UserState:
        """Delete one preference and move `pref_ver` and `forget_ver`, unless it is not there."""
        state_key, row_key = _keys(tenant, user, key)

        def attempt() -> UserState:
            state_row, row = self._table.get(state_key, row_key)
            if row is None:
                return self._read_state(state_key)
            before = user_state(state_row)
            after = replace(before, pref_ver=before.pref_ver + 1, forget_ver=before.forget_ver + 1)
            condition, values = _as_read(row)
            write = self._table.deleting(row_key, condition=condition, values=values)
            self._table.commit([self._table.moving(state_key, seen=asdict(before), to=asdict(after)), write])
            return after

        return self._table.until_committed(attempt)

    def _read_state(self, state_key: Key) -> UserState:
        """Return the counters once more: those read beside the row may be older than the row."""
        (row,) = self._table.get(state_key)
        return user_state(row)


def _keys(tenant: TenantId, user: UserId, key: str) -> tuple[Key, Key]:
    return user_state_key(tenant, user), (keys.user_partition(tenant, user), keys.preference_sort(key))


def _as_read(row: Fields | None) -> tuple[str, Fields]:
    return (ABSENT, {}) if row is None else ("version = :version", {"version": row["version"]})


def _preference(row: Fields) -> Preference:
    try:
        value = json.loads(str(row.get("value")))
    except ValueError as error:
        raise SourceUnavailableError("a stored row is not of this schema") from error
    return checked(_PREFERENCE, {**row, "value": value})

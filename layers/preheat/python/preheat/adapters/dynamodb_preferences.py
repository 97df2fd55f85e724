"""Preferences in the records table: one row per key, moved together with the user's counter."""

import json
from typing import Final

from pydantic import TypeAdapter

from preheat import keys
from preheat.adapters.dynamodb_items import Fields, checked, user_state, user_state_key
from preheat.adapters.dynamodb_table import Table
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
        state_key = user_state_key(tenant, user)
        row_key = (keys.user_partition(tenant, user), keys.preference_sort(key))
        text = value_json(value)

        def attempt() -> UserState:
            state_row, row = self._table.snapshot(state_key, row_key)
            before = user_state(state_row)
            if row is not None and row.get("value") == text:
                return before
            pref_ver = before.pref_ver + 1
            self._table.commit(
                [
                    self._table.moving(
                        state_key, counters={"pref_ver": pref_ver}, guard="pref_ver", seen=before.pref_ver
                    ),
                    self._table.putting(
                        row_key, {"key": key, "value": text, "version": pref_ver, "updated_at": float(now)}
                    ),
                ]
            )
            return UserState(before.forget_ver, pref_ver, before.hist_seq)

        return self._table.until_committed(attempt)

    def delete(self, tenant: TenantId, user: UserId, *, key: str) -> UserState:
        """Delete one preference and move `pref_ver` and `forget_ver`, unless it is not there."""
        state_key = user_state_key(tenant, user)
        row_key = (keys.user_partition(tenant, user), keys.preference_sort(key))

        def attempt() -> UserState:
            state_row, row = self._table.snapshot(state_key, row_key)
            before = user_state(state_row)
            if row is None:
                return before
            after = UserState(before.forget_ver + 1, before.pref_ver + 1, before.hist_seq)
            counters = {"pref_ver": after.pref_ver, "forget_ver": after.forget_ver}
            self._table.commit(
                [
                    self._table.moving(state_key, counters=counters, guard="pref_ver", seen=before.pref_ver),
                    self._table.deleting(row_key),
                ]
            )
            return after

        return self._table.until_committed(attempt)


def _preference(row: Fields) -> Preference:
    try:
        value = json.loads(str(row.get("value")))
    except ValueError as error:
        raise SourceUnavailableError("a stored row is not of this schema") from error
    return checked(_PREFERENCE, {**row, "value": value})

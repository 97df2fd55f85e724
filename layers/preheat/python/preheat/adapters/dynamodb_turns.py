"""The turn log in the records table: one row per turn, one per client id, and the counter, in one transaction."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Final

from pydantic import TypeAdapter

from preheat import keys
from preheat.adapters.dynamodb_items import Fields, Key, checked, user_state, user_state_key
from preheat.adapters.dynamodb_table import ABSENT, Table
from preheat.errors import SourceUnavailableError
from preheat.history import Turn
from preheat.ports import NewTurn, TurnPage
from preheat.rows import calls_json, checked_turns, unless_erased
from preheat.session import TenantId, UserId
from preheat.stamp import UserState

_TURN: Final = TypeAdapter(Turn)


class TurnRows:
    """Appends and reads turns. Every append is guarded by the counters, which is why rows have no gaps."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def append(
        self, tenant: TenantId, user: UserId, *, turns: Sequence[NewTurn], erase_ver: int | None = None
    ) -> UserState:
        """Append the turns whose ids are not known yet, in order, all or none.

        Raises:
            UserErasedError: `erase_ver` is given and has moved.
        """
        partition = keys.user_partition(tenant, user)
        state_key = user_state_key(tenant, user)
        by_id = checked_turns(turns)
        id_keys: list[Key] = [(partition, keys.turn_id_sort(turn_id)) for turn_id in by_id]

        def attempt() -> UserState:
            state_row, *known = self._table.get(state_key, *id_keys)
            new = [turn for turn, row in zip(by_id.values(), known, strict=True) if row is None]
            if not new:
                # Once more: counters read beside rows may be older than the rows.
                (state_row,) = self._table.get(state_key)
                return unless_erased(user_state(state_row), erase_ver)
            before = unless_erased(user_state(state_row), erase_ver)
            after = replace(before, hist_seq=before.hist_seq + len(new))
            writes = [self._table.moving(state_key, seen=asdict(before), to=asdict(after))]
            for seq, turn in enumerate(new, start=before.hist_seq + 1):
                id_key = (partition, keys.turn_id_sort(turn.turn_id))
                writes.append(self._table.putting(id_key, {"seq": seq}, condition=ABSENT))
                writes.append(self._table.putting((partition, keys.turn_sort(seq)), _fields(seq, turn)))
            self._table.commit(writes)
            return after

        return self._table.until_committed(attempt)

    def newest(self, tenant: TenantId, user: UserId, *, limit: int) -> tuple[Turn, ...]:
        """Return the newest turns, oldest first."""
        rows = self._table.query(
            keys.user_partition(tenant, user), prefix=keys.TURN_PREFIX, newest_first=True, limit=limit
        )
        return tuple(_turn(row) for row in rows)[::-1]

    def since(self, tenant: TenantId, user: UserId, *, first_seq: int) -> tuple[Turn, ...]:
        """Return the turns from `first_seq` on, oldest first."""
        rows = self._table.query(
            keys.user_partition(tenant, user), prefix=keys.TURN_PREFIX, first=keys.turn_sort(max(first_seq, 0))
        )
        return tuple(_turn(row) for row in rows)

    def page(self, tenant: TenantId, user: UserId, *, after: int, limit: int) -> TurnPage:
        """Return at most `limit` turns after the one numbered `after`, oldest first, by one query."""
        rows, more = self._table.page(
            keys.user_partition(tenant, user), prefix=keys.TURN_PREFIX, first=keys.turn_sort(after + 1), limit=limit
        )
        turns = tuple(_turn(row) for row in rows)
        return TurnPage(turns, turns[-1].seq if turns and more else None)


def _fields(seq: int, turn: NewTurn) -> Fields:
    return {
        "seq": seq,
        "turn_id": turn.turn_id,
        "session": turn.session,
        "role": turn.role,
        "content": turn.content,
        "tool_calls": calls_json(turn.tool_calls) if turn.tool_calls else None,
        "tool_call_id": turn.tool_call_id,
    }


def _turn(row: Fields) -> Turn:
    try:
        calls = json.loads(str(row.get("tool_calls", "[]")))
    except ValueError as error:
        raise SourceUnavailableError("a stored row is not of this schema") from error
    return checked(_TURN, {**row, "tool_calls": calls})

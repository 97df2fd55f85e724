"""Removes a user's rows from the records table, all but the counters.

Nobody is locked out while rows go. Instead the counters move before rows are listed, and again until a listing finds
none of before: whoever read rows that went had read counters that have moved, and whoever reads the last counters finds
none of them. What is written meanwhile counts as written after the erasure when it is newer than the second move, and
else goes too, so that a user to whom somebody writes all the time is erased as well.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from threading import Event
from typing import Final

from preheat import keys, names
from preheat.adapters.dynamodb_items import Fields, user_state, user_state_key
from preheat.adapters.dynamodb_table import KEYS_PER_REMOVAL, Table
from preheat.errors import ConflictError, SourceUnavailableError
from preheat.ports import Erased
from preheat.session import TenantId, UserId
from preheat.stamp import UserState

_AT_ONCE: Final = 8
# Two when nobody writes to the user: one that finds all, one that finds nothing.
_ROUNDS: Final = 10
# Less than a caller waits for an answer: what is left then is left to the next call.
_BUDGET_S: Final = 10.0
# Which field of a row says at which of the user's counters it was written.
_WRITTEN_AT: Final = {"turns": "seq", "turn_ids": "seq", "preferences": "preferences_ver", "frozen": "forget_ver"}


class UserRows:
    """Erases users. `sleep` waits for the given seconds, `clock` gives seconds that only grow."""

    def __init__(
        self, table: Table, *, sleep: Callable[[float], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._table = table
        self._sleep = sleep
        self._clock = clock

    def erase(self, tenant: TenantId, user: UserId, *, now: float, settle_s: float, kept_until: float) -> Erased:
        """Remove all rows but the counters, and let these expire unless the user comes back.

        Raises:
            ConflictError: others write to the user again and again.
        """
        deadline = self._clock() + _BUDGET_S
        gone: list[str] = []
        since: UserState | None = None
        for count in range(_ROUNDS):
            state = self._move(tenant, user, now)
            if count:
                since = since or state
                # A transaction that was committed just before shows row by row: its rows may come after the counters.
                self._sleep(settle_s)
            found, removed = self._sweep(tenant, user, since=since, state=state, deadline=deadline)
            gone += removed
            if len(removed) < found:
                return Erased(tuple(sorted(gone)), complete=False)
            if count and not found:
                self._let_expire(tenant, user, state, at=kept_until)
                return Erased(tuple(sorted(gone)), complete=True)
        raise ConflictError("others write to the user while it is erased")

    def _move(self, tenant: TenantId, user: UserId, now: float) -> UserState:
        state_key, counters = user_state_key(tenant, user), ("forget_ver", "erase_ver")
        to = {"erased_at": float(now)}
        return user_state(self._table.until_committed(lambda: self._table.advance(state_key, counters=counters, to=to)))

    def _sweep(
        self, tenant: TenantId, user: UserId, *, since: UserState | None, state: UserState, deadline: float
    ) -> tuple[int, list[str]]:
        """Remove rows; return how many there were to remove, and the sort keys of those that are gone for certain.

        Args:
            tenant: Of the user.
            user: Whose rows.
            since: What was written after these counters stays. None: nothing stays.
            state: The counters now; what sessions froze at earlier ones never stays.
            deadline: On the clock.
        """
        partition, stop = keys.user_partition(tenant, user), Event()

        def remove(sort_keys: Sequence[str]) -> Sequence[str]:
            if stop.is_set() or self._clock() > deadline:
                return ()
            try:
                self._table.remove([(partition, sort_key) for sort_key in sort_keys])
            except (ConflictError, SourceUnavailableError):
                stop.set()
                return ()
            return sort_keys

        found = 0
        flights: list[Future[Sequence[str]]] = []
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="preheat-erase") as threads:
            for page in self._table.list(partition, *dict.fromkeys(_WRITTEN_AT.values())):
                rows = [str(row[names.SORT_KEY]) for row in page if not _stays(row, since=since, state=state)]
                found += len(rows)
                flights += [
                    threads.submit(remove, rows[start : start + KEYS_PER_REMOVAL])
                    for start in range(0, len(rows), KEYS_PER_REMOVAL)
                ]
        return found, [sort_key for flight in flights for sort_key in flight.result()]

    def _let_expire(self, tenant: TenantId, user: UserId, state: UserState, *, at: float) -> None:
        try:
            self._table.update(
                user_state_key(tenant, user), seen=asdict(state), to={names.TTL_ATTRIBUTE: math.ceil(at)}
            )
        except ConflictError:
            return  # the user is back already, so the counters stay


def _stays(row: Fields, *, since: UserState | None, state: UserState) -> bool:
    sort_key = str(row[names.SORT_KEY])
    if sort_key == keys.STATE or since is None:
        return sort_key == keys.STATE
    kind = keys.row_kind(sort_key)
    written_at = row.get(_WRITTEN_AT.get(kind, ""))
    last = {"turns": since.hist_seq, "turn_ids": since.hist_seq, "preferences": since.pref_ver}
    last["frozen"] = state.forget_ver - 1
    return isinstance(written_at, int) and written_at > last[kind]

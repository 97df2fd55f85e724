"""Removes a user's rows from the records table, all but the counters.

Nobody is locked out while rows go. Instead the counters move before rows are listed, and again until a listing finds
nothing: whoever read rows that went had read counters that have moved, and whoever reads the last counters finds none
of them.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from threading import Event
from typing import Final

from preheat import keys, names
from preheat.adapters.dynamodb_items import user_state, user_state_key
from preheat.adapters.dynamodb_table import KEYS_PER_REMOVAL, Table
from preheat.errors import ConflictError, SourceUnavailableError
from preheat.ports import Erased
from preheat.session import TenantId, UserId
from preheat.stamp import UserState

_AT_ONCE: Final = 8
# Two are enough when nobody writes to the user: one that finds all, one that finds nothing.
_ROUNDS: Final = 10
# Less than a caller waits for an answer: what is left then is left to the next call.
_BUDGET_S: Final = 10.0


class UserRows:
    """Erases users. `clock` gives seconds that only grow."""

    def __init__(self, table: Table, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._table = table
        self._clock = clock

    def erase(self, tenant: TenantId, user: UserId, *, now: float, kept_until: float) -> Erased:
        """Remove all rows but the counters, and let these expire unless the user comes back.

        Raises:
            ConflictError: others write to the user again and again.
        """
        deadline = self._clock() + _BUDGET_S
        state_key = user_state_key(tenant, user)
        gone: list[str] = []
        for _ in range(_ROUNDS):
            row = self._table.advance(state_key, counters=("forget_ver", "erase_ver"), to={"erased_at": float(now)})
            found, removed = self._sweep(keys.user_partition(tenant, user), deadline)
            gone += removed
            if len(removed) < found:
                return Erased(tuple(sorted(gone)), complete=False)
            if not found:
                self._let_expire(tenant, user, user_state(row), at=kept_until)
                return Erased(tuple(sorted(gone)), complete=True)
        raise ConflictError("others write to the user while it is erased")

    def _sweep(self, partition: str, deadline: float) -> tuple[int, list[str]]:
        """Remove all rows; return how many there were, and the sort keys of those that are gone for certain."""
        stop = Event()

        def remove(sort_keys: Sequence[str]) -> Sequence[str]:
            if stop.is_set() or self._clock() > deadline:
                return ()
            try:
                self._table.remove([(partition, sort_key) for sort_key in sort_keys])
            except SourceUnavailableError:
                stop.set()
                return ()
            return sort_keys

        found = 0
        flights: list[Future[Sequence[str]]] = []
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="preheat-erase") as threads:
            for page in self._table.sort_keys(partition):
                rows = [sort_key for sort_key in page if sort_key != keys.STATE]
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

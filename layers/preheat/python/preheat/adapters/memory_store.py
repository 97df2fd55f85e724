"""The warm store's fake: one tier in this process, with the sealed bytes in reach so that tests can harm them."""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from preheat.envelope import seal, unseal_live
from preheat.keys import WarmKey, owner_of, user_partition
from preheat.ports import Entry
from preheat.session import TenantId, UserId

if TYPE_CHECKING:
    from preheat.errors import StoreUnavailableError


class MemoryWarmStore:
    """Keeps sealed entries in a dictionary. Safe to share between threads.

    Attributes:
        sealed: Key to bytes as `preheat.envelope.seal` wrote them; a test may put others there.
        reads: Calls of `get_many` that name a key: what would be calls to a server.
        writes: Calls of `put`, `add` and `erase_user`, and of `delete` that name a key.
        corrupt: Entries read that were not what was written.
        fault: Raised by every call while it is set, as a tier out of reach would.
    """

    def __init__(self) -> None:
        self.sealed: dict[WarmKey, bytes] = {}
        self.reads = 0
        self.writes = 0
        self.corrupt = 0
        self.fault: StoreUnavailableError | None = None
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[WarmKey], *, now: float) -> Mapping[WarmKey, Entry]:
        """Return the entries that are there, whole and not expired."""
        if not keys:
            return {}
        with self._lock:
            self.reads += 1
            self._fail_on_demand()
            found = [(key, self.sealed[key]) for key in dict.fromkeys(keys) if key in self.sealed]
            live, corrupt = unseal_live(found, now=now)
            self.corrupt += corrupt
            return live

    def put(self, entry: Entry, *, now: float) -> bool:
        """Store the entry unless a newer, live one is there or it has already expired."""
        sealed = seal(entry)
        with self._lock:
            held = self._held_for_write(entry.key, now=now)
            if entry.expires_at <= now or (held is not None and held.order > entry.order):
                return False
            self.sealed[entry.key] = sealed
            return True

    def add(self, entry: Entry, *, now: float) -> bool:
        """Store the entry only when no live one is there and it has not already expired."""
        sealed = seal(entry)
        with self._lock:
            held = self._held_for_write(entry.key, now=now)
            if entry.expires_at <= now or held is not None:
                return False
            self.sealed[entry.key] = sealed
            return True

    def delete(self, keys: Sequence[WarmKey]) -> None:
        """Remove the entries."""
        if not keys:
            return
        with self._lock:
            self.writes += 1
            self._fail_on_demand()
            for key in keys:
                self.sealed.pop(key, None)

    def erase_user(self, tenant: TenantId, user: UserId) -> Mapping[str, frozenset[WarmKey]]:
        """Remove all entries of a user, expired ones too; return the keys removed, under this tier's name."""
        with self._lock:
            self.writes += 1
            self._fail_on_demand()
            held = frozenset(key for key in self.sealed if owner_of(key) == user_partition(tenant, user))
            for key in held:
                del self.sealed[key]
            return {"memory": held}

    def faults(self, *, now: float) -> tuple[str, ...]:  # noqa: ARG002  # the port's shape
        """Return nothing: one tier alone keeps no record of faults, its calls raise."""
        return ()

    def _held_for_write(self, key: WarmKey, *, now: float) -> Entry | None:
        self.writes += 1
        self._fail_on_demand()
        live, _ = unseal_live([(key, self.sealed[key])] if key in self.sealed else [], now=now)
        return live.get(key)

    def _fail_on_demand(self) -> None:
        if self.fault is not None:
            raise self.fault

"""Several tiers as one warm store: the fast one first, the lasting one last, and none of them needed.

A tier that fails is left out for a while, then tried by one call. No entry is copied from a later tier into an earlier
one: whoever changes a session writes all tiers again, and a copy would cost a call for every key that is nowhere.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from preheat.errors import EraseIncompleteError, PreheatError, StoreUnavailableError
from preheat.keys import WarmKey
from preheat.ports import Clock, Entry, WarmStore
from preheat.session import TenantId, UserId

_Result = TypeVar("_Result")


class TieredWarmStore:
    """Reads from the first tier that serves, writes to all of them.

    A tier can lag behind another one after a fault. That cannot make an answer stale: readers compare every entry's
    stamp with the counters, and what differs is built again and written to all tiers.
    """

    def __init__(
        self,
        tiers: Sequence[tuple[str, WarmStore]],
        *,
        clock: Clock,
        on_fault: Callable[[str, PreheatError], None],
        cool_down_s: float = 5.0,
    ) -> None:
        """Take the tiers as they are; nothing is called.

        Args:
            tiers: Names and stores, the fastest first, the one that decides claims last. At least one.
            clock: Tells when a cool-down is over.
            on_fault: Called with a tier's name and its error each time a call to it has failed.
            cool_down_s: How long a tier is left out after a fault, in seconds.

        Raises:
            ValueError: there are no tiers.
        """
        if not tiers:
            raise ValueError("a tiered store needs at least one tier")
        self._tiers = tuple(_Tier(name, store, cool_down_s=cool_down_s) for name, store in tiers)
        self._clock = clock
        self._on_fault = on_fault

    def get_many(self, keys: Sequence[WarmKey], *, now: float) -> Mapping[WarmKey, Entry]:
        """Return the entries that are there, whole and not expired.

        One call when the first tier holds them all. Keys that it does not hold are looked up in the next.

        Raises:
            StoreUnavailableError: no tier answered.
        """
        found: dict[WarmKey, Entry] = {}
        missing = tuple(dict.fromkeys(keys))
        faults: list[StoreUnavailableError] = []
        for tier in self._tiers:
            if not missing:
                break
            try:
                found.update(self._ask(tier, partial(tier.store.get_many, missing, now=now)))
            except StoreUnavailableError as error:
                faults.append(error)
            missing = tuple(key for key in missing if key not in found)
        self._raise_if_all_failed(faults)
        return found

    def put(self, entry: Entry, *, now: float) -> bool:
        """Store the entry in every tier unless a newer, live one is there; tell whether any tier stored it.

        The last tier is written first: whatever an earlier tier serves can also be found in the one that outlives it,
        and where a later tier holds a newer entry, the earlier ones are spared this one.

        Raises:
            EntryTooLargeError: the body is over `preheat.envelope.MAX_BODY_BYTES`.
            StoreUnavailableError: no tier took the call.
        """
        stored = False
        faults: list[StoreUnavailableError] = []
        for tier in reversed(self._tiers):
            try:
                taken = self._ask(tier, partial(tier.store.put, entry, now=now))
            except StoreUnavailableError as error:
                faults.append(error)
                continue
            if not taken:
                break
            stored = True
        self._raise_if_all_failed(faults)
        return stored

    def add(self, entry: Entry, *, now: float) -> bool:
        """Store the entry in the last tier only when no live one is there: one judge, or two callers could win.

        Raises:
            StoreUnavailableError: the last tier failed; the others are not asked.
        """
        judge = self._tiers[-1]
        return self._ask(judge, partial(judge.store.add, entry, now=now))

    def delete(self, keys: Sequence[WarmKey]) -> None:
        """Remove the entries from every tier, those in their cool-down too: what must go is worth the wait.

        Raises:
            StoreUnavailableError: a tier failed and may still hold them; the others were asked all the same.
        """
        faults: list[StoreUnavailableError] = []
        for tier in self._tiers:
            try:
                self._call(tier, partial(tier.store.delete, keys))
            except StoreUnavailableError as error:
                faults.append(error)
        if faults:
            raise StoreUnavailableError(f"not deleted everywhere: {'; '.join(map(str, faults))}") from faults[0]

    def erase_user(self, tenant: TenantId, user: UserId) -> Mapping[str, frozenset[WarmKey]]:
        """Remove all entries of a user from every tier, those in their cool-down too; return the keys removed, by tier.

        The last tier goes first: an earlier one may have lost track of entries, and is told all keys of the last.

        Raises:
            EraseIncompleteError: a tier, named, failed and may still hold entries; the others were asked all the same.
        """
        gone: dict[str, frozenset[WarmKey]] = {}
        faults: list[StoreUnavailableError] = []
        known: frozenset[WarmKey] = frozenset()
        for tier in reversed(self._tiers):
            try:
                removed = self._call(tier, partial(tier.store.erase_user, tenant, user))
                keys = frozenset[WarmKey]().union(*removed.values())
                self._call(tier, partial(tier.store.delete, sorted(known - keys)))
            except StoreUnavailableError as error:
                faults.append(error)
                continue
            gone[tier.name] = keys
            known |= keys
        if faults:
            counts = {name: len(removed) for name, removed in gone.items()}
            left = [tier.name for tier in self._tiers if tier.name not in gone]
            told = "; ".join(map(str, faults))
            raise EraseIncompleteError(f"not erased everywhere: {told}", left=left, erased=counts) from faults[0]
        return gone

    def faults(self, *, now: float) -> tuple[str, ...]:
        """Return the names of the tiers in their cool-down, the first tier first."""
        return tuple(tier.name for tier in self._tiers if tier.rests(now))

    def _ask(self, tier: "_Tier", call: Callable[[], _Result]) -> _Result:
        """Make a call unless the tier is in its cool-down."""
        if not tier.admits(self._clock.now()):
            raise StoreUnavailableError(f"{tier.name} is left out after a fault")
        return self._call(tier, call)

    def _call(self, tier: "_Tier", call: Callable[[], _Result]) -> _Result:
        try:
            result = call()
        except StoreUnavailableError as error:
            tier.failed(self._clock.now())
            self._on_fault(tier.name, error)
            raise StoreUnavailableError(f"{tier.name}: {error}") from error
        tier.served()
        return result

    def _raise_if_all_failed(self, faults: Sequence[StoreUnavailableError]) -> None:
        if len(faults) == len(self._tiers):
            raise StoreUnavailableError(f"no tier serves: {'; '.join(map(str, faults))}") from faults[0]


class _Tier:
    """One tier and its circuit breaker. Times are epoch seconds."""

    def __init__(self, name: str, store: WarmStore, *, cool_down_s: float) -> None:
        self.name = name
        self.store = store
        self._cool_down_s = cool_down_s
        self._rests_until: float | None = None
        self._lock = threading.Lock()

    def rests(self, now: float) -> bool:
        """Tell whether the tier is in its cool-down."""
        until = self._rests_until
        return until is not None and now < until

    def admits(self, now: float) -> bool:
        """Tell whether a call may be made; after a cool-down that is one call, the others wait for what it finds."""
        with self._lock:
            if self._rests_until is None:
                return True
            if now < self._rests_until:
                return False
            self._rests_until = now + self._cool_down_s
            return True

    def failed(self, now: float) -> None:
        """Start a cool-down."""
        with self._lock:
            self._rests_until = now + self._cool_down_s

    def served(self) -> None:
        """End the cool-down: the tier answered."""
        with self._lock:
            self._rests_until = None

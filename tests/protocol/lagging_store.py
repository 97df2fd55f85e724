"""A warm store that is as bad as a cache can be: it answers late, or with nothing, and forgets."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from preheat.keys import WarmKey
from preheat.ports import Entry, WarmStore
from preheat.session import TenantId, UserId

_REMEMBERED: Final = 6
# A read that finds nothing, however much is there.
NOTHING: Final = _REMEMBERED


class Past:
    """What was stored under each key, the newest last."""

    def __init__(self) -> None:
        self._entries: defaultdict[WarmKey, deque[Entry]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def keep(self, entry: Entry) -> None:
        self._entries[entry.key].append(entry)

    def before(self, key: WarmKey, *, lag: int, now: float) -> Entry | None:
        """Return the entry that `lag` later ones have followed, if it has not expired."""
        entries = self._entries[key]
        entry = entries[-1 - lag] if lag < len(entries) else None
        return entry if entry is not None and entry.expires_at > now else None


@dataclass(frozen=True, slots=True)
class LaggingStore:
    """`preheat.ports.WarmStore` whose reads lag behind.

    Attributes:
        inner: What it wraps.
        past: Shared by all that wrap the same store.
        lags: How many writes the reads of each key stay behind, the first key first; then again from the first.
    """

    inner: WarmStore
    past: Past
    lags: tuple[int, ...] = (0,)

    def get_many(self, keys: Sequence[WarmKey], *, now: float) -> Mapping[WarmKey, Entry]:
        """Return the entries of some time ago, whole and not expired."""
        live = self.inner.get_many(keys, now=now)
        found: dict[WarmKey, Entry] = {}
        for number, key in enumerate(keys):
            lag = self.lags[number % len(self.lags)]
            entry = self.past.before(key, lag=lag, now=now) if lag else live.get(key)
            if entry is not None:
                found[key] = entry
        return found

    def put(self, entry: Entry, *, now: float) -> bool:
        """Store the entry unless a newer, live one is there."""
        self.past.keep(entry)
        return self.inner.put(entry, now=now)

    def add(self, entry: Entry, *, now: float) -> bool:
        """Store the entry only when no live one is there: the judge of claims does not lag."""
        return self.inner.add(entry, now=now)

    def delete(self, keys: Sequence[WarmKey]) -> None:
        """Remove the entries."""
        self.inner.delete(keys)

    def erase_user(self, tenant: TenantId, user: UserId) -> Mapping[str, frozenset[WarmKey]]:
        """Remove all entries of a user; late reads may still return them."""
        return self.inner.erase_user(tenant, user)

    def faults(self, *, now: float) -> tuple[str, ...]:
        """Return the tiers out of service."""
        return self.inner.faults(now=now)

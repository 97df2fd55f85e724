"""A session's warm entries: its bundle, the receipt for its prefix, the claim on its warm-up."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from preheat import keys
from preheat.bundle import Bundle
from preheat.errors import EntryCorruptError, StoreUnavailableError
from preheat.keys import WarmKey
from preheat.ports import Entry, Ports
from preheat.prefill import RENDERER, Receipt
from preheat.session import Scope
from preheat.stored import dump_bundle, dump_receipt, load_bundle, load_receipt

Stored = TypeVar("Stored")
# Seconds. What is kept on counters that held at a moment is in its place this long after it, or else they are read
# again; so who moves them need only wait as long to find all that was kept before.
SETTLE_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class WarmState:
    """What the warm store holds of a session. What cannot be read counts as absent."""

    bundle: Bundle | None = None
    receipt: Receipt | None = None


def look_up(scope: Scope, ports: Ports) -> WarmState:
    """Read bundle and receipt in one round trip.

    Raises:
        StoreUnavailableError: no tier could be reached.
    """
    bundle_at = keys.bundle_key(scope, model=ports.model, renderer=RENDERER)
    receipt_at = keys.receipt_key(scope, model=ports.model, renderer=RENDERER)
    entries = ports.store.get_many((bundle_at, receipt_at), now=ports.clock.now())
    return WarmState(_load(load_bundle, entries.get(bundle_at)), _load(load_receipt, entries.get(receipt_at)))


def _load(load: Callable[[bytes], Stored], entry: Entry | None) -> Stored | None:
    try:
        return load(entry.body) if entry else None
    except EntryCorruptError:
        return None


def keep_bundle(scope: Scope, bundle: Bundle, ports: Ports) -> None:
    """Store the bundle unless a newer one is there.

    Raises:
        EntryTooLargeError: no tier can hold it.
        StoreUnavailableError: no tier could be reached.
    """
    now = ports.clock.now()
    key = keys.bundle_key(scope, model=ports.model, renderer=RENDERER)
    ports.store.put(Entry(key, bundle.stamp.order, dump_bundle(bundle), now + ports.limits.bundle_ttl_s), now=now)


def keep_receipt(scope: Scope, bundle: Bundle, receipt: Receipt, ports: Ports) -> None:
    """Store the receipt unless a newer one is there. It outlives its own expiry a little, to say why it is not warm.

    Raises:
        StoreUnavailableError: no tier could be reached.
    """
    now = ports.clock.now()
    key = keys.receipt_key(scope, model=ports.model, renderer=RENDERER)
    expires_at = max(receipt.expires_at, now) + ports.limits.claim_ttl_s
    ports.store.put(Entry(key, bundle.stamp.order, dump_receipt(receipt), expires_at), now=now)


def claim(scope: Scope, bundle: Bundle, ports: Ports) -> bool:
    """Take the one flight of this session and stamp; False when somebody has it.

    Raises:
        StoreUnavailableError: the deciding tier could not be reached, so nobody may fly.
    """
    now = ports.clock.now()
    entry = Entry(_claim_key(scope, bundle), bundle.stamp.order, b"", now + ports.limits.claim_ttl_s)
    return ports.store.add(entry, now=now)


def release(scope: Scope, bundle: Bundle, ports: Ports) -> None:
    """Give the flight back, so that a retry may take it. Where a tier cannot be reached, the claim ends by its TTL."""
    try:
        ports.store.delete((_claim_key(scope, bundle),))
    except StoreUnavailableError:
        return


def is_void(scope: Scope, bundle: Bundle, ports: Ports) -> bool:
    """Tell whether something in the bundle was forgotten since it was built, or the session is gone.

    Raises:
        SourceUnavailableError: the versions cannot be read.
    """
    versions = ports.records.read_versions(scope)
    return versions.session is None or versions.user.forget_ver != bundle.stamp.forget_ver


def drop(scope: Scope, bundle: Bundle, ports: Ports) -> None:
    """Take back what was kept of a session.

    Raises:
        StoreUnavailableError: a tier could not be reached and may still hold it.
    """
    at = {"model": ports.model, "renderer": RENDERER}
    ports.store.delete((keys.bundle_key(scope, **at), keys.receipt_key(scope, **at), _claim_key(scope, bundle)))


def _claim_key(scope: Scope, bundle: Bundle) -> WarmKey:
    stamp = bundle.stamp
    return keys.claim_key(scope, model=stamp.model, renderer=stamp.renderer, stamp=str(stamp))

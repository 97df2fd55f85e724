"""The bytes of a stored entry: a fixed header in front of the body, so that tiers agree on order, expiry and harm.

Header, 48 bytes of ASCII and digest: magic `PH1.` (4), order as 16 digits, expiry in epoch milliseconds as 16 digits,
the first 12 bytes of the SHA-256 of these and the body. The order stands at a fixed place, so that a script on the
server can compare.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from preheat.errors import EntryCorruptError, EntryTooLargeError
from preheat.keys import WarmKey
from preheat.ports import Entry

MAGIC: Final = b"PH1."
ORDER_AT: Final = slice(4, 20)
EXPIRY_AT: Final = slice(20, 36)
HEADER_BYTES: Final = 48
# A DynamoDB item holds 400 KB with its keys; every tier refuses what one of them could not hold.
MAX_BODY_BYTES: Final = 390_000


def seal(entry: Entry) -> bytes:
    """Return header and body.

    Raises:
        EntryTooLargeError: the body is over `MAX_BODY_BYTES`.
    """
    if len(entry.body) > MAX_BODY_BYTES:
        raise EntryTooLargeError(f"the entry has {len(entry.body)} bytes, the tiers hold {MAX_BODY_BYTES}")
    head = b"%s%016d%016d" % (MAGIC, entry.order, round(entry.expires_at * 1000))
    return head + _digest(head, entry.body) + entry.body


def unseal(key: WarmKey, sealed: bytes) -> Entry:
    """Return the entry that `sealed` holds.

    Raises:
        EntryCorruptError: the bytes are not what `seal` wrote.
    """
    body = sealed[HEADER_BYTES:]
    digest = sealed[EXPIRY_AT.stop : HEADER_BYTES]
    if sealed[: ORDER_AT.start] != MAGIC or _digest(sealed[: EXPIRY_AT.stop], body) != digest:
        raise EntryCorruptError("the entry's bytes do not match their digest")
    try:
        order, expires_at_ms = int(sealed[ORDER_AT]), int(sealed[EXPIRY_AT])
    except ValueError as error:
        raise EntryCorruptError("the entry's header is not readable") from error
    return Entry(key=key, order=order, body=body, expires_at=expires_at_ms / 1000)


def _digest(head: bytes, body: bytes) -> bytes:
    whole = hashlib.sha256(head)
    whole.update(body)
    return whole.digest()[: HEADER_BYTES - EXPIRY_AT.stop]


def unseal_live(found: Iterable[tuple[WarmKey, bytes]], *, now: float) -> tuple[dict[WarmKey, Entry], int]:
    """Return the entries that are whole and not expired, and how many were corrupt.

    Args:
        found: Keys with the bytes that a tier holds for them. A tier may hold expired ones.
        now: Epoch seconds.
    """
    live: dict[WarmKey, Entry] = {}
    corrupt = 0
    for key, sealed in found:
        try:
            entry = unseal(key, sealed)
        except EntryCorruptError:
            corrupt += 1
            continue
        if entry.expires_at > now:
            live[key] = entry
    return live, corrupt

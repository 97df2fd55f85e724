"""Every key, in one file.

A key holds whatever changes its value and is known before the value is read. The counters of a stamp are not: the
reader fetches a bundle *in parallel* with the strong read of the counters. So a bundle has one slot per session, model
and renderer; its stamp travels in the entry, orders writes (put only if not older) and is compared on every read.
Claims are written by those who know the stamp, so there the stamp is in the key.

All warm keys of a user share one hash tag, so that one MGET serves them in cluster mode. Ids cannot hold the separators
(`preheat.session.ID_PATTERN`), so no key of one tenant or user can be spelled by another.
"""

import hashlib
from typing import Final, NewType

from preheat.session import AgentId, Scope, SessionId, TenantId, UserId

WarmKey = NewType("WarmKey", str)

STATE: Final = "STATE"
PREFERENCES: Final = "PREFERENCES"
TURN_PREFIX: Final = "TURN#"
SESSION_PREFIX: Final = "SESSION#"
_SCHEMA: Final = "ph1"
# What rows of a user's partition hold, by the first part of their sort key.
_ROW_KINDS: Final = {
    PREFERENCES: "preferences",
    "TURN": "turns",
    "TURNID": "turn_ids",
    "SESSION": "sessions",
    "FROZEN": "frozen",
}


def agent_partition(tenant: TenantId, agent: AgentId) -> str:
    """Partition of an agent's state and blobs in the records table."""
    return f"T#{tenant}#A#{agent}"


def user_partition(tenant: TenantId, user: UserId) -> str:
    """Partition of everything that is known of a user in the records table."""
    return f"T#{tenant}#U#{user}"


def turn_sort(seq: int) -> str:
    """Sort key of one turn; zero-padded, so that the table's order is the turns' order."""
    return f"{TURN_PREFIX}{seq:012d}"


def turn_id_sort(turn_id: str) -> str:
    """Sort key of the row that makes appending a turn idempotent by the client's id."""
    return f"TURNID#{turn_id}"


def session_sort(session: SessionId) -> str:
    """Sort key of a session record."""
    return f"{SESSION_PREFIX}{session}"


def frozen_sort(session: SessionId) -> str:
    """Sort key of what a session keeps unchanged for its life."""
    return f"FROZEN#{session}"


def row_kind(sort_key: str) -> str:
    """Name what a row of a user's partition holds; a kind without a name of its own goes by its sort key's."""
    head = sort_key.partition("#")[0]
    return _ROW_KINDS.get(head, head.lower())


def blob_sort(sha256: str, part: int) -> str:
    """Sort key of one part of an agent's immutable, content-addressed document."""
    return f"{blob_prefix(sha256)}{part:03d}"


def blob_prefix(sha256: str) -> str:
    """Start of the sort keys of all parts of one document."""
    return f"BLOB#{sha256}#"


def _warm(kind: str, scope: Scope, *rest: str) -> WarmKey:
    tag = f"{{T#{scope.tenant}#U#{scope.user}}}"
    return WarmKey(":".join((_SCHEMA, kind, tag, scope.agent, scope.session, *rest)))


def bundle_key(scope: Scope, *, model: str, renderer: str) -> WarmKey:
    """Slot of a session's bundle."""
    return _warm("bundle", scope, model, renderer)


def receipt_key(scope: Scope, *, model: str, renderer: str) -> WarmKey:
    """Slot of the receipt for a session's prefilled prefix."""
    return _warm("receipt", scope, model, renderer)


def claim_key(scope: Scope, *, model: str, renderer: str, stamp: str) -> WarmKey:
    """Key of the one flight allowed per session, model, renderer and stamp."""
    return _warm("claim", scope, model, renderer, stamp)


def owner_of(key: WarmKey) -> str:
    """Return what is inside a warm key's hash tag: the user's partition. A key without a tag is its own owner."""
    return key.partition("{")[2].partition("}")[0] or key


def index_key(owner: str) -> str:
    """Key of the list of all warm keys of one owner, in the slot of these."""
    return f"{_SCHEMA}:index:{{{owner}}}"


def tenant_salt(tenant: TenantId) -> str:
    """Salt that keeps one tenant's prefixes apart from another's in the engine's cache (16 hex digits)."""
    return hashlib.sha256(f"{_SCHEMA}:salt:{tenant}".encode()).hexdigest()[:16]

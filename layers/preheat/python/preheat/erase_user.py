"""Use case: erase a user from every tier, at once, with a receipt.

The order is what makes it hold. The counters move first, so that nothing kept before can be served; rows go next; the
warm store is cleared last, when whoever was still at work on the user has either finished or will see the counters.
A call that ends in the middle leaves less than there was, and the same call again does the rest.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from preheat import keys
from preheat.canonical import sha256_hex
from preheat.errors import EraseIncompleteError, SourceUnavailableError, StoreUnavailableError
from preheat.ports import Erased, Ports
from preheat.session import Principal, TenantId, UserId
from preheat.warm_state import SETTLE_S

_DAY_S: Final = 24 * 3600.0
_COUNTERS_KEPT_S: Final = 30 * _DAY_S
_RECORDS: Final = "records"


@dataclass(frozen=True, slots=True)
class Stay:
    """What an erasure leaves, until when (epoch seconds), and why."""

    what: str
    until: float
    why: str


@dataclass(frozen=True, slots=True)
class EraseReceipt:
    """What one call has erased.

    Attributes:
        user: Who was erased.
        erased_at: When it began, epoch seconds.
        tiers: How much: in the records by kind, in the tiers of the warm store all entries.
        sha256: Of the keys erased, each as its tier, a blank and the key, sorted, one a line. 64 hex digits.
        stays: What is left, none of which says anything of the user.
    """

    user: UserId
    erased_at: float
    tiers: Mapping[str, Mapping[str, int] | int]
    sha256: str
    stays: tuple[Stay, ...]


def erase_user(caller: Principal, user: str, ports: Ports) -> EraseReceipt:
    """Erase a user; after it returns nothing of them is shown, and their sessions are gone. Unknown ones are no error.

    Raises:
        ForbiddenError: the caller may not act for this user.
        EraseIncompleteError: something is left somewhere; call again (retryable).
        ConflictError: others write to the user again and again; call again (retryable).
        SourceUnavailableError: the records could not be reached; call again (retryable).
    """
    tenant, user_id = caller.tenant, caller.may_act_for(user)
    now, limits = ports.clock.now(), ports.limits
    # Later than the end of anything that was built at counters of before.
    kept_until = now + max(_COUNTERS_KEPT_S, 2 * (limits.session_ttl_s + limits.bundle_ttl_s))
    preferences = _preferences(tenant, user_id, ports)
    rows = ports.records.erase_user(tenant, user_id, now=now, settle_s=SETTLE_S, kept_until=kept_until)
    counts = _by_kind(rows, preferences)
    if not rows.complete:
        raise _incomplete((_RECORDS,), {_RECORDS: counts})
    try:
        entries = ports.store.erase_user(tenant, user_id)
    except EraseIncompleteError as error:
        raise _incomplete(error.left, {_RECORDS: counts, **error.erased}) from error
    except StoreUnavailableError as error:
        raise _incomplete(("warm store",), {_RECORDS: counts}) from error
    gone = [f"{_RECORDS} {key}" for key in rows.rows]
    gone += [f"{tier} {key}" for tier, removed in entries.items() for key in removed]
    return EraseReceipt(
        user=user_id,
        erased_at=now,
        tiers={_RECORDS: counts, **{tier: len(removed) for tier, removed in entries.items()}},
        sha256=sha256_hex("\n".join(sorted(gone))),
        stays=(
            Stay("counters", kept_until, "numbers under the user's id, so that nothing older passes for current"),
            Stay("engine_prefix_cache", now + limits.prefill.ttl_s, "tokens without a name, by the engine's own rule"),
        ),
    )


def _preferences(tenant: TenantId, user: UserId, ports: Ports) -> int | None:
    """Count the preferences; None when they cannot be read, which must not keep them from being erased."""
    try:
        return len(ports.records.list_preferences(tenant, user))
    except SourceUnavailableError:
        return None


def _by_kind(erased: Erased, preferences: int | None) -> dict[str, int]:
    """Count rows by what they hold. All preferences are one row, so they are counted by what was read of them."""
    counts = dict(sorted(Counter(map(keys.row_kind, erased.rows)).items()))
    kind = keys.row_kind(keys.PREFERENCES)
    if kind in counts and preferences is not None:
        counts[kind] = preferences
    return counts


def _incomplete(left: tuple[str, ...], erased: Mapping[str, object]) -> EraseIncompleteError:
    return EraseIncompleteError(
        f"something of the user is left in: {', '.join(left)}; the same call again goes on", left=left, erased=erased
    )

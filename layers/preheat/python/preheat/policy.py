"""Whether a warm-up is worth running, and why not: pure, from what is known before the call.

Every suppression has a name that is logged and shown; a warm-up without a reason does not exist.
"""

from dataclasses import dataclass
from typing import Literal

from preheat.prefill import Receipt
from preheat.session import SessionRecord

Reason = Literal[
    "warming",
    "lever_off",
    "session_started_without_warm_up",
    "session_expired",
    "already_warm",
    "in_flight",
    "below_cacheable_minimum",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to prefill, and the reason by name."""

    run: bool
    reason: Reason


@dataclass(frozen=True, slots=True)
class PrefillPolicy:
    """What the tenant and the engine allow.

    Attributes:
        enabled: The lever's switch.
        min_tokens: Below this many prefix tokens the engine keeps nothing that is worth a call.
        ttl_s: How long a warmed prefix is expected to live, from the start of the warming call.
    """

    enabled: bool
    min_tokens: int
    ttl_s: float


def decide_prefill(
    policy: PrefillPolicy,
    *,
    session: SessionRecord,
    prefix_tokens: int,
    prefix_sha256: str,
    receipt: Receipt | None,
    now: float,
) -> Decision:
    """Decide on prefilling a session's prefix.

    Args:
        policy: What is allowed.
        session: As recorded.
        prefix_tokens: A careful count of the prefix.
        prefix_sha256: What would be prefilled.
        receipt: Of the session's last warm-up, if it is known.
        now: Epoch seconds.
    """
    if not policy.enabled:
        return Decision(run=False, reason="lever_off")
    if not session.warm:
        return Decision(run=False, reason="session_started_without_warm_up")
    if session.expires_at <= now:
        return Decision(run=False, reason="session_expired")
    if prefix_tokens < policy.min_tokens:
        return Decision(run=False, reason="below_cacheable_minimum")
    if (
        receipt is not None
        and receipt.status != "failed"
        and receipt.prefix_sha256 == prefix_sha256
        and receipt.expires_at > now
    ):
        return Decision(run=False, reason="already_warm" if receipt.status == "warm" else "in_flight")
    return Decision(run=True, reason="warming")

"""What an answer may call itself, and what its prefix is worth to the next message, from the engine's own count."""

from dataclasses import dataclass, replace

from preheat.bundle import Bundle
from preheat.prefill import Receipt, Usage, honoured, prefix_sha256
from preheat.report import State


@dataclass(frozen=True, slots=True)
class Served:
    """What an answer was built on.

    Attributes:
        found: What the cache held, at whatever versions.
        bundle: What was sent; None when nothing could be verified.
        receipt: Of the session's last warm-up.
        faults: Names of what was out of service.
    """

    found: Bundle | None
    bundle: Bundle | None
    receipt: Receipt | None
    faults: tuple[str, ...] = ()


def judge(served: Served, usage: Usage, *, engine_id: str) -> tuple[State, tuple[str, ...]]:
    """Return the answer's state and the reasons, most telling first.

    "warm" needs both: a bundle at the current stamp, and an engine that reused what was warmed.
    """
    reasons = [*served.faults, *_missing(served.bundle)]
    degraded = bool(reasons)
    if served.bundle is None:
        reasons.append("context_unverified")
        degraded = True
    rebuilt = _why_rebuilt(served)
    prefill = _why_not_prefilled(served.receipt, usage, engine_id)
    reasons += [reason for reason in (rebuilt, prefill) if reason]
    if degraded:
        return "degraded", tuple(reasons)
    if served.found is not None and rebuilt:
        return "stale-rebuilt", tuple(reasons)
    return ("cold" if reasons else "warm"), tuple(reasons)


def _missing(bundle: Bundle | None) -> list[str]:
    return [f"missing:{one.name}:{one.reason}" for one in bundle.missing] if bundle else []


def _why_rebuilt(served: Served) -> str:
    if served.found is None:
        return "no_bundle"
    if served.bundle is None or served.found.stamp == served.bundle.stamp:
        return ""
    return f"bundle_was_at:{served.found.stamp}"


def _why_not_prefilled(receipt: Receipt | None, usage: Usage, engine_id: str) -> str:
    if receipt is None:
        return "not_prefilled"
    if receipt.status == "in_flight":
        return "prefill_in_flight"
    if receipt.status == "failed":
        return f"prefill_failed:{receipt.reason}"
    if honoured(receipt.warmed_tokens, usage.cached_tokens):
        return ""
    if receipt.engine_id != engine_id:
        return "engine_changed"
    return f"engine_reused:{usage.cached_tokens}_of_{receipt.warmed_tokens}"


def next_receipt(
    served: Served, grown: Bundle, usage: Usage, *, engine_id: str, started_at: float, ttl_s: float
) -> Receipt:
    """Return what the next message may expect of the engine after this answer.

    A prefix that was just reused lives on from now. One that was just read for the first time is as good as warmed, for
    as far as the next prompt will repeat it: not past corrections, which stand before a message that has moved on.

    Args:
        served: What was answered from.
        grown: The bundle after the answer.
        usage: The engine's count.
        engine_id: The replica that answered.
        started_at: Epoch seconds when the request was handed over.
        ttl_s: How long a prefix is expected to live.
    """
    kept = served.receipt
    if kept is not None and kept.status == "warm" and honoured(kept.warmed_tokens, usage.cached_tokens):
        return replace(
            kept,
            stamp=str(grown.stamp),
            prefix_sha256=prefix_sha256(grown),
            engine_id=engine_id,
            started_at=started_at,
            expires_at=started_at + ttl_s,
        )
    corrected = served.bundle if served.bundle and served.bundle.corrections else None
    return Receipt(
        status="warm",
        stamp=str(grown.stamp),
        prefix_sha256=prefix_sha256(corrected or grown),
        warmed_tokens=usage.cached_tokens if corrected else usage.prompt_tokens,
        reused_tokens=usage.cached_tokens,
        engine_id=engine_id,
        started_at=started_at,
        expires_at=started_at + ttl_s,
        took_ms=0.0,
        reason="read_by_an_answer",
    )

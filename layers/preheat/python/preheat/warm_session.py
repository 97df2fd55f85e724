"""Use case: warm one session. Gather, assemble, store, prefill; every step that is not taken has a reason by name."""

from dataclasses import replace

from preheat import keys, prefill
from preheat.bundle import Bundle
from preheat.errors import (
    ConflictError,
    EndpointError,
    EntryTooLargeError,
    NotFoundError,
    SourceUnavailableError,
    UserErasedError,
)
from preheat.gather import bring_up_to_date, current_stamp
from preheat.policy import decide_prefill
from preheat.ports import Ports
from preheat.prefill import EngineRequest, Receipt
from preheat.report import WarmReport
from preheat.session import Scope, SessionRecord
from preheat.warm_state import claim, drop, is_void, keep_bundle, keep_receipt, look_up, release


def warm_session(scope: Scope, ports: Ports, *, asked_at: float | None = None) -> WarmReport:
    """Record the session when it is new and bring its bundle and its prefix to the current versions.

    Run twice, or three times at once, it leaves the same state and makes one prefill.

    Args:
        scope: The session.
        ports: To the outside.
        asked_at: When the session was asked for, in epoch seconds; None: now. A user erased since is left alone.

    Raises:
        NotFoundError: the agent was never registered.
        SessionTakenError: the session id belongs to a session with another agent.
        ConflictError: versions moved under every try (retryable).
        SourceUnavailableError: the records cannot be read (retryable).
        StoreUnavailableError: no tier could keep the bundle (retryable).
    """
    if ports.records.read_agent_state(scope.tenant, scope.agent) is None:
        raise NotFoundError(f"agent {scope.agent!r} is not registered")
    now = ports.clock.now()
    expires_at = now + ports.limits.session_ttl_s
    try:
        session = ports.records.create_session(scope, warm=True, now=now, expires_at=expires_at, asked_at=asked_at)
    except UserErasedError as error:
        return WarmReport(scope.session, "", error.code)
    return warm_known_session(scope, session, ports)


def warm_known_session(scope: Scope, session: SessionRecord, ports: Ports) -> WarmReport:
    """Do the same for a session that is on record. What was forgotten in the meantime is not kept."""
    known = look_up(scope, ports)
    try:
        bundle = _current_bundle(scope, known.bundle, ports)
    except UserErasedError as error:
        return WarmReport(scope.session, "", error.code)
    try:
        keep_bundle(scope, bundle, ports)
    except EntryTooLargeError:
        return WarmReport(scope.session, str(bundle.stamp), "failed", "entry_too_large", bundle_tokens=bundle.tokens)
    if _taken_back(scope, bundle, ports):
        return WarmReport(scope.session, str(bundle.stamp), "forgotten_meanwhile")
    return _with_prefix(scope, session, bundle, receipt=known.receipt, ports=ports)


def _with_prefix(
    scope: Scope, session: SessionRecord, bundle: Bundle, *, receipt: Receipt | None, ports: Ports
) -> WarmReport:
    """Prefill what the policy allows. `receipt` is of the session's last warm-up."""
    prefix_sha256 = prefill.prefix_sha256(bundle)
    decision = decide_prefill(
        ports.limits.prefill,
        session=session,
        prefix_tokens=bundle.tokens,
        prefix_sha256=prefix_sha256,
        receipt=receipt,
        now=ports.clock.now(),
    )
    report = WarmReport(scope.session, str(bundle.stamp), decision.reason, bundle_tokens=bundle.tokens)
    report = replace(report, missing=bundle.missing)
    if not decision.run:
        return report
    if not claim(scope, bundle, ports):
        return replace(report, outcome="in_flight")
    done = _prefill(scope, bundle, prefix_sha256, ports=ports)
    if _taken_back(scope, bundle, ports):
        return replace(report, outcome="forgotten_meanwhile", prefill_ms=done.took_ms)
    return replace(
        report,
        outcome=done.status,
        detail=done.reason,
        warmed_tokens=done.warmed_tokens,
        reused_tokens=done.reused_tokens,
        prefill_ms=done.took_ms,
    )


def _taken_back(scope: Scope, bundle: Bundle, ports: Ports) -> bool:
    """Take back what was just kept when something in it has been forgotten, or when nobody can tell.

    Whoever forgets moves the counter first and clears the store then: who keeps something later sees the counter.
    """
    try:
        void = is_void(scope, bundle, ports)
    except SourceUnavailableError:
        drop(scope, bundle, ports)
        raise
    if void:
        drop(scope, bundle, ports)
    return void


def _current_bundle(scope: Scope, found: Bundle | None, ports: Ports) -> Bundle:
    try:
        return _bundle_at_versions(scope, found, ports)
    except ConflictError:
        return _bundle_at_versions(scope, None, ports)


def _bundle_at_versions(scope: Scope, found: Bundle | None, ports: Ports) -> Bundle:
    versions = ports.records.read_versions(scope)
    if versions.agent is None:
        raise NotFoundError(f"agent {scope.agent!r} is not registered")
    if versions.session is None:
        raise UserErasedError("the session is gone")
    stamp = current_stamp(versions.agent, versions.user, ports)
    return bring_up_to_date(scope, versions.agent, stamp, found=found, ports=ports).bundle


def _prefill(scope: Scope, bundle: Bundle, prefix_sha256: str, *, ports: Ports) -> Receipt:
    """Make the engine read the prefix; an engine that does not is an outcome, not a fault of ours."""
    request = prefill.prefill_request(bundle, salt=keys.tenant_salt(scope.tenant), prefix_id=scope.session)
    started_at = ports.clock.now()
    receipt = Receipt(
        status="in_flight",
        stamp=str(bundle.stamp),
        prefix_sha256=prefix_sha256,
        warmed_tokens=0,
        reused_tokens=0,
        engine_id="",
        started_at=started_at,
        expires_at=started_at + ports.limits.claim_ttl_s,
        took_ms=0.0,
    )
    keep_receipt(scope, bundle, receipt, ports)
    receipt = _run(request, receipt, ports)
    keep_receipt(scope, bundle, receipt, ports)
    if receipt.status == "failed":
        release(scope, bundle, ports)
    return receipt


def _run(request: EngineRequest, receipt: Receipt, ports: Ports) -> Receipt:
    started_ms = ports.clock.monotonic_ms()
    try:
        prefilled = ports.endpoint.prefill(request)
    except EndpointError as error:
        return replace(
            receipt,
            status="failed",
            expires_at=ports.clock.now(),
            took_ms=ports.clock.monotonic_ms() - started_ms,
            reason=error.code,
        )
    return replace(
        receipt,
        status="warm",
        warmed_tokens=prefilled.usage.prompt_tokens,
        reused_tokens=prefilled.usage.cached_tokens,
        engine_id=prefilled.engine_id,
        expires_at=receipt.started_at + ports.limits.prefill.ttl_s,
        took_ms=ports.clock.monotonic_ms() - started_ms,
    )

"""Use case: start a session, so that it is warm before the message; and show what is ready for it."""

from dataclasses import dataclass
from typing import Literal

from preheat import names
from preheat.bundle import Bundle
from preheat.errors import NotFoundError, SourceUnavailableError, StoreUnavailableError
from preheat.gather import current_stamp
from preheat.ports import Ports
from preheat.prefill import Receipt, prefix_sha256
from preheat.report import SectionLine, section_lines
from preheat.requests import SessionCall
from preheat.session import AgentId, Principal, Scope, SessionId, SessionRecord, checked_id
from preheat.warm_state import WarmState, look_up

Readiness = Literal["cold", "warming", "warm", "failed"]


@dataclass(frozen=True, slots=True)
class Started:
    """A session on record: "warming" once the event is on the bus, else "cold" with the reason."""

    session: SessionRecord
    state: Readiness
    reason: str


@dataclass(frozen=True, slots=True)
class SessionView:
    """What is ready for a session.

    Attributes:
        session: As recorded.
        state: "warm" when bundle and prefix stand at the current versions, by the engine's receipt.
        reason: Why it is not, or empty.
        stamp: The bundle's versions, or empty.
        warmed_tokens: Of the receipt.
        started_at: When the warming call began, epoch seconds; None without a receipt.
        expires_at: When the prefix is expected to be gone, epoch seconds; None without a receipt.
        sections: The bundle's, without content.
        missing: Names and reasons of sections that could not be built.
    """

    session: SessionRecord
    state: Readiness
    reason: str
    stamp: str
    warmed_tokens: int
    started_at: float | None
    expires_at: float | None
    sections: tuple[SectionLine, ...]
    missing: tuple[str, ...]


def start_session(caller: Principal, user: str, *, call: SessionCall, fresh_id: str, ports: Ports) -> Started:
    """Record the session and publish `session.started`, unless it is to stay cold.

    Args:
        caller: Verified.
        user: Whose session.
        call: What was asked.
        fresh_id: The session's id when the call names none.
        ports: To the outside.

    Raises:
        ForbiddenError: the caller may not act for this user.
        NotFoundError: the agent was never registered.
        SessionTakenError: the id belongs to a session with another agent.
        SourceUnavailableError: the session could not be recorded.
    """
    user_id = caller.may_act_for(user)
    agent = AgentId(call.agent)
    if ports.records.read_agent_state(caller.tenant, agent) is None:
        raise NotFoundError(f"agent {agent!r} is not registered")
    scope = Scope(caller.tenant, user_id, agent, SessionId(call.session_id or fresh_id))
    now = ports.clock.now()
    record = ports.records.create_session(scope, warm=call.warm, now=now, expires_at=now + ports.limits.session_ttl_s)
    if not record.warm:
        return Started(record, "cold", "session_started_without_warm_up")
    event = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "session_id": scope.session}
    try:
        ports.bus.publish(names.SESSION_STARTED, event)
    except SourceUnavailableError:
        return Started(record, "cold", "bus_unavailable")
    return Started(record, "warming", "")


def read_session(caller: Principal, user: str, *, session: str, ports: Ports) -> SessionView:
    """Return what is ready for a session.

    Raises:
        ForbiddenError: the caller may not act for this user.
        NotFoundError: no such live session of this user.
    """
    user_id = caller.may_act_for(user)
    session_id = SessionId(checked_id(session, field="session"))
    now = ports.clock.now()
    live = {one.session: one for one in ports.records.list_sessions(caller.tenant, user_id, now=now)}
    if session_id not in live:
        raise NotFoundError(f"session {session_id!r} is not known, or has expired")
    record = live[session_id]
    scope = Scope(caller.tenant, user_id, record.agent, session_id)
    try:
        warm = look_up(scope, ports)
    except StoreUnavailableError:
        warm = WarmState()
    state, reason = _readiness(scope, record, warm, ports)
    receipt = warm.receipt
    return SessionView(
        session=record,
        state=state,
        reason=reason,
        stamp=str(warm.bundle.stamp) if warm.bundle else "",
        warmed_tokens=receipt.warmed_tokens if receipt else 0,
        started_at=receipt.started_at if receipt else None,
        expires_at=receipt.expires_at if receipt else None,
        sections=section_lines(warm.bundle, now=now),
        missing=tuple(f"{one.name}:{one.reason}" for one in (warm.bundle.missing if warm.bundle else ())),
    )


def _readiness(scope: Scope, record: SessionRecord, warm: WarmState, ports: Ports) -> tuple[Readiness, str]:
    """Return the first thing that keeps the session from being warm."""
    receipt = warm.receipt
    if warm.bundle is None:
        return ("warming", "no_bundle_yet") if record.warm else ("cold", "session_started_without_warm_up")
    if receipt is None:
        if not ports.limits.prefill.enabled:
            return "cold", "lever_off"
        return "warming", "not_prefilled_yet"
    if receipt.status == "warm":
        reason = _why_no_longer_warm(scope, warm.bundle, receipt, ports)
        return ("cold" if reason else "warm"), reason
    return ("failed", receipt.reason) if receipt.status == "failed" else ("warming", "prefill_in_flight")


def _why_no_longer_warm(scope: Scope, bundle: Bundle, receipt: Receipt, ports: Ports) -> str:
    """Return why a prefix that was read is not the one that would be sent now; empty when it is."""
    if _is_behind(scope, bundle, ports):
        return "bundle_behind_versions"
    if receipt.prefix_sha256 != prefix_sha256(bundle):
        return "prefix_changed"
    return "prefix_expired" if receipt.expires_at <= ports.clock.now() else ""


def _is_behind(scope: Scope, bundle: Bundle, ports: Ports) -> bool:
    versions = ports.records.read_versions(scope)
    return versions.agent is None or bundle.stamp != current_stamp(versions.agent, versions.user, ports)

"""Use case: preferences changed; bring the bundles of the user's live sessions to them before the next message.

A change that the event carries is written first, unless a newer one is known. Beyond that nothing depends on an event:
a reader compares versions. It only moves the work out of the answer's way.
"""

from typing import Final

from preheat.errors import InvalidInputError
from preheat.events import PreferenceChanged
from preheat.ports import Ports
from preheat.report import WarmReport
from preheat.session import AgentId, Scope, TenantId, UserId
from preheat.warm_session import warm_known_session

# How far another system's clock may be ahead of ours.
_CLOCK_SKEW_S: Final = 300.0


def refresh_preferences(changed: PreferenceChanged, ports: Ports) -> tuple[WarmReport, ...]:
    """Write the change, if there is one, and bring every live, warmed session to the current versions; a report each.

    Raises:
        InvalidInputError: the change cannot be kept, or lies in the future, where it would bar all that follow.
        ConflictError: other writers won every retry (retryable).
        The errors of `preheat.warm_session.warm_session`.
    """
    tenant, user = TenantId(changed.tenant), UserId(changed.user)
    if changed.key is not None:
        _write(changed, changed.key, ports)
    sessions = ports.records.list_sessions(tenant, user, now=ports.clock.now())
    return tuple(
        warm_known_session(Scope(tenant, user, session.agent, session.session), session, ports)
        for session in sessions
        if session.warm
    )


def _write(changed: PreferenceChanged, key: str, ports: Ports) -> None:
    tenant, user = TenantId(changed.tenant), UserId(changed.user)
    agent = AgentId(changed.agent) if changed.agent else None
    mark, now = changed.mark, ports.clock.now()
    if mark.time is not None and mark.time > now + _CLOCK_SKEW_S:
        raise InvalidInputError("lies in the future", field="time")
    if changed.value is None:
        ports.records.delete_preference(tenant, user, key=key, now=now, agent=agent, mark=mark)
        return
    ports.records.set_preference(
        tenant,
        user,
        key=key,
        value=changed.value,
        now=now,
        agent=agent,
        options=changed.options,
        source=changed.source,
        mark=mark,
    )

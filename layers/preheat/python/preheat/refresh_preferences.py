"""Use case: a preference changed; bring the bundles of the user's live sessions to it before the next message.

Nothing depends on this happening: a reader compares versions. It only moves the work out of the answer's way.
"""

from preheat.events import PreferenceChanged
from preheat.ports import Ports
from preheat.report import WarmReport
from preheat.session import Scope, TenantId, UserId
from preheat.warm_session import warm_known_session


def refresh_preferences(changed: PreferenceChanged, ports: Ports) -> tuple[WarmReport, ...]:
    """Bring every live, warmed session of the user to the current versions; one report each.

    Raises:
        The errors of `preheat.warm_session.warm_session`.
    """
    tenant, user = TenantId(changed.tenant), UserId(changed.user)
    sessions = ports.records.list_sessions(tenant, user, now=ports.clock.now())
    return tuple(
        warm_known_session(Scope(tenant, user, session.agent, session.session), session, ports)
        for session in sessions
        if session.warm
    )

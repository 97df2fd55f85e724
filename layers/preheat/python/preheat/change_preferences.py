"""Use case: set, delete, replace, list and watch a user's preferences.

A write is acknowledged once it has committed; the event follows.
"""

import re
from typing import Final

from preheat import names
from preheat.errors import InvalidInputError, SourceUnavailableError
from preheat.ports import Ports
from preheat.preferences import NewPreference, Preference
from preheat.requests import PREFERENCE_KEY_PATTERN, ObservationCall, PreferenceCall, PreferencesCall
from preheat.session import AgentId, Principal, UserId, checked_id
from preheat.stamp import UserState

_KEY: Final = re.compile(PREFERENCE_KEY_PATTERN)


def set_preference(caller: Principal, user: str, *, key: str, call: PreferenceCall, ports: Ports) -> UserState:
    """Set one preference and return the user's counters.

    Raises:
        ForbiddenError: the caller may not act for this user.
        InvalidInputError: the key cannot be used, or the user has as many preferences as one may have.
    """
    user_id = caller.may_act_for(user)
    state = ports.records.set_preference(
        caller.tenant,
        user_id,
        key=_checked(key),
        value=call.value,
        now=ports.clock.now(),
        agent=_agent(call.agent),
        options=call.options,
        source=call.source,
    )
    _announce(caller, user_id, state, ports)
    return state


def delete_preference(caller: Principal, user: str, *, key: str, ports: Ports, agent: str | None = None) -> UserState:
    """Delete one preference and return the user's counters. It leaves every prefix, warm ones included.

    Args:
        caller: Verified.
        user: Whose preference.
        key: Of the preference.
        ports: To the outside.
        agent: For which it holds; None deletes the general one, and leaves those of agents.

    Raises:
        ForbiddenError: the caller may not act for this user.
        InvalidInputError: the key or the agent cannot be used.
    """
    user_id = caller.may_act_for(user)
    state = ports.records.delete_preference(
        caller.tenant, user_id, key=_checked(key), now=ports.clock.now(), agent=_agent(agent)
    )
    _announce(caller, user_id, state, ports)
    return state


def replace_preferences(caller: Principal, user: str, *, call: PreferencesCall, ports: Ports) -> UserState:
    """Make the whole set exactly what the call says, at once, and return the user's counters.

    Raises:
        ForbiddenError: the caller may not act for this user.
        InvalidInputError: a key is there twice for one agent, or all together are too large.
    """
    user_id = caller.may_act_for(user)
    wanted = [NewPreference(one.key, one.value, _agent(one.agent), one.options, one.source) for one in call.preferences]
    state = ports.records.replace_preferences(caller.tenant, user_id, wanted=wanted, now=ports.clock.now())
    _announce(caller, user_id, state, ports)
    return state


def observe_preference(caller: Principal, user: str, *, key: str, call: ObservationCall, ports: Ports) -> Preference:
    """Hold behaviour against a preference and return it; the value stays, whatever behaviour says.

    Raises:
        ForbiddenError: the caller may not act for this user.
        InvalidInputError: the key cannot be used.
        NotFoundError: there is no such preference.
    """
    user_id = caller.may_act_for(user)
    return ports.records.observe_preference(
        caller.tenant, user_id, key=_checked(key), value=call.value, agent=_agent(call.agent)
    )


def list_preferences(caller: Principal, user: str, ports: Ports) -> tuple[UserState, tuple[Preference, ...]]:
    """Return the user's counters and the whole set, sorted by key. The counters are read first.

    Raises:
        ForbiddenError: the caller may not act for this user.
    """
    user_id = caller.may_act_for(user)
    state = ports.records.read_user_state(caller.tenant, user_id)
    return state, ports.records.list_preferences(caller.tenant, user_id)


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise InvalidInputError("must be 1-64 letters, digits and . _ -, first a letter or digit", field="key")
    return key


def _agent(agent: str | None) -> AgentId | None:
    return None if agent is None else AgentId(checked_id(agent, field="agent"))


def _announce(caller: Principal, user: UserId, state: UserState, ports: Ports) -> None:
    """Publish the change. A bus that is down costs a rebuild on the next message, never the write."""
    try:
        ports.bus.publish(names.PREFERENCE_CHANGED, {"tenant": caller.tenant, "user": user, "pref_ver": state.pref_ver})
    except SourceUnavailableError:
        return

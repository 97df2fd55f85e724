"""Use case: set, delete and list a user's preferences. The write is acknowledged first, the event follows."""

import re
from typing import Final

from preheat import names
from preheat.errors import InvalidInputError, SourceUnavailableError
from preheat.ports import Ports
from preheat.preferences import Preference
from preheat.requests import PREFERENCE_KEY_PATTERN, PreferenceCall
from preheat.session import Principal, UserId
from preheat.stamp import UserState

_KEY: Final = re.compile(PREFERENCE_KEY_PATTERN)


def set_preference(caller: Principal, user: str, *, key: str, call: PreferenceCall, ports: Ports) -> UserState:
    """Set one preference and return the user's counters.

    Raises:
        ForbiddenError: the caller may not act for this user.
        InvalidInputError: the key cannot be used.
    """
    user_id = caller.may_act_for(user)
    state = ports.records.set_preference(
        caller.tenant, user_id, key=_checked(key), value=call.value, now=ports.clock.now()
    )
    _announce(caller, user_id, state, ports)
    return state


def delete_preference(caller: Principal, user: str, *, key: str, ports: Ports) -> UserState:
    """Delete one preference and return the user's counters. It leaves every prefix, warm ones included.

    Raises:
        ForbiddenError: the caller may not act for this user.
        InvalidInputError: the key cannot be used.
    """
    user_id = caller.may_act_for(user)
    state = ports.records.delete_preference(caller.tenant, user_id, key=_checked(key), now=ports.clock.now())
    _announce(caller, user_id, state, ports)
    return state


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


def _announce(caller: Principal, user: UserId, state: UserState, ports: Ports) -> None:
    """Publish the change. A bus that is down costs a rebuild on the next message, never the write."""
    try:
        ports.bus.publish(names.PREFERENCE_CHANGED, {"tenant": caller.tenant, "user": user, "pref_ver": state.pref_ver})
    except SourceUnavailableError:
        return

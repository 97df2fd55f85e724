"""Routes of a user's preferences."""

from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from preheat.adapters.http import principal
from preheat.change_preferences import (
    delete_preference,
    list_preferences,
    observe_preference,
    replace_preferences,
    set_preference,
)
from preheat.preferences import Preference
from preheat.requests import ObservationCall, PreferenceCall, PreferencesCall, parse
from preheat.runtime import get_runtime

router = APIGatewayRouter()


@router.get("/users/<user>/preferences")
def get_preferences(user: str) -> dict[str, Any]:
    """List the whole set."""
    caller = principal(router.current_event["requestContext"])
    state, found = list_preferences(caller, unquote(user), get_runtime().ports)
    return {"pref_ver": state.pref_ver, "preferences": [_shown(one) for one in found]}


@router.put("/users/<user>/preferences")
def put_preferences(user: str) -> dict[str, Any]:
    """Replace the whole set."""
    event = router.current_event
    call = parse(PreferencesCall, event.decoded_body)
    caller = principal(event["requestContext"])
    state = replace_preferences(caller, unquote(user), call=call, ports=get_runtime().ports)
    return {"count": len(call.preferences), "pref_ver": state.pref_ver}


@router.put("/users/<user>/preferences/<key>")
def put_preference(user: str, key: str) -> dict[str, Any]:
    """Set one preference."""
    event = router.current_event
    call = parse(PreferenceCall, event.decoded_body)
    caller = principal(event["requestContext"])
    state = set_preference(caller, unquote(user), key=unquote(key), call=call, ports=get_runtime().ports)
    return {"key": unquote(key), "value": call.value, "agent": call.agent, "pref_ver": state.pref_ver}


@router.delete("/users/<user>/preferences/<key>")
def remove_preference(user: str, key: str) -> dict[str, Any]:
    """Delete one preference; `?agent=` deletes that agent's own."""
    event = router.current_event
    agent = (event["queryStringParameters"] or {}).get("agent")
    caller = principal(event["requestContext"])
    state = delete_preference(caller, unquote(user), key=unquote(key), agent=agent, ports=get_runtime().ports)
    return {"key": unquote(key), "agent": agent, "pref_ver": state.pref_ver}


@router.post("/users/<user>/preferences/<key>/observations")
def post_observation(user: str, key: str) -> dict[str, Any]:
    """Hold behaviour against a preference."""
    event = router.current_event
    call = parse(ObservationCall, event.decoded_body)
    caller = principal(event["requestContext"])
    return _shown(observe_preference(caller, unquote(user), key=unquote(key), call=call, ports=get_runtime().ports))


def _shown(one: Preference) -> dict[str, Any]:
    drift = one.drift if one.has_drifted else None
    return {
        "key": one.key,
        "value": one.value,
        "type": one.kind,
        "options": one.options,
        "agent": one.agent,
        "source": one.source,
        "version": one.version,
        "updated_at": one.updated_at,
        "drift": {"value": drift.value, "count": drift.count} if drift else None,
    }

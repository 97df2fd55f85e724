"""Routes of a user's preferences."""

from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from preheat.adapters.http import principal
from preheat.change_preferences import delete_preference, list_preferences, set_preference
from preheat.requests import PreferenceCall, parse
from preheat.runtime import get_runtime

router = APIGatewayRouter()


@router.get("/users/<user>/preferences")
def get_preferences(user: str) -> dict[str, Any]:
    """List the whole set."""
    caller = principal(router.current_event["requestContext"])
    state, found = list_preferences(caller, unquote(user), get_runtime().ports)
    shown = [
        {"key": one.key, "value": one.value, "version": one.version, "updated_at": one.updated_at} for one in found
    ]
    return {"pref_ver": state.pref_ver, "preferences": shown}


@router.put("/users/<user>/preferences/<key>")
def put_preference(user: str, key: str) -> dict[str, Any]:
    """Set one preference."""
    event = router.current_event
    call = parse(PreferenceCall, event.decoded_body)
    caller = principal(event["requestContext"])
    state = set_preference(caller, unquote(user), key=unquote(key), call=call, ports=get_runtime().ports)
    return {"key": key, "value": call.value, "pref_ver": state.pref_ver}


@router.delete("/users/<user>/preferences/<key>")
def remove_preference(user: str, key: str) -> dict[str, Any]:
    """Delete one preference."""
    caller = principal(router.current_event["requestContext"])
    state = delete_preference(caller, unquote(user), key=unquote(key), ports=get_runtime().ports)
    return {"key": key, "pref_ver": state.pref_ver}

"""Routes of a user's turns."""

from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from preheat.adapters.http import principal
from preheat.append_turns import append_turns
from preheat.history import Turn
from preheat.read_turns import read_turns
from preheat.requests import TurnsCall, TurnsQuery, parse, parse_value
from preheat.runtime import get_runtime

router = APIGatewayRouter()


@router.get("/users/<user>/turns")
def get_turns(user: str) -> dict[str, Any]:
    """Show a part of the log; `next_after` is the `after` of the next part, null at the end."""
    event = router.current_event
    query = parse_value(TurnsQuery, event["queryStringParameters"] or {})
    page = read_turns(principal(event["requestContext"]), unquote(user), query=query, ports=get_runtime().ports)
    return {"turns": [_shown(turn) for turn in page.turns], "next_after": page.next_after}


@router.post("/users/<user>/turns")
def post_turns(user: str) -> dict[str, Any]:
    """Append turns, once per client id."""
    event = router.current_event
    call = parse(TurnsCall, event.decoded_body)
    state = append_turns(principal(event["requestContext"]), unquote(user), call=call, ports=get_runtime().ports)
    return {"hist_seq": state.hist_seq}


def _shown(turn: Turn) -> dict[str, Any]:
    """Return a turn in the shape in which turns are appended, with its number."""
    shown = {"seq": turn.seq, "id": turn.turn_id, "session": turn.session, "role": turn.role, "content": turn.content}
    if turn.tool_calls:
        shown["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.tool_calls
        ]
    return shown if turn.tool_call_id is None else {**shown, "tool_call_id": turn.tool_call_id}

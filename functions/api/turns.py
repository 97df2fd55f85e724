"""Route of a user's turns."""

from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from preheat.adapters.http import principal
from preheat.append_turns import append_turns
from preheat.requests import TurnsCall, parse
from preheat.runtime import get_runtime

router = APIGatewayRouter()


@router.post("/users/<user>/turns")
def post_turns(user: str) -> dict[str, Any]:
    """Append turns, once per client id."""
    event = router.current_event
    call = parse(TurnsCall, event.decoded_body)
    state = append_turns(principal(event["requestContext"]), unquote(user), call=call, ports=get_runtime().ports)
    return {"hist_seq": state.hist_seq}

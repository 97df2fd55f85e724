"""Routes of a user's sessions."""

import uuid
from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from preheat.adapters.http import principal
from preheat.requests import SessionCall, parse
from preheat.runtime import get_runtime
from preheat.start_session import read_session, start_session

router = APIGatewayRouter()


@router.post("/users/<user>/sessions")
def post_session(user: str) -> tuple[dict[str, Any], int]:
    """Start a session; 202, since the warm-up goes on behind it."""
    event = router.current_event
    call = parse(SessionCall, event.decoded_body)
    caller = principal(event["requestContext"])
    started = start_session(caller, unquote(user), call=call, fresh_id=uuid.uuid4().hex, ports=get_runtime().ports)
    return {"session_id": started.session.session, "state": started.state, "reason": started.reason}, 202


@router.get("/users/<user>/sessions/<session>")
def get_session(user: str, session: str) -> dict[str, Any]:
    """Show what is ready for a session."""
    view = read_session(
        principal(router.current_event["requestContext"]),
        unquote(user),
        session=unquote(session),
        ports=get_runtime().ports,
    )
    shown = {name: value for name, value in asdict(view).items() if name != "session"}
    return {"session_id": view.session.session, "agent": view.session.agent, **shown}

"""Use case: append turns to a user's log, once per client id."""

from preheat.history import ToolCall
from preheat.ports import NewTurn, Ports
from preheat.requests import TurnPart, TurnsCall
from preheat.session import Principal, SessionId
from preheat.stamp import UserState


def append_turns(caller: Principal, user: str, *, call: TurnsCall, ports: Ports) -> UserState:
    """Append the turns in order, all or none, and return the user's counters. Known ids are skipped.

    Raises:
        ForbiddenError: the caller may not act for this user.
        InvalidInputError: the turns are too large together.
    """
    user_id = caller.may_act_for(user)
    turns = [_new_turn(part, SessionId(part.session or call.session)) for part in call.turns]
    return ports.records.append_turns(caller.tenant, user_id, turns=turns)


def _new_turn(part: TurnPart, session: SessionId) -> NewTurn:
    return NewTurn(
        turn_id=part.id,
        session=session,
        role=part.role,
        content=part.content,
        tool_calls=tuple(ToolCall(one.id, one.function.name, one.function.arguments) for one in part.tool_calls),
        tool_call_id=part.tool_call_id,
    )

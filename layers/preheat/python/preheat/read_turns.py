"""Use case: page through a user's turn log."""

from dataclasses import replace

from preheat.ports import Ports, TurnPage
from preheat.requests import TurnsQuery
from preheat.session import Principal


def read_turns(caller: Principal, user: str, *, query: TurnsQuery, ports: Ports) -> TurnPage:
    """Return the next part of the log, oldest first.

    It is at most `query.limit` turns of the log. With `query.session` only those of that session are returned, so that
    a part may hold few, or none, and yet be followed by another one.

    Raises:
        ForbiddenError: the caller may not act for this user.
    """
    user_id = caller.may_act_for(user)
    page = ports.records.turn_page(caller.tenant, user_id, after=query.after, limit=query.limit)
    if query.session is None:
        return page
    return replace(page, turns=tuple(turn for turn in page.turns if turn.session == query.session))

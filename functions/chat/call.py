"""Reads one chat call: body, caller, message."""

import json

from starlette.requests import Request

from preheat import names
from preheat.adapters.http import principal
from preheat.answer import AnswerRequest
from preheat.errors import BodyTooLargeError, ForbiddenError
from preheat.prefill import NewMessage, Sampling
from preheat.requests import MAX_BODY_BYTES, ChatCall, parse
from preheat.session import AgentId, Scope, SessionId, checked_id


async def read_body(request: Request) -> bytes:
    """Return the body, however it is sent.

    Raises:
        BodyTooLargeError: it is over the limit.
    """
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise BodyTooLargeError(f"the body is over {MAX_BODY_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def read(request: Request, body: bytes, *, request_id: str, accepted_ms: float) -> tuple[ChatCall, AnswerRequest]:
    """Return the call and what it asks for, on behalf of the caller whom the gateway verified.

    Raises:
        InvalidInputError: the body is not a chat call.
        ForbiddenError: there is no verified caller, or not for this user.
    """
    call = parse(ChatCall, body)
    caller = principal(_context(request))
    scope = Scope(caller.tenant, caller.may_act_for(call.user), AgentId(call.model), SessionId(call.session_id))
    given_id = request.headers.get("idempotency-key")
    return call, AnswerRequest(
        scope=scope,
        new=tuple(NewMessage(one.role, one.content, one.tool_call_id) for one in call.messages),
        sampling=Sampling(max_tokens=call.max_tokens, temperature=call.temperature),
        request_id=checked_id(given_id, field="idempotency-key") if given_id else request_id,
        accepted_ms=accepted_ms,
        repeatable=given_id is not None,
    )


def _context(request: Request) -> dict[str, object]:
    try:
        context = json.loads(request.headers.get(names.REQUEST_CONTEXT_HEADER, ""))
    except ValueError as error:
        raise ForbiddenError("the request carries no verified caller") from error
    return context if isinstance(context, dict) else {}

"""HTTP's view of our errors and callers: problem+json (RFC 9457) and the claims of a verified token."""

from collections.abc import Mapping
from typing import Any, Final

from preheat import names
from preheat.errors import (
    BodyTooLargeError,
    ConflictError,
    EndpointRefusedError,
    EraseIncompleteError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    PreheatError,
    SessionTakenError,
    UserErasedError,
)
from preheat.session import Principal, TenantId, UserId, checked_id

PROBLEM_JSON: Final = "application/problem+json"
_STATUS: Final[tuple[tuple[type[PreheatError], int, str], ...]] = (
    (InvalidInputError, 400, "The request is not valid"),
    (BodyTooLargeError, 413, "The body is too large"),
    (EndpointRefusedError, 422, "The model refuses this request"),
    (ForbiddenError, 403, "Not allowed"),
    (NotFoundError, 404, "Not found"),
    (ConflictError, 409, "Somebody else wrote first"),
    (SessionTakenError, 409, "The session id is taken"),
    (UserErasedError, 404, "The user was erased"),
)
_UNAVAILABLE: Final = (503, "Cannot be served now")


def problem(error: PreheatError) -> tuple[int, dict[str, object]]:
    """Return status and body for an error of ours."""
    status, title = next(
        ((status, title) for kind, status, title in _STATUS if isinstance(error, kind)),
        _UNAVAILABLE,
    )
    body: dict[str, object] = {
        "type": f"urn:preheat:{error.code}",
        "title": title,
        "status": status,
        "detail": str(error),
        "code": error.code,
    }
    if isinstance(error, InvalidInputError):
        body["field"] = error.field
    if isinstance(error, EraseIncompleteError):
        body |= {"left": list(error.left), "erased": dict(error.erased)}
    return status, body


def principal(request_context: Mapping[str, Any]) -> Principal:
    """Return the caller whom the gateway's authorizer verified.

    Args:
        request_context: API Gateway's, with the token's claims under `authorizer.claims`.

    Raises:
        ForbiddenError: the token names no tenant, or neither a user nor the service role.
    """
    claims = (request_context.get("authorizer") or {}).get("claims") or {}
    tenant, user = claims.get(names.CLAIM_TENANT), claims.get(names.CLAIM_USER)
    service = claims.get(names.CLAIM_ROLE) == names.ROLE_SERVICE
    if not tenant or not (user or service):
        raise ForbiddenError("the token carries no tenant, or no user")
    return Principal(
        tenant=TenantId(checked_id(tenant, field=names.CLAIM_TENANT)),
        user=UserId(checked_id(user, field=names.CLAIM_USER)) if user else None,
        service=service,
    )

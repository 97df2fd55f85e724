"""API Gateway's own refusals, in the form that the functions use: application/problem+json."""

import json
from dataclasses import dataclass

from aws_cdk import aws_apigateway as apigateway

_CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class _Problem:
    """One refusal of the gateway: its type there, its status, and its title for the caller."""

    kind: apigateway.ResponseType
    status: int
    title: str


_KINDS = apigateway.ResponseType
_PROBLEMS = (
    _Problem(_KINDS.BAD_REQUEST_BODY, 400, "the body is not a JSON object"),
    _Problem(_KINDS.BAD_REQUEST_PARAMETERS, 400, "a parameter is missing"),
    _Problem(_KINDS.UNAUTHORIZED, 401, "the token is missing or not valid"),
    _Problem(_KINDS.EXPIRED_TOKEN, 401, "the token has expired"),
    _Problem(_KINDS.ACCESS_DENIED, 403, "the token does not allow this"),
    # The gateway's name for a path that no route has.
    _Problem(_KINDS.MISSING_AUTHENTICATION_TOKEN, 404, "there is no such route"),
    _Problem(_KINDS.RESOURCE_NOT_FOUND, 404, "there is no such route"),
    _Problem(_KINDS.REQUEST_TOO_LARGE, 413, "the body is too large"),
    _Problem(_KINDS.UNSUPPORTED_MEDIA_TYPE, 415, "the body is not JSON"),
    _Problem(_KINDS.THROTTLED, 429, "too many requests"),
    _Problem(_KINDS.QUOTA_EXCEEDED, 429, "too many requests"),
    _Problem(_KINDS.INTEGRATION_FAILURE, 503, "the function could not be reached"),
    _Problem(_KINDS.INTEGRATION_TIMEOUT, 504, "the function did not answer in time"),
)


def add_problems(api: apigateway.RestApi) -> None:
    """Give every refusal of `api` that has a known status the problem form. The detail is the gateway's own message."""
    for problem in _PROBLEMS:
        form = {"type": "about:blank", "title": problem.title, "status": problem.status}
        # `messageString` is the gateway's message as a quoted JSON string, so it is put in unquoted.
        template = json.dumps(form)[:-1] + ', "detail": $context.error.messageString}'
        api.add_gateway_response(
            problem.kind.response_type.title().replace("_", ""),
            type=problem.kind,
            status_code=str(problem.status),
            response_headers={"Content-Type": f"'{_CONTENT_TYPE}'"},
            templates={"application/json": template},
        )

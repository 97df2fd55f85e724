"""SageMaker runtime's contract on the wire: header names, limits and the shapes of errors.

Source: botocore's service model of `sagemaker-runtime` 2017-05-13; the wording of ModelError and of an unknown endpoint
is the service's. `LogStreamArn` is left out of ModelError: there is no such log here.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from infra.local.model.chat import MAX_BODY_BYTES
from infra.local.model.errors import ContainerError, ModelServerError, ServiceError, refusal

PREFIX_ID: Final = "x-amzn-sagemaker-prefix-aware-id"
CUSTOM_ATTRIBUTES: Final = "x-amzn-sagemaker-custom-attributes"
VARIANT: Final = "x-Amzn-Invoked-Production-Variant"
STREAM_CONTENT_TYPE: Final = "X-Amzn-SageMaker-Content-Type"
# Header and longest value. The session and the component are accepted; one engine has nothing to choose by them.
_LIMITS: Final = {
    PREFIX_ID: ("prefixAwareId", 64),
    "x-amzn-sagemaker-session-id": ("sessionId", 256),
    "x-amzn-sagemaker-inference-component": ("inferenceComponentName", 63),
    CUSTOM_ATTRIBUTES: ("customAttributes", 1024),
}
_MESSAGE_CHARS: Final = 2048
# Every account of the local stack is this one.
_ACCOUNT: Final = "123456789012"
_WARM_UP: Final = re.compile(r"(?:^|[\s,;])preheat-priority=warm-up(?:$|[\s,;])")


def check_headers(headers: Mapping[str, str]) -> None:
    """Pass when the service would take the headers.

    Raises:
        ServiceError: ValidationError naming the first value that is too long.
    """
    for header, (name, limit) in _LIMITS.items():
        if len(headers.get(header, "")) > limit:
            raise _constraint(name, limit)


def check_size(size_bytes: int) -> None:
    """Pass when the service would take a body of this size.

    Raises:
        ServiceError: ValidationError, it is over the limit.
    """
    if size_bytes > MAX_BODY_BYTES:
        raise _constraint("body", MAX_BODY_BYTES)


def _constraint(name: str, limit: int) -> ServiceError:
    return ServiceError(
        "ValidationError",
        400,
        f"1 validation error detected: Value at '{name}' failed to satisfy constraint: "
        f"Member must have length less than or equal to {limit}",
    )


def unknown_endpoint(name: str) -> ServiceError:
    """Return the error of a call to an endpoint that does not exist."""
    return ServiceError("ValidationError", 400, f"Endpoint {name} of account {_ACCOUNT} not found.")


def is_warm_up(headers: Mapping[str, str]) -> bool:
    """Tell whether the custom attributes mark speculative work: `preheat-priority=warm-up`."""
    return _WARM_UP.search(headers.get(CUSTOM_ATTRIBUTES, "")) is not None


def as_container_error(error: ModelServerError) -> ContainerError:
    """Return the error as the container itself would answer it."""
    if isinstance(error, ContainerError):
        return error
    if isinstance(error, ServiceError):
        return refusal(error.status, str(error))
    return refusal(500, str(error))


def container_response(error: ModelServerError) -> Response:
    """Return the container's own answer to a call that failed."""
    inner = as_container_error(error)
    return Response(inner.body, inner.status, media_type="application/json")


def endpoint_response(error: ModelServerError) -> Response:
    """Return what the caller of the endpoint gets: the service's error, or ModelError around the container's."""
    if isinstance(error, ServiceError):
        return _error(error.code, error.status, {"Message": str(error)})
    inner = as_container_error(error)
    side = "client" if inner.status < 500 else "server"  # noqa: PLR2004  HTTP's border between the two
    original = inner.body.decode(errors="replace")
    message = f'Received {side} error ({inner.status}) from primary with message "{original}".'
    return _error(
        "ModelError",
        424,
        {
            "Message": message[:_MESSAGE_CHARS],
            "OriginalMessage": original[:_MESSAGE_CHARS],
            "OriginalStatusCode": inner.status,
        },
    )


def _error(code: str, status: int, body: dict[str, object]) -> Response:
    return Response(json.dumps(body), status, {"x-amzn-ErrorType": code}, media_type="application/json")

"""API Gateway's REST proxy contract: the event that a function is given, and the response that it gives back.

The shape is that of payload version 1.0 with a Cognito authorizer. As there, the path and its parameters stay
percent-encoded while query strings are decoded; a header or query name sent twice is there with its last value, and
with all of them under `multiValue...`.
"""

import base64
import binascii
import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from urllib.parse import parse_qsl

from infra.local.addresses import ACCOUNT_ID
from infra.local.execution_environment import InvocationError
from infra.local.routing import Match

STAGE: Final = "local"
_API_ID: Final = "preheatloc"
_FRAMING_HEADERS: Final = frozenset({"connection", "content-length", "transfer-encoding"})
_STATUS_CODES: Final = range(100, 600)
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

# What an identity has when the caller is known by a token.
_NO_IDENTITY: Final = dict.fromkeys((
    "accessKey", "accountId", "apiKey", "apiKeyId", "caller", "cognitoAuthenticationProvider",
    "cognitoAuthenticationType", "cognitoIdentityId", "cognitoIdentityPoolId", "principalOrgId", "user", "userArn",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as it came in.

    Attributes:
        headers: Names in lower case with their values, in the order in which they were sent.
        query: The query string as it was sent.
        source_ip: Address of the caller.
        received_at: Epoch seconds.
    """

    match: Match
    path: str
    headers: Sequence[tuple[str, str]]
    query: str
    source_ip: str
    received_at: float


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What goes back to the caller; `headers` may name one header several times."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class InvalidResponseError(InvocationError):
    """The function returned something that is not a proxy response."""


def request_context(request: HttpRequest, claims: Mapping[str, str]) -> dict[str, object]:
    """Return API Gateway's request context for a request with a verified token."""
    received = datetime.fromtimestamp(request.received_at, UTC)
    headers = dict(request.headers)
    return {
        "accountId": ACCOUNT_ID,
        "apiId": _API_ID,
        "authorizer": {"claims": dict(claims)},
        "deploymentId": STAGE,
        "domainName": headers.get("host", "localhost"),
        "domainPrefix": _API_ID,
        "extendedRequestId": uuid.uuid4().hex,
        "httpMethod": request.match.route.method,
        "identity": {**_NO_IDENTITY, "sourceIp": request.source_ip, "userAgent": headers.get("user-agent")},
        "path": f"/{STAGE}{request.path}",
        "protocol": "HTTP/1.1",
        "requestId": str(uuid.uuid4()),
        "requestTime": received.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "requestTimeEpoch": round(request.received_at * 1000),
        "resourceId": STAGE,
        "resourcePath": request.match.route.path,
        "stage": STAGE,
    }


def proxy_event(request: HttpRequest, *, body: bytes, context: Mapping[str, object]) -> dict[str, object]:
    """Return the event for a function. `context` is what `request_context` returned."""
    headers = [*request.headers, *_forwarding_headers(request)]
    query = parse_qsl(request.query, keep_blank_values=True)
    return {
        "resource": request.match.route.path,
        "path": request.path,
        "httpMethod": request.match.route.method,
        "headers": dict(headers),
        "multiValueHeaders": _gathered(headers),
        "queryStringParameters": dict(query) or None,
        "multiValueQueryStringParameters": _gathered(query) or None,
        "pathParameters": dict(request.match.parameters) or None,
        "stageVariables": None,
        "requestContext": dict(context),
        "body": body.decode(errors="replace") if body else None,
        "isBase64Encoded": False,
    }


def http_response(returned: object) -> HttpResponse:
    """Return the HTTP response that a function's proxy response stands for.

    Raises:
        InvalidResponseError: it is no proxy response; API Gateway answers 502 then.
    """
    if not isinstance(returned, Mapping):
        raise InvalidResponseError("the function returned no object")
    status = returned.get("statusCode")
    if not isinstance(status, int) or isinstance(status, bool) or status not in _STATUS_CODES:
        raise InvalidResponseError("statusCode is no HTTP status")
    headers = _response_headers(returned.get("headers"), returned.get("multiValueHeaders"))
    if all(name != "content-type" for name, _ in headers):
        headers.append(("content-type", "application/json"))
    body = _response_body(returned.get("body"), is_base64=returned.get("isBase64Encoded") is True)
    return HttpResponse(status=status, headers=tuple(headers), body=body)


def _forwarding_headers(request: HttpRequest) -> list[tuple[str, str]]:
    random = uuid.uuid4().hex
    return [
        ("x-amzn-trace-id", f"Root=1-{round(request.received_at):08x}-{random[:24]}"),
        ("x-forwarded-for", request.source_ip),
        ("x-forwarded-proto", "http"),
    ]


def _gathered(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    gathered: dict[str, list[str]] = {}
    for name, value in pairs:
        gathered.setdefault(name, []).append(value)
    return gathered


def _response_headers(single: object, multiple: object) -> list[tuple[str, str]]:
    values: dict[str, list[str]] = {}
    for name, value in _named(single, "headers"):
        values[name] = [_header_value(name, value)]
    for name, several in _named(multiple, "multiValueHeaders"):
        if not isinstance(several, list):
            raise InvalidResponseError(f"multiValueHeaders.{name} is no list")
        values[name] = [_header_value(name, value) for value in several]
    return [(name, value) for name, several in values.items() if name not in _FRAMING_HEADERS for value in several]


def _named(mapping: object, field: str) -> list[tuple[str, object]]:
    if mapping is None:
        return []
    if not isinstance(mapping, Mapping):
        raise InvalidResponseError(f"{field} is no object")
    return [(str(name).lower(), value) for name, value in mapping.items()]


def _header_value(name: str, value: object) -> str:
    text = json.dumps(value) if isinstance(value, bool) else value
    if not isinstance(text, (str, int, float)):
        raise InvalidResponseError(f"the header {name} is no string")
    if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(str(text))):
        raise InvalidResponseError("a header holds characters that no header may hold")
    return str(text)


def _response_body(body: object, *, is_base64: bool) -> bytes:
    if body is None:
        return b""
    if not isinstance(body, str):
        raise InvalidResponseError("body is no string")
    if not is_base64:
        return body.encode()
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as error:
        raise InvalidResponseError("body is no base64") from error

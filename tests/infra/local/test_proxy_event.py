"""API Gateway's REST proxy contract."""

import base64
from collections.abc import Mapping, Sequence

import pytest
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from infra.local.proxy_event import (
    HttpRequest,
    InvalidResponseError,
    http_response,
    proxy_event,
    request_context,
)
from infra.local.routing import match_route
from infra.topology import ROUTES
from preheat import names

CLAIMS = {names.CLAIM_TENANT: "acme", names.CLAIM_USER: "ada"}


def request(
    path: str = "/v1/agents/travel", *, query: str = "", headers: Sequence[tuple[str, str]] = ()
) -> HttpRequest:
    return HttpRequest(
        match=match_route(ROUTES, "PUT", path=path),
        path=path,
        headers=(("host", "localhost:1"), ("user-agent", "test"), *headers),
        query=query,
        source_ip="127.0.0.1",
        received_at=1_800_000_000.25,
    )


def event_of(asked: HttpRequest, *, body: bytes = b"{}") -> dict[str, object]:
    return proxy_event(asked, body=body, context=request_context(asked, CLAIMS))


def test_event__has_the_fields_of_payload_version_1() -> None:
    event = event_of(request())
    assert set(event) == {
        "resource", "path", "httpMethod", "headers", "multiValueHeaders", "queryStringParameters",
        "multiValueQueryStringParameters", "pathParameters", "stageVariables", "requestContext", "body",
        "isBase64Encoded",
    }  # fmt: skip
    assert event["resource"] == "/v1/agents/{agent}"
    assert event["pathParameters"] == {"agent": "travel"}
    assert event["body"] == "{}"
    assert event["isBase64Encoded"] is False
    assert event["stageVariables"] is None


def test_event__is_one_that_powertools_reads() -> None:
    event = APIGatewayProxyEvent(event_of(request(query="a=1&a=2", headers=[("x-own", "v")])))
    assert event.http_method == "PUT"
    assert event.path == "/v1/agents/travel"
    assert event.json_body == {}
    assert event.headers["X-Own"] == "v"
    assert event.query_string_parameters == {"a": "2"}
    assert event.multi_value_query_string_parameters == {"a": ["1", "2"]}
    assert event.request_context.authorizer.claims == CLAIMS
    assert event.request_context.request_time_epoch == 1_800_000_000_250
    assert event.request_context.identity.source_ip == "127.0.0.1"
    assert event.request_context.identity.user_agent == "test"


def test_event__path_and_its_parameters_stay_encoded_and_the_query_does_not() -> None:
    event = event_of(request("/v1/users/a%40b/preferences/k%20v", query="q=a%20b+c&empty="))
    assert event["path"] == "/v1/users/a%40b/preferences/k%20v"
    assert event["pathParameters"] == {"user": "a%40b", "key": "k%20v"}
    assert event["queryStringParameters"] == {"q": "a b c", "empty": ""}


def test_event__what_was_not_sent_is_null() -> None:
    event = event_of(request(), body=b"")
    assert event["body"] is None
    assert event["queryStringParameters"] is None
    assert event["multiValueQueryStringParameters"] is None


def test_event__a_header_sent_twice_has_its_last_value_and_all_of_them() -> None:
    event = event_of(request(headers=[("x-a", "1"), ("x-a", "2")]))
    assert isinstance(event["headers"], Mapping)
    assert isinstance(event["multiValueHeaders"], Mapping)
    assert event["headers"]["x-a"] == "2"
    assert event["multiValueHeaders"]["x-a"] == ["1", "2"]
    assert event["headers"]["x-forwarded-for"] == "127.0.0.1"
    assert str(event["headers"]["x-amzn-trace-id"]).startswith("Root=1-6b49d200-")


def test_context__names_route_stage_and_a_fresh_request_id() -> None:
    first, second = request_context(request(), CLAIMS), request_context(request(), CLAIMS)
    assert first["resourcePath"] == "/v1/agents/{agent}"
    assert first["path"] == "/local/v1/agents/travel"
    assert first["stage"] == "local"
    assert first["requestTime"] == "15/Jan/2027:08:00:00 +0000"
    assert first["requestId"] != second["requestId"]


def test_response__status_headers_and_body() -> None:
    response = http_response(
        {
            "statusCode": 201,
            "headers": {"Content-Type": "text/plain", "X-Count": 2, "Content-Length": "9999"},
            "multiValueHeaders": {"Set-Cookie": ["a=1", "b=2"]},
            "body": "grüezi",
        }
    )
    assert response.status == 201
    assert response.body == "grüezi".encode()
    assert response.headers == (
        ("content-type", "text/plain"),
        ("x-count", "2"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    )


def test_response__is_json_when_nothing_is_said() -> None:
    response = http_response({"statusCode": 204})
    assert response.headers == (("content-type", "application/json"),)
    assert response.body == b""


def test_response__base64_is_decoded() -> None:
    encoded = base64.b64encode(b"\x00\xff").decode()
    assert http_response({"statusCode": 200, "body": encoded, "isBase64Encoded": True}).body == b"\x00\xff"


@pytest.mark.parametrize(
    "returned",
    [
        None,
        "text",
        [],
        {},
        {"statusCode": "200"},
        {"statusCode": True},
        {"statusCode": 42},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "headers": []},
        {"statusCode": 200, "headers": {"a": {}}},
        {"statusCode": 200, "headers": {"a": "x\r\nset-cookie: evil"}},
        {"statusCode": 200, "headers": {"a b": "x"}},
        {"statusCode": 200, "multiValueHeaders": {"a": "x"}},
        {"statusCode": 200, "body": "no base64!", "isBase64Encoded": True},
    ],
)
def test_response__what_is_no_proxy_response_is_refused(returned: object) -> None:
    with pytest.raises(InvalidResponseError):
        http_response(returned)

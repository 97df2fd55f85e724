"""The HTTP API in front of the functions, in this process and without a socket."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from infra.local.execution_environment import ExecutionEnvironment, LambdaContext
from infra.local.gateway import Gateway
from infra.local.streamed_function import StreamedFunction
from infra.local.tokens import TokenVerifier, mint_token
from infra.topology import FUNCTIONS, MAX_BODY_BYTES
from preheat import names

SECRET = "a-secret-of-this-stack-0123456789abcdef"
AGENT = "/v1/agents/travel"
CHAT = "/v1/chat/completions"


def api(event: object, context: LambdaContext) -> object:
    """Give the event back, or do what its body says."""
    assert isinstance(event, Mapping)
    match event["body"]:
        case "raise":
            raise KeyError("a secret cause")
        case "nonsense":
            return "no proxy response"
    return {"statusCode": 200, "body": json.dumps({"event": event, "id": context.aws_request_id})}


async def chat(scope: Scope, receive: Receive, send: Send) -> None:
    """Give body and request context back, or fail when the body says so."""
    body = (await receive())["body"]
    if body == b"raise":
        raise KeyError("a secret cause")
    context = dict(scope["headers"])[names.REQUEST_CONTEXT_HEADER.encode()]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": body + b"|" + context})


def ask(
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | AsyncIterator[bytes] | None = None,
    token: str | None = "",
) -> httpx.Response:
    """Send one request. `token`: empty is a valid one, None is none at all."""
    functions = {function.folder: function for function in FUNCTIONS}
    gateway = Gateway(
        api=ExecutionEnvironment(functions[names.API], api),
        chat=StreamedFunction(functions[names.CHAT], chat),
        verifier=TokenVerifier(SECRET),
    )
    valid = mint_token(SECRET, tenant="acme", user="ada", service=False, now=time.time(), ttl_s=60.0)
    sent = dict(headers or {})
    if token is not None:
        sent["Authorization"] = f"Bearer {token or valid}"

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(app=gateway)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, headers=sent, content=content)

    return asyncio.run(call())


def assert_problem(response: httpx.Response, status: int) -> str:
    """Check that the answer is a problem document without a cause in it, and return its detail."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert "secret" not in response.text
    assert "Traceback" not in response.text
    document = response.json()
    assert document["status"] == status
    return str(document["detail"])


def test_api__is_called_with_the_proxy_event_and_its_claims() -> None:
    response = ask("PUT", f"{AGENT}?a=1", content=b'{"instructions": ""}')
    assert response.status_code == 200
    event = response.json()["event"]
    assert event["resource"] == "/v1/agents/{agent}"
    assert event["body"] == '{"instructions": ""}'
    assert event["queryStringParameters"] == {"a": "1"}
    assert event["requestContext"]["authorizer"]["claims"][names.CLAIM_TENANT] == "acme"
    assert response.headers["x-amzn-requestid"] == event["requestContext"]["requestId"]
    assert response.headers["content-type"] == "application/json"


def test_api__an_encoded_slash_is_part_of_a_value() -> None:
    event = ask("GET", "/v1/users/a%2Fb/preferences").json()["event"]
    assert event["pathParameters"] == {"user": "a%2Fb"}


def test_chat__answers_itself_with_the_request_context() -> None:
    response = ask("POST", CHAT, content=b"question")
    body, _, context = response.text.partition("|")
    assert body == "question"
    assert json.loads(context)["authorizer"]["claims"][names.CLAIM_USER] == "ada"


def test_chat__a_forged_request_context_is_thrown_away() -> None:
    forged = json.dumps({"authorizer": {"claims": {names.CLAIM_TENANT: "victim"}}})
    response = ask("POST", CHAT, content=b"q", headers={names.REQUEST_CONTEXT_HEADER.title(): forged})
    assert "victim" not in response.text


@pytest.mark.parametrize(("method", "path"), [("GET", AGENT), ("POST", CHAT)])
def test_authorizer__no_token_or_a_bad_one_is_401(method: str, path: str) -> None:
    assert "missing" in assert_problem(ask(method, path, token=None), 401)
    assert "not valid" in assert_problem(ask(method, path, token="nonsense"), 401)
    expired = mint_token(SECRET, tenant="acme", user="ada", service=False, now=time.time() - 61, ttl_s=60.0)
    response = ask(method, path, token=expired)
    assert "expired" in assert_problem(response, 401)
    assert response.headers["www-authenticate"] == "Bearer"


def test_unknown_path__is_404_and_says_nothing_of_tokens() -> None:
    assert_problem(ask("GET", "/v1/nothing", token=None), 404)


def test_wrong_method__is_405_with_the_right_ones() -> None:
    response = ask("DELETE", AGENT)
    assert_problem(response, 405)
    assert response.headers["allow"] == "GET, PUT"


@pytest.mark.parametrize(("method", "path"), [("PUT", AGENT), ("POST", CHAT)])
def test_body__at_the_limit_passes_and_over_it_is_413(method: str, path: str) -> None:
    assert ask(method, path, content=b"x" * MAX_BODY_BYTES).status_code == 200
    assert_problem(ask(method, path, content=b"x" * (MAX_BODY_BYTES + 1)), 413)


def test_body__without_a_declared_length_is_counted_too() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 65_536 + 1):
            yield b"x" * 65_536

    assert_problem(ask("POST", CHAT, content=pieces()), 413)


@pytest.mark.parametrize(("method", "path"), [("PUT", AGENT), ("POST", CHAT)])
def test_failure__is_502_without_its_cause_which_is_logged(
    method: str, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert_problem(ask(method, path, content=b"raise"), 502)
    assert "KeyError" in caplog.text


def test_failure__a_response_that_is_no_proxy_response_is_502() -> None:
    assert_problem(ask("PUT", AGENT, content=b"nonsense"), 502)


def test_healthz__is_open() -> None:
    response = ask("GET", "/healthz", token=None)
    assert response.status_code == 200
    assert response.json() == {"status": "ok"}

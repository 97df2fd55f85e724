"""The chat app's door: who is refused with what, before and without a model."""

import json
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest

from functions.chat.handler import app
from preheat import names
from preheat.register_agent import register_agent
from preheat.requests import AgentCall, SessionCall
from preheat.runtime import get_runtime
from preheat.session import Principal, TenantId
from preheat.start_session import start_session
from tests.functions.conftest import AGENT, TENANT, USER, Deployed

SERVICE = Principal(TenantId(TENANT), None, service=True)
QUESTION = {
    "model": AGENT,
    "user": USER,
    "session_id": "s1",
    "messages": [{"role": "user", "content": "Where to?"}],
}


def post(content: bytes | AsyncIterator[bytes], claims: dict[str, str] | None) -> httpx.Response:
    async def send() -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        if claims is not None:
            headers[names.REQUEST_CONTEXT_HEADER] = json.dumps({"authorizer": {"claims": claims}})
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://chat") as client:
            return await client.post("/v1/chat/completions", content=content, headers=headers)

    return anyio.run(send)


def ask(body: object, claims: dict[str, str] | None) -> httpx.Response:
    return post(json.dumps(body).encode(), claims)


def start_one() -> None:
    ports = get_runtime().ports
    register_agent(SERVICE, AGENT, call=AgentCall(instructions="Help with travel."), ports=ports)
    start_session(SERVICE, USER, call=SessionCall(agent=AGENT, session_id="s1", warm=False), fresh_id="", ports=ports)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0.content"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 9}, "temperature"),
        ({"session_id": "a#b"}, "session_id"),
        ({"n": 2}, "n"),
    ],
)
def test_chat__bad_call_is_a_400_that_names_the_field(
    deployed: Deployed, claims: dict[str, str], change: dict[str, object], field: str
) -> None:
    answered = ask({**QUESTION, **change}, claims)

    assert answered.status_code == 400
    assert answered.headers["content-type"] == "application/problem+json"
    assert answered.json()["field"] == field


def test_chat__caller_unverified_or_for_another_user_is_403(deployed: Deployed) -> None:
    other = {names.CLAIM_TENANT: TENANT, names.CLAIM_USER: "bob"}

    assert [ask(QUESTION, one).status_code for one in (None, {}, other)] == [403, 403, 403]


def test_chat__unknown_agent_and_session_are_404(deployed: Deployed, claims: dict[str, str]) -> None:
    unknown_agent = ask(QUESTION, claims)
    start_one()
    unknown_session = ask({**QUESTION, "session_id": "s2"}, claims)

    assert (unknown_agent.status_code, unknown_session.status_code) == (404, 404)


def test_chat__body_over_the_limit_is_a_413_also_without_a_length(deployed: Deployed, claims: dict[str, str]) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"x" * 65_536

    assert post(chunks(), claims).status_code == 413


@pytest.mark.parametrize("stream", [True, False])
def test_chat__model_out_of_reach_is_a_503_with_a_reason_and_saves_nothing(
    deployed: Deployed, claims: dict[str, str], *, stream: bool
) -> None:
    start_one()

    answered = ask({**QUESTION, "stream": stream}, claims)

    assert answered.status_code == 503
    assert answered.json()["code"] == "endpoint_unavailable"
    ports = get_runtime().ports
    assert ports.records.read_user_state(SERVICE.tenant, SERVICE.may_act_for(USER)).hist_seq == 0

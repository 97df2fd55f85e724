"""The JSON API under API Gateway's proxy event: what it does, and every way it says no."""

import json
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.api.handler import handler
from preheat import names
from tests.functions.conftest import AGENT, USER, Deployed

AGENT_CALL = {"instructions": "Help with travel.", "tools": [{"name": "search", "inputSchema": {"type": "object"}}]}


def event(
    method: str, path: str, claims: dict[str, str] | None, *, body: object = None, raw: str | None = None
) -> dict[str, Any]:
    return {
        "resource": path,
        "path": path,
        "httpMethod": method,
        "headers": {"Content-Type": "application/json"},
        "multiValueHeaders": {},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {"requestId": "q1", "authorizer": {"claims": claims} if claims else {}},
        "body": raw if raw is not None else (json.dumps(body) if body is not None else None),
        "isBase64Encoded": False,
    }


def call(
    method: str,
    path: str,
    claims: dict[str, str] | None,
    *,
    body: object = None,
    raw: str | None = None,
    query: dict[str, str] | None = None,
) -> tuple[int, dict[str, Any]]:
    request = event(method, path, claims, body=body, raw=raw) | {"queryStringParameters": query}
    response = handler(request, LambdaContext())
    return response["statusCode"], json.loads(response["body"])


def test_api__registers_an_agent_and_shows_it(deployed: Deployed, claims: dict[str, str]) -> None:
    put = call("PUT", f"/v1/agents/{AGENT}", claims, body=AGENT_CALL)
    got = call("GET", f"/v1/agents/{AGENT}", claims)

    assert put == got
    assert put[0] == 200
    assert (put[1]["agent_ver"], put[1]["catalog_ver"], put[1]["tools"]) == (1, 1, ["tools/search"])


def test_api__preferences_are_set_listed_and_deleted(deployed: Deployed, claims: dict[str, str]) -> None:
    base = f"/v1/users/{USER}/preferences"
    call("PUT", f"{base}/seat", claims, body={"value": "gang"})
    call("PUT", f"{base}/cities", claims, body={"value": ["Köln", "東京"]})
    call("DELETE", f"{base}/seat", claims)

    status, listed = call("GET", base, claims)

    assert status == 200
    assert listed["pref_ver"] == 3
    assert [(one["key"], one["value"]) for one in listed["preferences"]] == [("cities", ["Köln", "東京"])]


def test_api__whole_set_is_replaced_and_shows_all_that_is_kept(deployed: Deployed, claims: dict[str, str]) -> None:
    base = f"/v1/users/{USER}/preferences"
    call("PUT", f"{base}/old", claims, body={"value": 1})
    choice = {"key": "seat", "value": "aisle", "type": "choice", "options": ["aisle", "window"], "source": "imported"}
    own = {"key": "seat", "value": "middle", "agent": AGENT}

    answered = call("PUT", base, claims, body={"preferences": [own, choice]})
    listed = call("GET", base, claims)[1]

    assert answered == (200, {"count": 2, "pref_ver": 2})
    assert listed["pref_ver"] == 2
    kept = {"version": 2, "updated_at": listed["preferences"][0]["updated_at"], "drift": None}
    assert listed["preferences"] == [
        {**choice, "agent": None, **kept},
        {**own, "type": "text", "options": [], "source": "stated", **kept},
    ]


def test_api__an_agents_own_preference_is_deleted_by_its_name(deployed: Deployed, claims: dict[str, str]) -> None:
    base = f"/v1/users/{USER}/preferences"
    for agent in (None, AGENT):
        call("PUT", f"{base}/seat", claims, body={"value": "aisle", "agent": agent})
    request = event("DELETE", f"{base}/seat", claims)
    request["queryStringParameters"] = {"agent": AGENT}

    response = handler(request, LambdaContext())

    assert json.loads(response["body"]) == {"key": "seat", "agent": AGENT, "pref_ver": 3}
    assert [one["agent"] for one in call("GET", base, claims)[1]["preferences"]] == [None]


def test_api__behaviour_against_a_preference_is_flagged_and_cleared_by_a_set(
    deployed: Deployed, claims: dict[str, str]
) -> None:
    base = f"/v1/users/{USER}/preferences"
    call("PUT", f"{base}/seat", claims, body={"value": "aisle"})

    seen = [call("POST", f"{base}/seat/observations", claims, body={"value": "window"}) for _ in range(5)]
    flagged = call("GET", base, claims)[1]["preferences"][0]
    call("PUT", f"{base}/seat", claims, body={"value": "aisle"})

    assert [(status, one["drift"]) for status, one in seen] == [(200, None)] * 4 + [(200, flagged["drift"])]
    assert (flagged["value"], flagged["drift"]) == ("aisle", {"value": "window", "count": 5})
    assert call("GET", base, claims)[1]["preferences"][0]["drift"] is None
    assert call("POST", f"{base}/none/observations", claims, body={"value": "x"})[0] == 404


def test_api__turns_are_appended_once(deployed: Deployed, claims: dict[str, str]) -> None:
    turns = {"session": "old", "turns": [{"id": "t1", "role": "user", "content": "hello"}]}

    answers = [call("POST", f"/v1/users/{USER}/turns", claims, body=turns) for _ in range(2)]

    assert answers == [(200, {"hist_seq": 1}), (200, {"hist_seq": 1})]


def test_api__turn_log_comes_by_parts_in_the_shape_it_was_appended_in(
    deployed: Deployed, claims: dict[str, str]
) -> None:
    path = f"/v1/users/{USER}/turns"
    called = {"id": "c1", "type": "function", "function": {"name": "crm/find", "arguments": "{}"}}
    turns: list[dict[str, object]] = [
        {"id": "t1", "session": "s1", "role": "user", "content": "日本"},
        {"id": "t2", "session": "s1", "role": "assistant", "content": "", "tool_calls": [called]},
        {"id": "t3", "session": "s1", "role": "tool", "content": "none", "tool_call_id": "c1"},
        {"id": "t4", "session": "s2", "role": "user", "content": "thanks"},
    ]
    call("POST", path, claims, body={"turns": turns})

    first = call("GET", path, claims, query={"limit": "3"})
    rest = call("GET", path, claims, query={"after": "3"})
    of_one = call("GET", path, claims, query={"session": "s1", "limit": "200"})

    numbered = [{"seq": seq, **turn} for seq, turn in enumerate(turns, start=1)]
    assert first == (200, {"turns": numbered[:3], "next_after": 3})
    assert rest == (200, {"turns": numbered[3:], "next_after": None})
    assert of_one == (200, {"turns": numbered[:3], "next_after": None})


@pytest.mark.parametrize("query", [{"after": "x"}, {"limit": "201"}, {"session": "a b"}, {"cursor": "1"}])
def test_api__bad_query_of_the_turn_log_names_its_field(
    deployed: Deployed, claims: dict[str, str], query: dict[str, str]
) -> None:
    status, refused = call("GET", f"/v1/users/{USER}/turns", claims, query=query)

    assert (status, refused["code"]) == (400, "invalid_input")
    assert refused["field"] == next(iter(query))


def test_api__session_starts_with_202_and_its_event_is_on_the_queue(deployed: Deployed, claims: dict[str, str]) -> None:
    call("PUT", f"/v1/agents/{AGENT}", claims, body=AGENT_CALL)

    status, started = call("POST", f"/v1/users/{USER}/sessions", claims, body={"agent": AGENT, "session_id": "s1"})
    shown = call("GET", f"/v1/users/{USER}/sessions/s1", claims)

    assert (status, started["session_id"], started["state"]) == (202, "s1", "warming")
    assert (shown[0], shown[1]["state"], shown[1]["reason"]) == (200, "warming", "no_bundle_yet")
    assert len(deployed.messages(names.WARM_QUEUE)) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("PUT", "/v1/agents/travel", {}, 400, "instructions"),
        ("PUT", "/v1/agents/travel", {**AGENT_CALL, "extra": 1}, 400, "extra"),
        ("PUT", "/v1/agents/travel", {**AGENT_CALL, "tools": [{"name": ""}]}, 400, "tools[0].name"),
        ("PUT", "/v1/agents/travel", {**AGENT_CALL, "budgets": {"max_tokens": 0}}, 400, "budgets.max_tokens"),
        ("PUT", "/v1/users/ada/preferences/seat", {"value": None}, 400, "value"),
        ("PUT", "/v1/users/ada/preferences/se at", {"value": "aisle"}, 400, "key"),
        ("PUT", "/v1/users/ada/preferences/seat", {"value": "aisle", "type": "choice"}, 400, "options"),
        ("PUT", "/v1/users/ada/preferences", {"preferences": [{"key": "k", "value": 1}] * 2}, 400, "preferences.1.key"),
        ("POST", "/v1/users/ada/preferences/seat/observations", {"value": []}, 400, "value"),
        ("POST", "/v1/users/ada/turns", {"turns": [{"id": "t1", "role": "king", "content": ""}]}, 400, "turns.0.role"),
        ("POST", "/v1/users/ada/turns", {"turns": []}, 400, "turns"),
        ("POST", "/v1/users/ada/sessions", {"agent": "no#t"}, 400, "agent"),
    ],
)
def test_api__bad_body_is_a_problem_that_names_the_field(
    deployed: Deployed, claims: dict[str, str], method: str, path: str, body: object, status: int, field: str
) -> None:
    answered = call(method, path, claims, body=body)

    assert answered[0] == status
    assert answered[1]["field"] == field
    assert answered[1]["code"] == "invalid_input"


@pytest.mark.parametrize("raw", ["", "{", "[]", "null", "\u0000"])
def test_api__body_that_is_no_object_is_a_400(deployed: Deployed, claims: dict[str, str], raw: str) -> None:
    status, answered = call("PUT", f"/v1/agents/{AGENT}", claims, raw=raw)

    assert (status, answered["code"]) == (400, "invalid_input")


def test_api__unknown_agent_session_and_path_are_404(deployed: Deployed, claims: dict[str, str]) -> None:
    answers = [
        call("GET", "/v1/agents/nobody", claims),
        call("POST", f"/v1/users/{USER}/sessions", claims, body={"agent": "nobody"}),
        call("GET", f"/v1/users/{USER}/sessions/none", claims),
        call("GET", "/v1/nothing", claims),
    ]

    assert [(status, body["code"]) for status, body in answers] == [(404, "not_found")] * 4


def test_api__body_over_the_limit_is_a_413(deployed: Deployed, claims: dict[str, str]) -> None:
    big = {**AGENT_CALL, "domain_knowledge": "x" * 1_100_000}

    assert call("PUT", f"/v1/agents/{AGENT}", claims, body=big)[0] == 413


def test_api__caller_without_a_tenant_or_for_another_user_is_403(deployed: Deployed) -> None:
    users_token = {names.CLAIM_TENANT: "acme", names.CLAIM_USER: "bob"}
    answers = [
        call("GET", f"/v1/users/{USER}/preferences", None),
        call("GET", f"/v1/users/{USER}/preferences", users_token),
        call("PUT", f"/v1/agents/{AGENT}", users_token, body=AGENT_CALL),
    ]

    assert [status for status, _ in answers] == [403, 403, 403]


def test_api__records_out_of_service_is_a_503_with_a_code(deployed: Deployed, claims: dict[str, str]) -> None:
    deployed.dynamodb.delete_table(TableName=names.RECORDS_TABLE)

    status, body = call("GET", f"/v1/users/{USER}/preferences", claims)

    assert (status, body["code"]) == (503, "source_unavailable")


def test_api__percent_encoded_ids_are_decoded(deployed: Deployed, claims: dict[str, str]) -> None:
    claims = {**claims, names.CLAIM_USER: "ada@example.org"}
    del claims[names.CLAIM_ROLE]
    call("PUT", "/v1/users/ada%40example.org/preferences/seat", claims, body={"value": "aisle"})

    status, listed = call("GET", "/v1/users/ada%40example.org/preferences", claims)

    assert status == 200
    assert [one["key"] for one in listed["preferences"]] == ["seat"]


def test_api__encoded_slash_is_no_way_around_a_route(deployed: Deployed, claims: dict[str, str]) -> None:
    status, _ = call("GET", "/v1/users/bob%2F..%2Fada/preferences", claims)

    assert status == 400

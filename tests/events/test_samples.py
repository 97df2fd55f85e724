"""Every sample is what its name says: the envelope that the service sends, with a body that passes the door."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import validate
from pydantic import BaseModel

from infra.local.schemas import build_schemas
from infra.topology import FUNCTIONS, QUEUES, ROUTES, RULES, Function, Rule
from preheat import names
from preheat.adapters.http import principal
from preheat.events import read_preference_changed, read_session_started
from preheat.requests import (
    AgentCall,
    ChatCall,
    ObservationCall,
    PreferenceCall,
    PreferencesCall,
    SessionCall,
    TurnsCall,
    TurnsQuery,
    parse,
    parse_value,
)

EVENTS = Path(__file__).parents[2] / "events"
SCHEMAS = {name.removesuffix(".json"): json.loads(text) for name, text in build_schemas().items()}
CALLS = sorted(path.name for path in EVENTS.glob("api_*.json"))
READERS = {names.WARM_SESSION: read_session_started, names.REFRESH_PREFERENCES: read_preference_changed}
DETAILS = {names.SESSION_STARTED: "session_started", names.PREFERENCE_CHANGED: "preference_changed"}
BODIES: dict[tuple[str, str], tuple[type[BaseModel], str]] = {
    ("PUT", "/v1/agents/{agent}"): (AgentCall, "agent"),
    ("PUT", "/v1/users/{user}/preferences"): (PreferencesCall, "preferences"),
    ("PUT", "/v1/users/{user}/preferences/{key}"): (PreferenceCall, "preference"),
    ("POST", "/v1/users/{user}/preferences/{key}/observations"): (ObservationCall, "observation"),
    ("POST", "/v1/users/{user}/turns"): (TurnsCall, "turns"),
    ("POST", "/v1/users/{user}/sessions"): (SessionCall, "session"),
}


def sample(name: str) -> Any:  # noqa: ANN401  # JSON of any shape
    return json.loads((EVENTS / name).read_text(encoding="utf-8"))


def test_samples__there_is_one_for_every_function_route_and_rule() -> None:
    calls = {(sample(name)["httpMethod"], sample(name)["resource"]) for name in CALLS}
    bus = {sample(path.name)[0]["DetailType"] for path in EVENTS.glob("bus_*.json")}

    assert calls == {(route.method, route.path) for route in ROUTES if route.function == names.API}
    assert bus == {detail_type for rule in RULES for detail_type in rule.detail_types}
    assert {f"{one.folder}.json" for one in FUNCTIONS if one.folder != names.API} <= {
        path.name for path in EVENTS.glob("*.json")
    }


@pytest.mark.parametrize("function", [one for one in FUNCTIONS if one.queue], ids=lambda one: one.folder)
def test_samples__a_queue_functions_batch_is_as_lambda_hands_it_over(function: Function) -> None:
    records = sample(f"{function.folder}.json")["Records"]

    assert 0 < len(records) <= function.batch_size
    assert len({record["messageId"] for record in records}) == len(records)
    for record in records:
        assert record["eventSource"] == "aws:sqs"
        assert record["eventSourceARN"].endswith(f":{function.queue}")
        assert record["md5OfBody"] == hashlib.md5(record["body"].encode(), usedforsecurity=False).hexdigest()
        envelope = json.loads(record["body"])
        validate(envelope, SCHEMAS["event_envelope"])
        validate(envelope["detail"], SCHEMAS[DETAILS[envelope["detail-type"]]])
        assert READERS[function.folder](record["body"])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_samples__a_bus_entry_is_one_that_the_rule_takes(rule: Rule) -> None:
    taken = [
        entry
        for path in EVENTS.glob("bus_*.json")
        for entry in sample(path.name)
        if entry["Source"] == rule.source and entry["DetailType"] in rule.detail_types
    ]

    assert taken
    for entry in taken:
        assert entry.keys() == {"EventBusName", "Source", "DetailType", "Detail"}
        assert entry["EventBusName"] == names.BUS
        validate(json.loads(entry["Detail"]), SCHEMAS[DETAILS[entry["DetailType"]]])
    assert rule.queue in {queue.name for queue in QUEUES}


@pytest.mark.parametrize("name", CALLS)
def test_samples__an_api_call_is_a_proxy_event_of_a_verified_caller_who_may_make_it(name: str) -> None:
    event = sample(name)
    caller = principal(event["requestContext"])

    path = event["resource"]
    for parameter, value in (event["pathParameters"] or {}).items():
        path = path.replace(f"{{{parameter}}}", value)
    assert event["path"] == path
    assert event["requestContext"]["resourcePath"] == event["resource"]
    assert event["requestContext"]["httpMethod"] == event["httpMethod"]
    assert event["multiValueHeaders"] == {key: [value] for key, value in event["headers"].items()}
    if "user" in event["pathParameters"]:
        assert caller.may_act_for(event["pathParameters"]["user"])
    else:
        caller.must_be_service()


@pytest.mark.parametrize("name", CALLS)
def test_samples__an_api_calls_body_passes_the_door_and_its_schema(name: str) -> None:
    event = sample(name)
    shape = BODIES.get((event["httpMethod"], event["resource"]))

    if shape is None:
        assert event["body"] is None
        return
    model, schema = shape
    assert parse(model, event["body"])
    validate(json.loads(event["body"]), SCHEMAS[schema])


def test_samples__the_query_of_the_turn_log_passes_the_door() -> None:
    event = sample("api_get_turns.json")

    assert parse_value(TurnsQuery, event["queryStringParameters"]).limit == 100
    assert event["multiValueQueryStringParameters"] == {
        key: [value] for key, value in event["queryStringParameters"].items()
    }


def test_samples__the_chat_body_passes_the_door_and_its_schema() -> None:
    assert parse(ChatCall, (EVENTS / "chat.json").read_bytes()).stream is True
    validate(sample("chat.json"), SCHEMAS["chat"])

"""The door of the API: what fits comes in as a value, what does not is refused by the name of its field."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from preheat.budget import Budgets
from preheat.errors import BodyTooLargeError, InvalidInputError
from preheat.requests import (
    MAX_BODY_BYTES,
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

CHAT: dict[str, Any] = {
    "model": "desk",
    "user": "ana",
    "session_id": "s1",
    "messages": [{"role": "user", "content": "hi"}],
}
CALL = {"id": "c1", "type": "function", "function": {"name": "flights/search", "arguments": "{}"}}


def turns(**turn: object) -> dict[str, Any]:
    return {"turns": [{"id": "t1", "role": "user", "content": "hi"} | turn]}


@pytest.mark.parametrize(
    ("shape", "body", "field"),
    [
        (ChatCall, {**CHAT, "session_id": "s 1"}, "session_id"),
        (ChatCall, {**CHAT, "session_id": "s1\n"}, "session_id"),
        (ChatCall, {**CHAT, "messages": []}, "messages"),
        (ChatCall, {**CHAT, "messages": [{"role": "system", "content": "obey"}]}, "messages.0.role"),
        (ChatCall, {**CHAT, "messages": [{"role": "user", "content": ""}]}, "messages.0.content"),
        (ChatCall, {**CHAT, "max_tokens": 0}, "max_tokens"),
        (ChatCall, {**CHAT, "temperature": float("nan")}, "temperature"),
        (ChatCall, {**CHAT, "tools": []}, "tools"),
        (ChatCall, {"model": "desk"}, "user"),
        (AgentCall, {"instructions": ""}, "instructions"),
        (AgentCall, {"instructions": "x", "budgets": {"max_tokens": 10}}, "budgets.max_tokens"),
        (AgentCall, {"instructions": "x", "budgets": {"tokens": 10}}, "budgets.tokens"),
        (AgentCall, {"instructions": "x", "tools": [], "servers": {}}, "body"),
        (TurnsCall, {"turns": []}, "turns"),
        (TurnsCall, {"turns": [turns()["turns"][0]] * 41}, "turns"),
        (TurnsCall, turns(id="t#1"), "turns.0.id"),
        (TurnsCall, turns(role="system"), "turns.0.role"),
        (TurnsCall, turns(role="tool"), "turns.0"),
        (TurnsCall, turns(content="語" * 100_001), "turns.0.content"),
        (TurnsCall, turns(tool_call_id="c1"), "turns.0"),
        (TurnsCall, turns(tool_calls=[CALL]), "turns.0"),
        (TurnsCall, turns(role="assistant", tool_calls=[{**CALL, "type": "code"}]), "turns.0.tool_calls.0.type"),
        (SessionCall, {"agent": "desk", "warm": "perhaps"}, "warm"),
        (SessionCall, [], "body"),
        (PreferenceCall, {}, "value"),
        (PreferenceCall, {"value": "hi", "type": "enum"}, "type"),
        (PreferenceCall, {"value": "hi", "type": "number"}, "value"),
        (PreferenceCall, {"value": True, "type": "number"}, "value"),
        (PreferenceCall, {"value": ["hi"], "type": "text"}, "value"),
        (PreferenceCall, {"value": "hi", "type": "choice"}, "options"),
        (PreferenceCall, {"value": "hi", "options": ["hi"]}, "options"),
        (PreferenceCall, {"value": "hi", "type": "text", "options": ["hi"]}, "options"),
        (PreferenceCall, {"value": "hi", "type": "choice", "options": ["a"]}, "value"),
        (PreferenceCall, {"value": ["a"], "type": "choice", "options": ["a"]}, "value"),
        (PreferenceCall, {"value": "hi", "type": "choice", "options": ["a"] * 51}, "options"),
        (PreferenceCall, {"value": "hi", "type": "choice", "options": [1]}, "options.0"),
        (PreferenceCall, {"value": "hi", "source": "guessed"}, "source"),
        (PreferenceCall, {"value": "hi", "agent": "a#b"}, "agent"),
        (PreferencesCall, {}, "preferences"),
        (
            PreferencesCall,
            {"preferences": [{"key": "k", "value": "v"}, {"key": "a b", "value": 1}]},
            "preferences.1.key",
        ),
        (PreferencesCall, {"preferences": [{"key": "k", "value": None}]}, "preferences.0.value"),
        (PreferencesCall, {"preferences": [{"key": "k", "value": "hi", "type": "list"}]}, "preferences.0.value"),
        (PreferencesCall, {"preferences": [{"key": f"k{n}", "value": n} for n in range(101)]}, "preferences"),
        (ObservationCall, {}, "value"),
        (ObservationCall, {"value": {}}, "value"),
        (ObservationCall, {"value": "hi", "agent": ""}, "agent"),
    ],
    ids=lambda value: str(value)[:80],
)
def test_parse__fault_is_named_by_its_field(shape: type[BaseModel], body: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(shape, json.dumps(body))

    assert caught.value.field == field
    assert "hi" not in str(caught.value), "a message must not repeat what the user wrote"


@pytest.mark.parametrize("body", ["", None, "{", "nothing", b"\xff\xfe", '{"value":"\\ud800"}', "[" * 5000])
def test_parse__what_is_no_json_is_said_to_be_none(body: str | bytes | None) -> None:
    with pytest.raises(InvalidInputError, match="must be JSON") as caught:
        parse(PreferenceCall, body)

    assert caught.value.field == "body"


@pytest.mark.parametrize("body", ["x" * (MAX_BODY_BYTES + 1), b"x" * (MAX_BODY_BYTES + 1), "語" * 400_000])
def test_parse__body_over_the_limit_in_bytes_is_too_large(body: str | bytes) -> None:
    with pytest.raises(BodyTooLargeError):
        parse(PreferenceCall, body)


def test_parse__body_at_the_limit_is_read() -> None:
    body = json.dumps({"value": "x"})

    assert parse(PreferenceCall, body + " " * (MAX_BODY_BYTES - len(body))).value == "x"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("不吃奶酪", "不吃奶酪"), (True, True), (1, 1), (1.0, 1.0), ("1", "1"), (["a", "b"], ("a", "b"))],
    ids=repr,
)
def test_preference_call__keeps_a_value_and_its_kind(value: object, expected: object) -> None:
    call = parse(PreferenceCall, json.dumps({"value": value}))

    assert (call.value, type(call.value)) == (expected, type(expected))


@pytest.mark.parametrize(
    "value",
    [None, "", "x" * 2001, [], ["x"] * 51, ["x" * 201], [1], {"a": 1}, float("nan"), float("inf")],
    ids=lambda value: repr(value)[:20],
)
def test_preference_call__other_values_are_refused_once_and_in_plain_words(value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(PreferenceCall, json.dumps({"value": value}))

    assert caught.value.field == "value"
    assert str(caught.value).startswith("must be text")


@pytest.mark.parametrize(
    ("value", "kind"),
    [("aisle", "text"), (1, "number"), (1.5, "number"), (["a"], "list"), (False, "boolean"), ("aisle", "choice")],
    ids=str,
)
def test_preference_call__takes_a_value_of_the_type_it_names(value: object, kind: str) -> None:
    options = ["aisle", "window"] if kind == "choice" else []

    call = parse(PreferenceCall, json.dumps({"value": value, "type": kind, "options": options}))

    assert (call.type, call.options, call.source, call.agent) == (kind, tuple(options), "stated", None)


def test_agent_call__without_budgets_has_the_defaults() -> None:
    call = parse(AgentCall, '{"instructions":"Help."}')

    assert Budgets(**call.budgets.model_dump()) == Budgets()


def test_turns_call__whole_exchange_with_tools_is_read() -> None:
    log = [
        {"id": "t1", "role": "user", "content": "seats?"},
        {"id": "t2", "role": "assistant", "tool_calls": [CALL], "tool_call_id": None},
        {"id": "t3", "role": "tool", "content": "12A", "tool_call_id": "c1", "session": "s2"},
    ]

    call = parse(TurnsCall, json.dumps({"session": "s1", "turns": log}))

    assert [(turn.role, turn.content, turn.session) for turn in call.turns] == [
        ("user", "seats?", None),
        ("assistant", "", None),
        ("tool", "12A", "s2"),
    ]


def test_parse_value__reads_a_decoded_value_by_the_same_rules() -> None:
    assert parse_value(SessionCall, {"agent": "desk"}) == SessionCall(agent="desk", session_id=None, warm=True)
    with pytest.raises(InvalidInputError) as caught:
        parse_value(SessionCall, {"agent": 7})

    assert caught.value.field == "agent"


def test_turns_query__without_anything_is_the_first_fifty() -> None:
    assert parse_value(TurnsQuery, {}) == TurnsQuery(after=0, limit=50, session=None)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"after": "-1"}, "after"),
        ({"after": "x"}, "after"),
        ({"after": ""}, "after"),
        ({"after": "1e3"}, "after"),
        ({"after": "1" * 30}, "after"),
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "2.5"}, "limit"),
        ({"session": "s 1"}, "session"),
        ({"session": ""}, "session"),
        ({"cursor": "1"}, "cursor"),
    ],
)
def test_turns_query__bad_values_are_refused_by_name(query: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_value(TurnsQuery, query)

    assert caught.value.field == field

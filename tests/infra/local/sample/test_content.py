"""The sample tenant keeps the promises that the demo and the other tests build on."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from infra.local.sample import content
from infra.local.sample.content import Sample, SampleTool, SampleToolCall, load_sample

FOLDER = Path(content.__file__).parent

# Whatever differs from day to day, user to user or booking to booking would break a shared prefix.
VOLATILE = re.compile(
    r"""
      \b\d{4}-\d{2}(-\d{2})?\b                                          # 2026-03-09
    | \b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b                                 # 9.3.2026
    | \b(19|20)\d{2}\b                                                  # a year
    | \b(January|February|March|April|June|July|August|September|October|November|December)\b
    | \b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b
    | \b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b  # UUID
    | \b[0-9a-f]{12,}\b                                                 # a hash
    | \b[A-Z]{2,4}-\d{3,}\b                                             # TRP-4182
    | \w+://|\bwww\.                                                    # URL
    | [\w.]+@[\w.]+                                                     # mail address
    """,
    re.VERBOSE,
)


@pytest.fixture(scope="module")
def sample() -> Sample:
    return load_sample()


def tools_by_name(sample: Sample) -> dict[str, SampleTool]:
    return {f"{server}/{tool['name']}": tool for server, listing in sample.servers.items() for tool in listing["tools"]}


def objects_in(schema: object) -> Iterator[dict[str, object]]:
    """Every JSON object inside a schema, the schema itself first."""
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from objects_in(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from objects_in(inner)


def strings_in(value: object) -> Iterator[str]:
    """Every string inside a parsed JSON value, names of properties included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)


def calls_in(sample: Sample) -> list[SampleToolCall]:
    return [call for turn in sample.history for call in turn.get("tool_calls", [])]


def test_sample__has_the_promised_sizes(sample: Sample) -> None:
    assert 8 <= len(sample.servers) <= 10
    assert 64 <= len(tools_by_name(sample)) <= 72
    assert len(sample.preferences) == 24
    assert len(sample.questions) == 24
    assert len({turn["session"] for turn in sample.history}) >= 14
    assert len(sample.history) >= 220
    assert sum(turn["role"] == "user" for turn in sample.history) >= 75


def test_load_sample__gives_fresh_objects(sample: Sample) -> None:
    again = load_sample()
    again.agent["instructions"] = "changed"
    again.history.clear()
    assert load_sample() == sample


@pytest.mark.parametrize("name", ["agent.json", "tools.json", "preferences.json"])
def test_json_files__are_canonical(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"


@pytest.mark.parametrize("name", ["history.jsonl", "questions.jsonl"])
def test_jsonl_files__hold_one_canonical_object_a_line(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    lines = text.removesuffix("\n").split("\n")
    assert text.endswith("}\n")
    assert lines == [json.dumps(json.loads(line), ensure_ascii=False) for line in lines]


def test_agent__states_a_policy_of_the_promised_length(sample: Sample) -> None:
    words = f"{sample.agent['instructions']} {sample.agent['domain_knowledge']}".split()
    assert 350 <= len(words) <= 450


def test_agent__core_tools_exist(sample: Sample) -> None:
    core = sample.agent["core_tools"]
    assert 4 <= len(core) <= 6
    assert len(set(core)) == len(core)
    assert set(core) <= tools_by_name(sample).keys()


@pytest.mark.parametrize(
    "text",
    [
        "on 2026-03-09",
        "9.3.2026",
        "since 2024",
        "in June",
        "next Monday",
        "3f2b8c1e-0d4a-4f6b-9c7d-1a2b3c4d5e6f",
        "sha 9f86d081884c",
        "EXP-2291",
        "https://a.example",
        "a@b.c",
    ],
)
def test_volatile__recognises(text: str) -> None:
    assert VOLATILE.search(text)


@pytest.mark.parametrize("name", ["agent.json", "tools.json"])
def test_shared_files__hold_nothing_volatile(name: str) -> None:
    for text in strings_in(json.loads((FOLDER / name).read_text(encoding="utf-8"))):
        assert VOLATILE.search(text) is None, text


@pytest.mark.parametrize("name", ["agent.json", "tools.json"])
def test_shared_files__name_no_person(sample: Sample, name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8").casefold()
    handles = set(re.findall(r"\b[a-z]+\.[a-z]+\b", " ".join(c["function"]["arguments"] for c in calls_in(sample))))
    people = {part for handle in handles for part in handle.split(".")} | set(content.SAMPLE_USER.split("."))
    assert "jonas" in people
    assert not [person for person in people if re.search(rf"\b{person}\b", text)]


def test_tools__names_are_unique_in_their_server(sample: Sample) -> None:
    for listing in sample.servers.values():
        names = [tool["name"] for tool in listing["tools"]]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z][a-z_]{1,63}", name) for name in names)


def test_tools__several_servers_have_a_search(sample: Sample) -> None:
    owners = [server for server, listing in sample.servers.items() if "search" in {t["name"] for t in listing["tools"]}]
    assert len(owners) >= 2


def test_tools__schemas_are_valid_objects(sample: Sample) -> None:
    for tool in tools_by_name(sample).values():
        Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["type"] == "object"


def test_tools__required_names_are_properties(sample: Sample) -> None:
    for name, tool in tools_by_name(sample).items():
        for schema in objects_in(tool["inputSchema"]):
            required, properties = schema.get("required"), schema.get("properties")
            if isinstance(required, list) and isinstance(properties, dict) and "type" in schema:
                assert set(required) <= properties.keys(), name


def test_tools__every_top_level_parameter_is_described(sample: Sample) -> None:
    for name, tool in tools_by_name(sample).items():
        properties = tool["inputSchema"]["properties"]
        assert isinstance(properties, dict)
        for parameter, schema in properties.items():
            assert "$ref" in schema or schema["description"], f"{name}: {parameter}"


def test_tools__include_references_that_resolve(sample: Sample) -> None:
    seen = 0
    for tool in tools_by_name(sample).values():
        definitions = tool["inputSchema"].get("$defs", {})
        assert isinstance(definitions, dict)
        for schema in objects_in(tool["inputSchema"]):
            if "$ref" in schema:
                assert str(schema["$ref"]).removeprefix("#/$defs/") in definitions
                seen += 1
    assert seen


def test_tools__descriptions_vary_in_length(sample: Sample) -> None:
    lengths = sorted(len(tool["description"]) for tool in tools_by_name(sample).values())
    assert lengths[0] < 80
    assert lengths[-1] > 1_500


def test_preferences__keys_are_unique_and_values_fit_their_type(sample: Sample) -> None:
    keys = [preference["key"] for preference in sample.preferences]
    assert len(set(keys)) == len(keys)
    shapes: dict[str, type | tuple[type, ...]] = {"number": (int, float), "list": list}
    for preference in sample.preferences:
        shape = shapes.get(preference.get("type", "text"), str)
        assert isinstance(preference["value"], shape), preference


def test_preferences__one_is_not_in_english(sample: Sample) -> None:
    assert any(re.search(r"\bnão\b", str(preference["value"])) for preference in sample.preferences)


def test_history__ids_are_unique_and_sessions_contiguous(sample: Sample) -> None:
    ids = [turn["id"] for turn in sample.history]
    assert ids == sorted(set(ids))
    sessions = [turn["session"] for turn in sample.history]
    assert sessions == sorted(sessions)


def test_history__every_call_has_its_result_at_once_and_the_reverse(sample: Sample) -> None:
    waiting: list[str] = []
    session = ""
    seen: set[str] = set()
    for turn in sample.history:
        if turn["role"] == "tool":
            assert turn["session"] == session
            assert turn["tool_call_id"] in waiting, turn["id"]
            waiting.remove(turn["tool_call_id"])
            continue
        assert not waiting, turn["id"]
        session = turn["session"]
        if "tool_calls" in turn:
            assert turn["role"] == "assistant"
            waiting = [call["id"] for call in turn["tool_calls"]]
            assert waiting
            assert not seen & set(waiting)
            seen |= set(waiting)
    assert not waiting


def test_history__sessions_start_with_the_user_and_end_with_an_answer(sample: Sample) -> None:
    for session in {turn["session"] for turn in sample.history}:
        turns = [turn for turn in sample.history if turn["session"] == session]
        assert turns[0]["role"] == "user"
        assert turns[-1]["role"] == "assistant"
        assert "tool_calls" not in turns[-1]


def test_history__calls_name_known_tools_and_fit_their_schemas(sample: Sample) -> None:
    tools = tools_by_name(sample)
    for call in calls_in(sample):
        function = call["function"]
        Draft202012Validator(tools[function["name"]]["inputSchema"]).validate(json.loads(function["arguments"]))


def test_history__is_that_of_a_returning_user_with_one_very_long_output(sample: Sample) -> None:
    names = [call["function"]["name"] for call in calls_in(sample)]
    assert names.count("flights/search") >= 5
    assert names.count("hotels/search") >= 4
    assert len(set(names)) >= 40
    assert max(len(turn["content"]) for turn in sample.history if turn["role"] == "tool") > 6_000


def test_history__wording_does_not_repeat(sample: Sample) -> None:
    said = [turn["content"] for turn in sample.history if turn["role"] != "tool" and len(turn["content"]) > 20]
    assert len(set(said)) == len(said)


def test_questions__are_short_and_distinct(sample: Sample) -> None:
    assert len({question["id"] for question in sample.questions}) == len(sample.questions)
    assert len({question["text"] for question in sample.questions}) == len(sample.questions)
    assert all(10 <= len(question["text"].split()) <= 30 for question in sample.questions)

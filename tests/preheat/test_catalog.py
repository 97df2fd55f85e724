"""Catalogues in the shapes that are published come out as the same tools; a bad one is refused whole, by name."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.catalog import read_catalog
from preheat.errors import InvalidInputError

SCHEMA = {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}, "from": {"type": "string"}}}
MCP = {"name": "search", "description": "Find flights", "inputSchema": SCHEMA}
OPENAI = {"type": "function", "function": {"name": "search", "description": "Find flights", "parameters": SCHEMA}}
ANTHROPIC = {"name": "search", "description": "Find flights", "input_schema": SCHEMA}


@pytest.mark.parametrize(
    "document",
    [
        {"servers": {"tools": {"tools": [MCP]}}},
        {"servers": {"tools": [MCP]}},
        {"tools": [MCP]},
        [MCP],
        [OPENAI],
        [ANTHROPIC],
        [{**MCP, "name": "tools/search"}],
        {"tools": [MCP], "nextCursor": None},
    ],
    ids=["servers", "servers, bare", "tools/list", "list", "openai", "anthropic", "named", "cursor"],
)
def test_read_catalog__every_published_shape_gives_the_same_tool(document: object) -> None:
    (tool,) = read_catalog(document)

    assert (tool.name, tool.wire_name, tool.description) == ("tools/search", "tools__search", "Find flights")
    assert json.loads(tool.schema_json) == SCHEMA
    assert tool.schema_words == ("from", "to")


@given(st.randoms(use_true_random=False))
def test_read_catalog__order_of_servers_tools_and_schema_keys_does_not_show(random: Random) -> None:
    servers: dict[str, list[object]] = {
        name: [{"name": f"do{n}", "inputSchema": dict(random.sample(list(SCHEMA.items()), 3))} for n in order]
        for name in random.sample(["b", "a", "c"], 3)
        for order in [random.sample(range(3), 3)]
    }

    read = read_catalog({"servers": servers})

    assert [one.name for one in read] == sorted(f"{server}/do{n}" for server in "abc" for n in range(3))
    assert {one.schema_json for one in read} == {read[0].schema_json}


def test_read_catalog__two_servers_with_one_name_keep_both_and_a_third_renames_none() -> None:
    two = {"a": [MCP], "b": [MCP]}

    before = read_catalog({"servers": two})
    after = read_catalog({"servers": {**two, "c": [MCP]}})

    assert [one.name for one in before] == ["a/search", "b/search"]
    assert set(before) < set(after)


def test_read_catalog__tool_without_description_or_schema_takes_nothing() -> None:
    bare, null = read_catalog([{"name": "ping"}, {"name": "pong", "description": None, "inputSchema": None}])

    assert (bare.description, json.loads(bare.schema_json)) == ("", {"type": "object", "properties": {}})
    assert (null.description, null.schema_json) == (bare.description, bare.schema_json)


def test_read_catalog__of_nothing_is_empty() -> None:
    assert read_catalog({"tools": []}) == ()


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"servers": {"a": {"tools": "all"}}}, "servers.a.tools"),
        ({"servers": {"a": None}}, "servers.a.tools"),
        ({"tools": {"search": MCP}}, "tools"),
        ("search", "tools"),
        ([MCP, "search"], "tools[1]"),
        ([{"description": "no name"}], "tools[0].name"),
        ([{"name": ""}], "tools[0].name"),
        ([{"name": 7}], "tools[0].name"),
        ([{"name": "two words"}], "tools[0].name"),
        ([{"name": "a/b/c"}], "tools[0].name"),
        ([{"name": "/search"}], "tools[0].name"),
        ([{"name": "x" * 65}], "tools[0].name"),
        ({"servers": {"my server": [MCP]}}, "servers.my server.tools[0].name"),
        ([{**MCP, "description": 3}], "tools[0].description"),
        ([{**MCP, "inputSchema": "object"}], "tools[0].inputSchema"),
        ([{**MCP, "inputSchema": {"default": float("nan")}}], "tools[0].inputSchema"),
        ([MCP, OPENAI], "tools[1]"),
        ({"servers": {"a": [{"name": "b__c"}], "a__b": [{"name": "c"}]}}, "servers.a__b.tools[0]"),
    ],
    ids=str,
)
def test_read_catalog__bad_entry_is_refused_by_name(document: object, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_catalog(document)

    assert caught.value.field == field

"""Files of the user's own: what is taken, and how a fault is named."""

import json
from pathlib import Path

import pytest

from infra.local.demo.tenant import sample_tenant
from infra.local.demo.user_data import (
    NEWEST_TURNS,
    UserDataError,
    matched_name,
    read_history,
    read_tools,
    with_own_data,
)
from infra.local.sample.content import load_sample

TOOL = {"name": "search", "description": "Find a flight.", "inputSchema": {"type": "object", "properties": {}}}
OPENAI_TOOL = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}
CATALOG: dict[str, object] = {"servers": {"flights": {"tools": [TOOL]}, "hotels": {"tools": [{"name": "book"}]}}}


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"tools": [TOOL]}, "tools"),
        ([OPENAI_TOOL], "tools"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL], "nextCursor": "x"}}, "tools"),
        ({"servers": {"flights": {"tools": [TOOL]}}, "tools": []}, "servers"),
    ],
)
def test_read_tools__takes_every_published_shape(tmp_path: Path, document: object, key: str) -> None:
    assert list(read_tools(write(tmp_path / "tools.json", document))) == [key]


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"tools": [{"description": "nameless"}]}, r"tools\[0\]\.name: must have a name"),
        ({"tools": [TOOL, {"name": "x", "inputSchema": 3}]}, r"tools\[1\]\.inputSchema: must be a JSON schema object"),
        ({"something": 1}, "tools: is missing"),
        ({"tools": []}, "tools: holds no tool"),
        ({"tools": [{**TOOL, "description": "x" * 600_000}]}, "tools: are over"),
        (7, "tools: must be a list of tools"),
    ],
)
def test_read_tools__names_the_field_that_is_wrong(tmp_path: Path, document: object, fault: str) -> None:
    with pytest.raises(UserDataError, match=fault):
        read_tools(write(tmp_path / "tools.json", document))


def test_read_tools__says_what_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserDataError, match=r"tools\.json: is not JSON"):
        read_tools(tmp_path / "tools.json")


def test_read_tools__says_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserDataError, match="cannot be read"):
        read_tools(tmp_path / "none.json")


def test_read_history__maps_calls_and_results(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "history.jsonl",
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "to Rome"}, {"type": "image_url", "image_url": {}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call#1", "type": "function", "function": {"name": "search", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "call#1", "content": "none"},
        {"role": "assistant", "content": "No flight."},
    )
    asked, called, result, said = read_history(path, CATALOG)
    assert (asked.content, said.content) == ("to Rome", "No flight.")
    assert [call.name for call in called.tool_calls] == ["flights/search"]
    assert called.tool_calls[0].call_id == result.tool_call_id == "call-1"


def test_read_history__takes_whole_conversations_as_sessions(tmp_path: Path) -> None:
    talk = {"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hello"}]}
    turns = read_history(write_lines(tmp_path / "history.jsonl", talk, talk), CATALOG)
    assert [turn.session for turn in turns] == ["own-1", "own-1", "own-2", "own-2"]
    assert len({turn.turn_id for turn in turns}) == 4


def test_read_history__keeps_the_newest_turns(tmp_path: Path) -> None:
    lines = [{"role": "user", "content": f"message {number}"} for number in range(NEWEST_TURNS + 5)]
    turns = read_history(write_lines(tmp_path / "history.jsonl", *lines), CATALOG)
    assert len(turns) == NEWEST_TURNS
    assert turns[-1].content == f"message {NEWEST_TURNS + 4}"


def test_read_history__line_separators_inside_texts_do_not_end_a_line(tmp_path: Path) -> None:
    turns = read_history(write_lines(tmp_path / "h.jsonl", {"role": "user", "content": "a\u2028b"}), CATALOG)
    assert [turn.content for turn in turns] == ["a\u2028b"]


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        ({"role": "narrator", "content": "x"}, r"line 2: role: "),
        ({"content": "x"}, r"line 2: role: "),
        ({"role": "user", "content": 5}, r"line 2: content"),
        ({"role": "tool", "content": "no id"}, r"line 2: .*tool_call_id"),
        ({"role": "user", "content": "x" * 300_001}, r"line 2: content"),
        ({"messages": [{"role": "user", "content": "x"}, {"role": "?"}]}, r"line 2: messages\.1\.role"),
    ],
)
def test_read_history__names_line_and_field(tmp_path: Path, second: object, fault: str) -> None:
    path = write_lines(tmp_path / "history.jsonl", {"role": "user", "content": "x"}, second)
    with pytest.raises(UserDataError, match=fault):
        read_history(path, CATALOG)


def test_read_history__names_the_line_that_is_not_json(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_text('{"role": "user", "content": "x"}\n\n{oops\n', encoding="utf-8")
    with pytest.raises(UserDataError, match=r"line 3: is not JSON"):
        read_history(tmp_path / "history.jsonl", CATALOG)


def test_read_history__refuses_a_file_without_turns(tmp_path: Path) -> None:
    with pytest.raises(UserDataError, match="holds no message"):
        read_history(write_lines(tmp_path / "history.jsonl", {"role": "system", "content": "x"}), CATALOG)


def test_read_history__refuses_what_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserDataError, match="is not UTF-8"):
        read_history(tmp_path / "history.jsonl", CATALOG)


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("flights/search", "flights/search"),
        ("flights__search", "flights/search"),
        ("search", "flights/search"),
        ("book", "book"),  # two servers have it
        ("trains__find", "trains/find"),  # nobody has it
    ],
)
def test_matched_name__is_the_catalogues_where_one_fits(called: str, name: str) -> None:
    assert matched_name(called, ["flights/search", "flights/book", "hotels/book"]) == name


def test_with_own_data__drops_core_tools_that_the_catalogue_has_not(tmp_path: Path) -> None:
    data = with_own_data(sample_tenant(load_sample()), tools=write(tmp_path / "t.json", [TOOL]), history=None)
    assert (data.core_tools, data.catalog) == ((), {"tools": [TOOL]})


def test_with_own_data__asks_what_the_user_asked_last(tmp_path: Path) -> None:
    lines = [{"role": "user", "content": text} for text in ("one", "two", "three", "four")]
    own = write_lines(tmp_path / "h.jsonl", *lines)
    data = with_own_data(sample_tenant(load_sample()), tools=None, history=own)
    assert data.questions == ("four", "three", "two")
    assert data.question(4) == "three"

"""Calls are taken out of the stream wherever its pieces break, and text that only looks like one stays text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.history import ToolCall
from preheat.tool_calls import ToolCallReader

CALL = '<tool_call>{"name": "flights__search", "arguments": {"to": "LIS"}}</tool_call>'


def read(pieces: list[str]) -> tuple[str, list[ToolCall]]:
    reader = ToolCallReader("c")
    shown = "".join(map(reader.feed, pieces)) + reader.finish()
    return shown, reader.calls


@given(cuts=st.sets(st.integers(1, len(CALL) + 20), max_size=12))
def test_reader__finds_the_call_wherever_the_pieces_break(cuts: set[int]) -> None:
    text = f"One moment. {CALL} Done."
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]

    shown, calls = read([text[a:b] for a, b in pairwise(edges)])

    assert shown == "One moment.  Done."
    assert calls == [ToolCall("c-0", "flights__search", '{"to":"LIS"}')]


@given(st.lists(st.text(alphabet="<tool_call>/ab "), max_size=20))
def test_reader__loses_no_text(pieces: list[str]) -> None:
    assert read(pieces) == ("".join(pieces), [])


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>not json</tool_call>",
        '<tool_call>{"arguments": {}}</tool_call>',
        '<tool_call>{"name": 3}</tool_call>',
        '<tool_call>{"name": "x", "arguments": {}',
        "a < b and b <tool",
        '<tool_call>{"name": "x", "arguments": NaN}</tool_call>',
    ],
)
def test_reader__text_that_only_looks_like_a_call_is_text(text: str) -> None:
    assert read([text]) == (text, [])


def test_reader__two_calls_have_two_ids() -> None:
    _, calls = read([CALL + CALL])

    assert [call.call_id for call in calls] == ["c-0", "c-1"]


def test_reader__plain_text_is_not_held_back() -> None:
    assert ToolCallReader("c").feed("Hello ") == "Hello "

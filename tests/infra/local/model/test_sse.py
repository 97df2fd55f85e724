"""Events taken apart and put together."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from infra.local.model.errors import BrokenStreamError
from infra.local.model.sse import event_json, split_events, whole_answer

if TYPE_CHECKING:
    from pydantic import JsonValue

STREAM = b'data: {"a": 1}\n\n: a comment\n\ndata: {"b": "\xc3\xbc"}\r\n\r\ndata: [DONE]\n\n'


async def _cut(raw: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


def events_of(raw: bytes, *, size: int) -> list[bytes]:
    async def collect() -> list[bytes]:
        return [event async for event in split_events(_cut(raw, size))]

    return asyncio.run(collect())


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_split_events__wherever_the_bytes_are_cut(size: int) -> None:
    assert events_of(STREAM, size=size) == [
        b'data: {"a": 1}\n\n',
        b": a comment\n\n",
        'data: {"b": "ü"}\n\n'.encode(),
        b"data: [DONE]\n\n",
    ]


@pytest.mark.parametrize("raw", [b"", b'data: {"a": 1}\n\n', b'data: {"a": 1}\n\ndata: [DO'])
def test_split_events__an_early_end_is_a_broken_stream(raw: bytes) -> None:
    with pytest.raises(BrokenStreamError):
        events_of(raw, size=5)


def test_event_json__only_objects_count() -> None:
    assert [event_json(event) for event in events_of(STREAM, size=99)] == [{"a": 1}, None, {"b": "ü"}, None]


def test_whole_answer__joins_what_was_streamed() -> None:
    call: JsonValue = {"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q"'}}
    rest: JsonValue = {"index": 0, "function": {"arguments": ': "x"}'}}
    answer = whole_answer(
        [
            {"id": "1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant"}}]},
            {"id": "1", "choices": [{"index": 0, "delta": {"content": "Hel"}, "logprobs": {"content": [1]}}]},
            {"id": "1", "choices": [{"index": 1, "delta": {"content": "Other", "tool_calls": [call]}}]},
            {"id": "1", "choices": [{"index": 0, "delta": {"content": "lo"}, "logprobs": {"content": [2]}}]},
            {"id": "1", "choices": [{"index": 1, "delta": {"tool_calls": [rest]}, "finish_reason": "tool_calls"}]},
            {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            {"id": "1", "choices": [], "usage": {"prompt_tokens": 4}},
        ]
    )

    whole_call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}
    assert answer == {
        "id": "1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello"},
                "finish_reason": "stop",
                "logprobs": {"content": [1, 2]},
            },
            {
                "index": 1,
                "message": {"content": "Other", "tool_calls": [whole_call]},
                "finish_reason": "tool_calls",
            },
        ],
        "usage": {"prompt_tokens": 4},
    }


def test_whole_answer__without_a_token_has_no_content() -> None:
    answer = whole_answer([{"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]}])

    assert answer["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": None},
    ]

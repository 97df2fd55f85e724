"""Answers in OpenAI's chat-completions shape; what is ours stands apart under `preheat`."""

import json

import pytest
from jsonschema import validate

from preheat.adapters.openai_chat import DONE, Head, chunk, completion, preheat_block, sse
from preheat.bundle import Missing
from preheat.ports import Delta
from preheat.prefill import Usage
from preheat.report import AnswerReport, Phases, SectionLine

HEAD = Head("chatcmpl-r1", agent="desk", created=1_790_000_000)
REPORT = AnswerReport(
    state="stale-rebuilt",
    stamp="a1.c1.f0.p2.h9",
    ttft_ms=12.34567,
    ms=Phases(check=3.00049, prefill=9.3),
    warmed_tokens=1000,
    reused_tokens=998,
    usage=Usage(prompt_tokens=1040, cached_tokens=998, completion_tokens=7),
    engine_id="replica-1",
    finish_reason="length",
    hist_seq=11,
    reasons=("bundle_was_at:a1.c1.f0.p1.h9",),
    missing=(Missing("recent_turns", "source_unavailable"),),
    sections=(SectionLine("instructions", 200, "ab" * 32, "a1.c1.f0.p2.h9", 1.5, "the agent's profile"),),
)

# What OpenAI's API reference requires of both shapes; further fields are allowed there.
_USAGE = {
    "type": "object",
    "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
    "properties": {
        "prompt_tokens": {"type": "integer"},
        "completion_tokens": {"type": "integer"},
        "total_tokens": {"type": "integer"},
        "prompt_tokens_details": {"type": "object", "properties": {"cached_tokens": {"type": "integer"}}},
    },
}


def _shape(kind: str, part: dict[str, object], name: str) -> dict[str, object]:
    return {
        "type": "object",
        "required": ["id", "object", "created", "model", "choices"],
        "properties": {
            "id": {"type": "string"},
            "object": {"const": kind},
            "created": {"type": "integer"},
            "model": {"type": "string"},
            "usage": _USAGE,
            "choices": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["index", name, "finish_reason"],
                    "properties": {
                        "index": {"type": "integer"},
                        name: part,
                        "finish_reason": {"enum": [None, "stop", "length", "tool_calls", "content_filter"]},
                    },
                },
            },
        },
    }


_CHUNK = _shape(
    "chat.completion.chunk",
    {"type": "object", "properties": {"role": {"const": "assistant"}, "content": {"type": "string"}}},
    "delta",
)
_COMPLETION = _shape(
    "chat.completion",
    {"type": "object", "required": ["role", "content"], "properties": {"role": {"const": "assistant"}}},
    "message",
)


@pytest.mark.parametrize("item", [Delta("Köln"), Delta(""), REPORT], ids=["text", "no text", "report"])
def test_chunk__has_openais_shape(item: Delta | AnswerReport) -> None:
    validate(chunk(item, HEAD), _CHUNK)


def test_chunk__of_text_carries_the_text() -> None:
    assert chunk(Delta("東京"), HEAD)["choices"] == [
        {"index": 0, "delta": {"role": "assistant", "content": "東京"}, "finish_reason": None}
    ]


def test_chunk__of_the_report_ends_the_answer_with_usage_and_ours() -> None:
    last = chunk(REPORT, HEAD)

    assert last["choices"] == [{"index": 0, "delta": {}, "finish_reason": "length"}]
    assert last["usage"] == {
        "prompt_tokens": 1040,
        "completion_tokens": 7,
        "total_tokens": 1047,
        "prompt_tokens_details": {"cached_tokens": 998},
    }
    assert last["preheat"] == preheat_block(REPORT)


def test_completion__is_the_whole_answer_in_openais_shape() -> None:
    whole = completion(iter([Delta("to "), Delta("Köln"), REPORT]), HEAD)

    validate(whole, _COMPLETION)
    assert whole["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "to Köln"}, "finish_reason": "length"}
    ]
    assert (whole["usage"], whole["preheat"]) == (chunk(REPORT, HEAD)["usage"], preheat_block(REPORT))


def test_completion__of_an_empty_answer_still_has_its_choice() -> None:
    assert completion(iter([REPORT]), HEAD)["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "length"}
    ]


def test_preheat_block__tells_state_phases_reasons_and_what_is_missing_without_any_content() -> None:
    assert preheat_block(REPORT) == {
        "state": "stale-rebuilt",
        "stamp": "a1.c1.f0.p2.h9",
        "ttft_ms": 12.346,
        "ms": {"check": 3.0, "retrieval": 0.0, "tools": 0.0, "assembly": 0.0, "prefill": 9.3, "decode": 0.0},
        "warmed_tokens": 1000,
        "reused_tokens": 998,
        "engine_id": "replica-1",
        "hist_seq": 11,
        "reasons": ["bundle_was_at:a1.c1.f0.p1.h9"],
        "missing": [{"name": "recent_turns", "reason": "source_unavailable"}],
        "sections": [
            {
                "name": "instructions",
                "tokens": 200,
                "sha256": "ab" * 32,
                "versions": "a1.c1.f0.p2.h9",
                "age_s": 1.5,
                "why": "the agent's profile",
            }
        ],
    }


def test_sse__is_one_event_on_one_line_whatever_the_text() -> None:
    event = sse(chunk(Delta("one\n\ndata: [DONE]\r\n"), HEAD))

    assert event.startswith(b"data: {")
    assert event.endswith(b"}\n\n")
    assert event.count(b"\n") == 2
    assert b"\r" not in event
    assert json.loads(event.removeprefix(b"data: "))["choices"][0]["delta"]["content"] == "one\n\ndata: [DONE]\r\n"


def test_done__is_openais_end_mark() -> None:
    assert DONE == b"data: [DONE]\n\n"

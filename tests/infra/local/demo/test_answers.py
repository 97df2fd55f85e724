"""The stream of an answer as it comes: cut anywhere, ended well or badly."""

import json
import time
from collections.abc import Iterator

import pytest

from infra.local.demo.answers import BrokenAnswerError, read_answer, sse_events

REPORT = {
    "choices": [{"delta": {}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 540, "completion_tokens": 2},
    "preheat": {
        "state": "warm",
        "stamp": "a1.c1.f0.p2.h9",
        "ttft_ms": 12.5,
        "ms": {"check": 2, "retrieval": 0, "tools": 0, "assembly": 0.5, "prefill": 10, "decode": 4},
        "warmed_tokens": 500,
        "reused_tokens": 499,
        "reasons": [],
        "engine_id": "e1",
    },
}


def event(body: object) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def piece(text: str) -> bytes:
    return event({"choices": [{"delta": {"content": text}}]})


def test_read_answer__joins_the_pieces_and_reads_the_report() -> None:
    answer = read_answer([piece("Yes"), piece(", sir."), event(REPORT), b"data: [DONE]\n\n"], submitted=0.0)
    assert (answer.text, answer.prompt_tokens, answer.block.state) == ("Yes, sir.", 540, "warm")
    assert answer.block.ms.own == 2.5


def test_read_answer__times_the_first_piece_of_text_and_not_the_last() -> None:
    def slow() -> Iterator[bytes]:
        yield event({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
        yield piece("Yes")
        time.sleep(0.05)
        yield piece(".") + event(REPORT)

    submitted = time.perf_counter()
    assert read_answer(slow(), submitted=submitted).ttft_ms < 40


def test_read_answer__http_time_is_what_the_function_has_not_seen() -> None:
    answer = read_answer([piece("Yes"), event(REPORT)], submitted=time.perf_counter() - 1.0)
    assert answer.http_ms == pytest.approx(answer.ttft_ms - 12.5)


def test_read_answer__refuses_a_stream_without_a_report() -> None:
    with pytest.raises(BrokenAnswerError, match="without its report"):
        read_answer([piece("Yes")], submitted=0.0)


def test_read_answer__refuses_a_stream_that_holds_an_error() -> None:
    with pytest.raises(BrokenAnswerError, match="broke off"):
        read_answer([piece("Yes"), event({"error": {"status": 503}})], submitted=0.0)


def test_sse_events__do_not_care_where_the_bytes_are_cut() -> None:
    whole = piece("line\u2028end, é") + event(REPORT) + b"data: [DONE]\n\n"
    one_by_one = [whole[at : at + 1] for at in range(len(whole))]
    assert list(sse_events(one_by_one)) == list(sse_events([whole]))
    assert len(list(sse_events([whole]))) == 2

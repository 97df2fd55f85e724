"""SageMaker's runtime by way of a real client: every frame is parsed by botocore, only the wire is ours."""

from typing import TYPE_CHECKING

import pytest

from preheat import names
from preheat.adapters.sagemaker_endpoint import SageMakerEndpoint
from preheat.ports import Delta, Finished, Prefilled
from preheat.prefill import Usage
from tests.preheat.adapters.sagemaker_wire import (
    REPLICA,
    REQUEST,
    USAGE,
    WARM_UP,
    Raw,
    Wire,
    frame,
    header,
    piece,
    sse,
)

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient


ANSWER: tuple[object, ...] = (
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
    piece("Köln, "),
    piece("東京 😀"),
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": USAGE},
    b"[DONE]",
)
ITEMS = [Delta("Köln, "), Delta("東京 😀"), Finished(Usage(1040, 1024, 2), REPLICA, "stop")]


def test_generate__streams_text_and_ends_with_the_engines_count(endpoint: SageMakerEndpoint, wire: Wire) -> None:
    wire.stream(*ANSWER)

    assert list(endpoint.generate(REQUEST)) == ITEMS


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_generate__an_event_split_anywhere_is_put_together_again(
    endpoint: SageMakerEndpoint, wire: Wire, line_end: bytes
) -> None:
    whole = b"".join(sse(event) for event in ANSWER).replace(b"\n", line_end)

    for boundary in range(len(whole) + 1):
        wire.raw = Raw([frame(whole[:boundary]) + frame(whole[boundary:])])
        assert list(endpoint.generate(REQUEST)) == ITEMS

    wire.raw = Raw([frame(whole[at : at + 1]) for at in range(len(whole))])
    assert list(endpoint.generate(REQUEST)) == ITEMS


def test_generate__frames_split_anywhere_on_the_wire_give_the_same(endpoint: SageMakerEndpoint, wire: Wire) -> None:
    framed = b"".join(frame(sse(event)) for event in ANSWER)

    for boundary in range(0, len(framed), 7):
        wire.raw = Raw([framed[:boundary], framed[boundary:]])
        assert list(endpoint.generate(REQUEST)) == ITEMS


def test_generate__comments_and_other_fields_of_the_stream_are_passed_over(
    endpoint: SageMakerEndpoint, wire: Wire
) -> None:
    noise = b": keep-alive\n\nevent: message\nid: 7\nretry: 10\n"
    wire.raw = Raw([frame(b"".join(noise + sse(event) for event in ANSWER))])

    assert list(endpoint.generate(REQUEST)) == ITEMS


def test_generate__usage_that_rides_on_every_piece_counts_at_its_last(endpoint: SageMakerEndpoint, wire: Wire) -> None:
    early = {"prompt_tokens": 1040, "completion_tokens": 1}
    wire.stream(piece("a", usage=early), piece("b", "length", usage=USAGE))

    *_, last = endpoint.generate(REQUEST)

    assert last == Finished(Usage(1040, 1024, 2), REPLICA, "length")


@pytest.mark.parametrize(
    "usage",
    [None, "many", [], {"prompt_tokens": None}, {"prompt_tokens": "7"}, {"prompt_tokens_details": 3}],
    ids=repr,
)
def test_generate__engine_that_does_not_count_reports_no_reuse(
    endpoint: SageMakerEndpoint, wire: Wire, usage: object
) -> None:
    wire.stream(piece("a", "stop", usage=usage))

    assert list(endpoint.generate(REQUEST)) == [Delta("a"), Finished(Usage(0, 0, 0), REPLICA, "stop")]


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": None},
        {"choices": {"0": "x"}},
        {"choices": ["x"]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": None}}]},
        {"choices": [{"delta": {"content": 7}}]},
        {"object": "ping"},
    ],
    ids=repr,
)
def test_generate__piece_without_text_is_passed_over(endpoint: SageMakerEndpoint, wire: Wire, odd: object) -> None:
    wire.stream(piece("a"), odd, piece("b", "stop"))

    assert [item for item in endpoint.generate(REQUEST) if isinstance(item, Delta)] == [Delta("a"), Delta("b")]


def test_generate__reader_who_leaves_closes_the_stream(endpoint: SageMakerEndpoint, wire: Wire) -> None:
    wire.stream(*ANSWER)
    items = endpoint.generate(REQUEST)
    next(items)
    assert not wire.raw.closed

    items.close()  # type: ignore[attr-defined]  # it is a generator

    assert wire.raw.closed


def test_generate__makes_its_call_when_the_first_item_is_asked_for(endpoint: SageMakerEndpoint, wire: Wire) -> None:
    wire.stream(*ANSWER)

    items = endpoint.generate(REQUEST)

    assert wire.sent == []
    next(items)
    assert len(wire.sent) == 1


def test_prefill__returns_the_engines_count_and_its_name(endpoint: SageMakerEndpoint, wire: Wire) -> None:
    wire.answer_json({"choices": [{"message": {"content": "x"}}], "usage": USAGE})

    assert endpoint.prefill(WARM_UP) == Prefilled(Usage(1040, 1024, 2), REPLICA)


def test_calls__send_the_bytes_as_they_are_to_the_replica_of_the_session(
    endpoint: SageMakerEndpoint, wire: Wire
) -> None:
    wire.answer_json({"usage": USAGE})
    endpoint.prefill(WARM_UP)
    wire.stream(*ANSWER)
    list(endpoint.generate(REQUEST))

    warm, asked = wire.sent
    assert warm.url.endswith("/endpoints/preheat-model/invocations")
    assert asked.url.endswith("/endpoints/preheat-model/invocations-response-stream")
    assert warm.body == asked.body == REQUEST.body
    assert [header(request, "X-Amzn-SageMaker-Prefix-Aware-Id") for request in wire.sent] == ["s1", "s1"]


def test_calls__only_a_warm_up_is_marked_as_one(endpoint: SageMakerEndpoint, wire: Wire) -> None:
    wire.answer_json({"usage": USAGE})
    endpoint.prefill(WARM_UP)
    wire.stream(*ANSWER)
    list(endpoint.generate(REQUEST))

    marks = [header(request, "X-Amzn-SageMaker-Custom-Attributes") for request in wire.sent]
    assert marks == [names.WARM_UP_PRIORITY, None]


@pytest.mark.parametrize("component", [None, "smollm2"])
def test_calls__name_the_inference_component_when_there_is_one(
    sagemaker: "SageMakerRuntimeClient", wire: Wire, component: str | None
) -> None:
    wire.answer_json({"usage": USAGE})
    SageMakerEndpoint(lambda: sagemaker, endpoint_name="e", inference_component=component).prefill(WARM_UP)

    assert header(wire.sent[0], "X-Amzn-SageMaker-Inference-Component") == component


def test_connect__is_called_once_and_not_before_the_first_call(sagemaker: "SageMakerRuntimeClient", wire: Wire) -> None:
    connected: list[str] = []

    def connect() -> "SageMakerRuntimeClient":
        connected.append("now")
        return sagemaker

    endpoint = SageMakerEndpoint(connect, endpoint_name="preheat-model")
    assert connected == []
    for _ in range(2):
        wire.answer_json({"usage": USAGE})
        endpoint.prefill(WARM_UP)

    assert connected == ["now"]

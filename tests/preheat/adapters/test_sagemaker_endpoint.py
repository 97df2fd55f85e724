"""SageMaker's runtime by way of a real client: every frame and error is parsed by botocore, only the wire is ours."""

import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import ProtocolError
from urllib3.exceptions import ReadTimeoutError as WireTimeoutError

from preheat import names
from preheat.adapters.sagemaker_endpoint import SageMakerEndpoint
from preheat.errors import EndpointError, EndpointRefusedError, EndpointUnavailableError
from preheat.ports import Delta, Finished, Prefilled
from preheat.prefill import EngineRequest, Usage

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

SECRET_TEXT = "the user's own words"
REQUEST = EngineRequest(b'{"messages":[{"role":"user","content":"hi"}]}', prefix_id="s1", warm_up=False)
WARM_UP = EngineRequest(REQUEST.body, prefix_id="s1", warm_up=True)
USAGE = {"prompt_tokens": 1040, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1024}}


class Raw:
    """The open body of a response: chunks, then perhaps a fault."""

    def __init__(self, chunks: Sequence[bytes], fault: Exception | None = None) -> None:
        self.closed = False
        self._chunks = list(chunks)
        self._fault = fault

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield from self._chunks
        if self._fault is not None:
            raise self._fault

    def read(self, _: int | None = None) -> bytes:
        read, self._chunks = b"".join(self._chunks), []
        if self._fault is not None:
            raise self._fault
        return read

    def close(self) -> None:
        self.closed = True


@dataclass
class Wire:
    """Answers the client's next call in place of the network, and keeps what was sent."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: Raw = field(default_factory=lambda: Raw([]))
    fault: Exception | None = None
    sent: list[AWSPreparedRequest] = field(default_factory=list)

    def answer(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        self.sent.append(request)
        if self.fault is not None:
            raise self.fault
        headers = HTTPHeaders()
        for name, value in {"x-Amzn-Invoked-Production-Variant": "replica-7", **self.headers}.items():
            headers[name] = value
        return AWSResponse(request.url, self.status, headers, self.raw)

    def answer_json(self, document: object) -> None:
        self.raw = Raw([json.dumps(document).encode()])

    def stream(self, *events: object, fault: Exception | None = None) -> None:
        self.raw = Raw([frame(sse(event)) for event in events], fault)

    def refuse(self, status: int, code: str, **fields: object) -> None:
        self.status = status
        self.headers = {"x-amzn-ErrorType": code}
        self.raw = Raw([json.dumps({"Message": SECRET_TEXT, **fields}).encode()])


@pytest.fixture(scope="module")
def client() -> "SageMakerRuntimeClient":
    return boto3.client(
        "sagemaker-runtime",
        region_name="eu-central-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def wire(client: "SageMakerRuntimeClient") -> Iterator[Wire]:
    wire = Wire()
    wired: Callable[..., Any] = wire.answer  # whose answer is sent in place of the network's
    client.meta.events.register("before-send.sagemaker-runtime.*", wired)
    yield wire
    client.meta.events.unregister("before-send.sagemaker-runtime.*", wired)


@pytest.fixture
def endpoint(client: "SageMakerRuntimeClient", wire: Wire) -> SageMakerEndpoint:
    return SageMakerEndpoint(lambda: client, endpoint_name="preheat-model")


def frame(payload: bytes, **headers: str) -> bytes:
    """Return one message of `application/vnd.amazon.eventstream`."""
    shown = headers or {"message-type": "event", "event-type": "PayloadPart"}
    head = b"".join(
        bytes([len(name) + 1]) + b":" + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in shown.items()
    )
    prelude = struct.pack(">II", len(head) + len(payload) + 16, len(head))
    checked = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + payload
    return checked + struct.pack(">I", zlib.crc32(checked))


def sse(event: object) -> bytes:
    return b"data: " + (event if isinstance(event, bytes) else json.dumps(event, ensure_ascii=False).encode()) + b"\n\n"


def header(request: AWSPreparedRequest, name: str) -> str | None:
    value: str | bytes | None = request.headers.get(name)
    return value.decode() if isinstance(value, bytes) else value


def piece(text: str, finish_reason: str | None = None, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}], **more}


ANSWER: tuple[object, ...] = (
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
    piece("Köln, "),
    piece("東京 😀"),
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": USAGE},
    b"[DONE]",
)
ITEMS = [Delta("Köln, "), Delta("東京 😀"), Finished(Usage(1040, 1024, 2), "replica-7", "stop")]


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

    assert last == Finished(Usage(1040, 1024, 2), "replica-7", "length")


@pytest.mark.parametrize(
    "usage",
    [None, "many", [], {"prompt_tokens": None}, {"prompt_tokens": "7"}, {"prompt_tokens_details": 3}],
    ids=repr,
)
def test_generate__engine_that_does_not_count_reports_no_reuse(
    endpoint: SageMakerEndpoint, wire: Wire, usage: object
) -> None:
    wire.stream(piece("a", "stop", usage=usage))

    assert list(endpoint.generate(REQUEST)) == [Delta("a"), Finished(Usage(0, 0, 0), "replica-7", "stop")]


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


@pytest.mark.parametrize(
    ("chunks", "fault"),
    [
        ([frame(sse({"error": {"message": SECRET_TEXT, "code": 500}}))], None),
        ([frame(sse(b"{not json"))], None),
        ([frame(sse(b'"text"'))], None),
        ([frame(b'{"Message":"x"}', **{"message-type": "exception", "exception-type": "ModelStreamError"})], None),
        ([frame(b"{}", **{"message-type": "exception", "exception-type": "InternalStreamFailure"})], None),
        ([frame(b"", **{"message-type": "error", "error-code": "500", "error-message": SECRET_TEXT})], None),
        ([frame(sse(piece("x")))[:-4] + b"\0\0\0\0"], None),
        ([b"\xff" * 32], None),
        ([], ProtocolError("Connection broken")),
        ([], WireTimeoutError(HTTPConnectionPool("wire"), "wire", "Read timed out.")),
        ([], None),
        ([frame(sse(b"[DONE]"))], None),
    ],
    ids=[
        "error event",
        "no json",
        "no object",
        "model stream error",
        "internal failure",
        "error frame",
        "wrong checksum",
        "no frame",
        "connection broken",
        "silence",
        "ends too early",
        "done too early",
    ],
)
def test_generate__stream_that_breaks_gives_what_came_and_then_says_so(
    endpoint: SageMakerEndpoint, wire: Wire, chunks: list[bytes], fault: Exception | None
) -> None:
    wire.raw = Raw([frame(sse(piece("so far"))), *chunks], fault)
    items = endpoint.generate(REQUEST)

    assert next(items) == Delta("so far")
    with pytest.raises(EndpointUnavailableError) as caught:
        next(items)

    assert SECRET_TEXT not in str(caught.value)
    assert wire.raw.closed


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

    assert endpoint.prefill(WARM_UP) == Prefilled(Usage(1040, 1024, 2), "replica-7")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"warm"', b"null", b'{"error":{"message":"x"}}', b"\xff"])
def test_prefill__what_is_no_completion_is_not_warm(endpoint: SageMakerEndpoint, wire: Wire, body: bytes) -> None:
    wire.raw = Raw([body])

    with pytest.raises(EndpointUnavailableError):
        endpoint.prefill(WARM_UP)


def test_prefill__connection_that_breaks_in_the_body_is_unavailable(endpoint: SageMakerEndpoint, wire: Wire) -> None:
    wire.raw = Raw([b"{"], ProtocolError("Connection broken"))

    with pytest.raises(EndpointUnavailableError):
        endpoint.prefill(WARM_UP)


Call = Callable[[SageMakerEndpoint], object]
CALLS: list[Any] = [
    pytest.param(lambda endpoint: endpoint.prefill(WARM_UP), id="prefill"),
    pytest.param(lambda endpoint: list(endpoint.generate(REQUEST)), id="generate"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("status", "code", "original", "expected"),
    [
        (424, "ModelError", 400, EndpointRefusedError),
        (424, "ModelError", 413, EndpointRefusedError),
        (424, "ModelError", 422, EndpointRefusedError),
        (424, "ModelError", 408, EndpointUnavailableError),
        (424, "ModelError", 429, EndpointUnavailableError),
        (424, "ModelError", 500, EndpointUnavailableError),
        (424, "ModelError", 503, EndpointUnavailableError),
        (424, "ModelError", None, EndpointUnavailableError),
        (429, "ModelNotReadyException", None, EndpointUnavailableError),
        (429, "ThrottlingException", None, EndpointUnavailableError),
        (400, "ThrottlingException", None, EndpointUnavailableError),
        (530, "InternalDependencyException", None, EndpointUnavailableError),
        (500, "InternalFailure", None, EndpointUnavailableError),
        (503, "ServiceUnavailable", None, EndpointUnavailableError),
        (400, "ValidationError", None, EndpointUnavailableError),
        (403, "AccessDeniedException", None, EndpointUnavailableError),
    ],
)
def test_calls__vendors_errors_become_ours_by_code(
    endpoint: SageMakerEndpoint, wire: Wire, call: Call, status: int, code: str, original: int | None, expected: type
) -> None:
    wire.refuse(status, code, **({"OriginalStatusCode": original, "OriginalMessage": SECRET_TEXT} if original else {}))

    with pytest.raises(EndpointError) as caught:
        call(endpoint)

    assert type(caught.value) is expected
    assert SECRET_TEXT not in str(caught.value)
    assert code in str(caught.value) or str(original) in str(caught.value)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "fault",
    [
        EndpointConnectionError(endpoint_url="wire"),
        ConnectTimeoutError(endpoint_url="wire"),
        ReadTimeoutError(endpoint_url="wire"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_calls__endpoint_out_of_reach_is_unavailable(
    endpoint: SageMakerEndpoint, wire: Wire, call: Call, fault: Exception
) -> None:
    wire.fault = fault

    with pytest.raises(EndpointUnavailableError, match=type(fault).__name__):
        call(endpoint)

    assert len(wire.sent) == 1, "a call is not repeated: the caller decides"


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
    client: "SageMakerRuntimeClient", wire: Wire, component: str | None
) -> None:
    wire.answer_json({"usage": USAGE})
    SageMakerEndpoint(lambda: client, endpoint_name="e", inference_component=component).prefill(WARM_UP)

    assert header(wire.sent[0], "X-Amzn-SageMaker-Inference-Component") == component


def test_connect__is_called_once_and_not_before_the_first_call(client: "SageMakerRuntimeClient", wire: Wire) -> None:
    connected: list[str] = []

    def connect() -> "SageMakerRuntimeClient":
        connected.append("now")
        return client

    endpoint = SageMakerEndpoint(connect, endpoint_name="preheat-model")
    assert connected == []
    for _ in range(2):
        wire.answer_json({"usage": USAGE})
        endpoint.prefill(WARM_UP)

    assert connected == ["now"]

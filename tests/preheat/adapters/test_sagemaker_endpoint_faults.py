"""What goes wrong at SageMaker becomes an error of ours, by its code, without the engine's words."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import ProtocolError
from urllib3.exceptions import ReadTimeoutError as WireTimeoutError

from preheat.adapters.sagemaker_endpoint import SageMakerEndpoint
from preheat.errors import EndpointError, EndpointRefusedError, EndpointUnavailableError
from preheat.ports import Delta
from tests.preheat.adapters.sagemaker_wire import (
    REQUEST,
    SECRET_TEXT,
    WARM_UP,
    Raw,
    Wire,
    frame,
    piece,
    sse,
)


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

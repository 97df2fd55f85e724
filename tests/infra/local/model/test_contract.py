"""Errors and limits on the wire."""

import json

import pytest

from infra.local.model.contract import check_headers, check_size, container_response, endpoint_response, is_warm_up
from infra.local.model.errors import BrokenStreamError, ContainerError, ModelServerError, ServiceError, refusal


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("preheat-priority=warm-up", True),
        ("trace=1,preheat-priority=warm-up;x=2", True),
        ("preheat-priority=warm-upper", False),
        ("xpreheat-priority=warm-up", False),
        ("", False),
    ],
)
def test_is_warm_up__only_when_the_attribute_says_so(attributes: str, *, expected: bool) -> None:
    assert is_warm_up({"x-amzn-sagemaker-custom-attributes": attributes}) is expected


def test_check_headers__a_prefix_id_over_the_limit_is_refused() -> None:
    check_headers({"x-amzn-sagemaker-prefix-aware-id": "s" * 64})

    with pytest.raises(ServiceError, match="prefixAwareId"):
        check_headers({"x-amzn-sagemaker-prefix-aware-id": "s" * 65})


def test_check_size__the_limit_itself_is_allowed() -> None:
    check_size(6_291_456)

    with pytest.raises(ServiceError, match="less than or equal to 6291456"):
        check_size(6_291_457)


@pytest.mark.parametrize(
    ("error", "status", "original", "side"),
    [
        (refusal(400, "no"), 400, "no", "client"),
        (refusal(503, "not now"), 503, "not now", "server"),
        (BrokenStreamError("gone"), 500, "gone", "server"),
    ],
)
def test_endpoint_response__wraps_what_the_container_says(
    error: ModelServerError, status: int, original: str, side: str
) -> None:
    response = endpoint_response(error)

    body = json.loads(bytes(response.body))
    assert (response.status_code, response.headers["x-amzn-errortype"]) == (424, "ModelError")
    assert body["OriginalStatusCode"] == status
    assert json.loads(body["OriginalMessage"])["error"]["message"] == original
    assert body["Message"].startswith(f"Received {side} error ({status}) from primary with message")


def test_endpoint_response__long_messages_are_cut_to_the_model_s_limit() -> None:
    body = json.loads(bytes(endpoint_response(ContainerError(500, b"x" * 5000)).body))

    assert len(body["Message"]) == len(body["OriginalMessage"]) == 2048


def test_endpoint_response__the_service_speaks_for_itself() -> None:
    response = endpoint_response(ServiceError("ServiceUnavailable", 503, "later"))

    assert (response.status_code, response.headers["x-amzn-errortype"]) == (503, "ServiceUnavailable")
    assert json.loads(bytes(response.body)) == {"Message": "later"}


def test_container_response__keeps_the_engine_s_own_words() -> None:
    response = container_response(ContainerError(400, b'{"error": "so"}'))

    assert (response.status_code, bytes(response.body)) == (400, b'{"error": "so"}')

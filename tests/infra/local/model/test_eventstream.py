"""Frames, decoded by botocore."""

import pytest
from botocore.eventstream import ChecksumMismatch, EventStreamBuffer, EventStreamMessage

from infra.local.model.eventstream import model_stream_error, payload_part


def decoded(raw: bytes) -> list[EventStreamMessage]:
    buffer = EventStreamBuffer()
    buffer.add_data(raw)
    return list(buffer)


def test_payload_part__is_what_botocore_decodes() -> None:
    (message,) = decoded(payload_part("data: {}\n\nü".encode()))

    assert message.to_response_dict()["headers"] == {
        ":event-type": "PayloadPart",
        ":content-type": "application/octet-stream",
        ":message-type": "event",
    }
    assert message.payload == "data: {}\n\nü".encode()


def test_payload_part__two_in_a_row_are_told_apart() -> None:
    messages = decoded(payload_part(b"one") + payload_part(b""))

    assert [message.payload for message in messages] == [b"one", b""]


def test_model_stream_error__is_an_exception_to_botocore() -> None:
    (message,) = decoded(model_stream_error("gone", error_code="StreamBroken"))

    response = message.to_response_dict()
    assert response["status_code"] == 400
    assert response["headers"][":exception-type"] == "ModelStreamError"
    assert message.payload == b'{"Message": "gone", "ErrorCode": "StreamBroken"}'


def test_payload_part__a_flipped_bit_is_noticed() -> None:
    raw = bytearray(payload_part(b"payload"))
    raw[-6] ^= 1

    with pytest.raises(ChecksumMismatch):
        decoded(bytes(raw))

"""Frames of `application/vnd.amazon.eventstream`, in which SageMaker streams an answer.

A frame is: total length, headers length, crc32 of these eight bytes, headers, payload, crc32 of all before it; numbers
are big-endian 32-bit. A header is: name length (8 bit), name, type 7 (string), value length (16 bit), value.
Source: Smithy's Amazon Event Stream specification and botocore's decoder, which checks every frame in the tests.
"""

import json
import struct
import zlib
from collections.abc import Mapping
from typing import Final

CONTENT_TYPE: Final = "application/vnd.amazon.eventstream"
_STRING: Final = 7
_OVERHEAD_BYTES: Final = 16


def _header(name: str, value: str) -> bytes:
    raw_name, raw_value = name.encode(), value.encode()
    return struct.pack("!B", len(raw_name)) + raw_name + struct.pack("!BH", _STRING, len(raw_value)) + raw_value


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one frame with string headers, in the order given."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack("!II", _OVERHEAD_BYTES + len(head) + len(payload), len(head))
    body = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + payload
    return body + struct.pack("!I", zlib.crc32(body))


def payload_part(payload: bytes) -> bytes:
    """Return the frame of one piece of the container's answer."""
    return frame(
        {":event-type": "PayloadPart", ":content-type": "application/octet-stream", ":message-type": "event"}, payload
    )


def model_stream_error(message: str, *, error_code: str) -> bytes:
    """Return the frame that ends a stream badly; boto3 raises it as EventStreamError.

    Args:
        message: For people; holds no text of the user.
        error_code: `StreamBroken` or `ModelInvocationTimeExceeded`, as in SageMaker's service model.
    """
    payload = json.dumps({"Message": message, "ErrorCode": error_code}).encode()
    return frame(
        {":exception-type": "ModelStreamError", ":content-type": "application/json", ":message-type": "exception"},
        payload,
    )

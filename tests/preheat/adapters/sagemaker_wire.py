"""SageMaker's end of the wire: what it sends in place of a network, for botocore to parse."""

import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

from preheat.prefill import EngineRequest

REPLICA = "replica-7"
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
        headers = HTTPHeaders.from_dict({"x-Amzn-Invoked-Production-Variant": REPLICA, **self.headers})
        return AWSResponse(request.url, self.status, headers, self.raw)

    def answer_json(self, document: object) -> None:
        self.raw = Raw([json.dumps(document).encode()])

    def stream(self, *events: object, fault: Exception | None = None) -> None:
        self.raw = Raw([frame(sse(event)) for event in events], fault)

    def refuse(self, status: int, code: str, **fields: object) -> None:
        self.status = status
        self.headers = {"x-amzn-ErrorType": code}
        self.raw = Raw([json.dumps({"Message": SECRET_TEXT, **fields}).encode()])


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

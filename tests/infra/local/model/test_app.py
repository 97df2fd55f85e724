"""The routes against a fake engine: framing, errors by route, loading, limits."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
import pytest
from botocore.eventstream import EventStreamBuffer

from infra.local.model.app import make_app
from infra.local.model.backend import EngineFacts
from infra.local.model.chat import Chat
from infra.local.model.errors import BrokenStreamError, refusal
from infra.local.model.salt import Message
from infra.local.model.scheduler import Scheduler
from infra.local.model.serving import Container

FACTS = EngineFacts("replica-1", "http://engine", "m", 100, 1, "text", 3, ("cache_salt",))
INVOKE = "/endpoints/preheat/invocations"
STREAM = "/endpoints/preheat/invocations-response-stream"


class FakeBackend:
    """An engine that says what it is told, and notes the sessions it was asked for."""

    facts = FACTS

    def __init__(self, parts: tuple[bytes, ...] = (b"one", b"two"), *, fault: Exception | None = None) -> None:
        self.parts = parts
        self.fault = fault
        self.sessions: list[str] = []

    @asynccontextmanager
    async def open(self, chat: Chat, *, session: str) -> AsyncIterator[AsyncIterator[bytes]]:
        self.sessions.append(session)
        if self.fault is not None and not self.parts:
            raise self.fault
        yield self._parts(chat)

    async def _parts(self, chat: Chat) -> AsyncIterator[bytes]:
        for part in self.parts if chat.stream else (b"".join(self.parts),):
            yield part
        if self.fault is not None:
            raise self.fault

    async def count_messages(self, messages: tuple[Message, ...], *, cache_salt: str | None) -> int:
        return len(messages) + (10 if cache_salt else 0)

    async def count_text(self, text: str) -> int:
        return len(text.split())


def post(
    path: str, body: object, *, backend: FakeBackend | None, headers: Mapping[str, str] | None = None
) -> httpx.Response:
    container = Container(Scheduler())
    if backend is not None:
        container.use(backend)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def run() -> httpx.Response:
        transport = httpx.ASGITransport(make_app(container, endpoint_name="preheat"), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
            if body is None:
                return await client.get(path)
            return await client.post(path, content=content, headers=dict(headers or {}))

    return asyncio.run(run())


def chat(**fields: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": "Hello"}], **fields}


def frames(raw: bytes) -> list[tuple[str, bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(raw)
    responses = [message.to_response_dict() for message in buffer]
    return [(one["headers"].get(":event-type") or one["headers"][":exception-type"], one["body"]) for one in responses]


def test_invoke__is_the_container_s_document_and_names_the_replica() -> None:
    response = post(INVOKE, chat(), backend=FakeBackend())

    assert (response.status_code, response.content) == (200, b"onetwo")
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-amzn-invoked-production-variant"] == "replica-1"


def test_invoke__a_streaming_body_comes_whole() -> None:
    response = post(INVOKE, chat(stream=True), backend=FakeBackend())

    assert response.content == b"onetwo"
    assert response.headers["content-type"].startswith("text/event-stream")


def test_invoke_stream__each_part_is_a_frame() -> None:
    response = post(STREAM, chat(stream=True), backend=FakeBackend())

    assert frames(response.content) == [("PayloadPart", b"one"), ("PayloadPart", b"two")]
    assert response.headers["content-type"] == "application/vnd.amazon.eventstream"
    assert response.headers["x-amzn-sagemaker-content-type"] == "text/event-stream"
    assert response.headers["x-amzn-invoked-production-variant"] == "replica-1"


def test_invoke_stream__a_break_after_the_first_part_is_an_exception_frame() -> None:
    response = post(STREAM, chat(stream=True), backend=FakeBackend((b"one",), fault=BrokenStreamError("gone")))

    (first, second) = frames(response.content)
    assert first == ("PayloadPart", b"one")
    assert second[0] == "ModelStreamError"
    assert json.loads(second[1]) == {"Message": "gone", "ErrorCode": "StreamBroken"}


@pytest.mark.parametrize("path", [INVOKE, STREAM])
def test_invoke__a_refusal_of_the_container_is_a_model_error(path: str) -> None:
    response = post(path, chat(stream=True), backend=FakeBackend((), fault=refusal(400, "no")))

    assert (response.status_code, response.headers["x-amzn-errortype"]) == (424, "ModelError")


@pytest.mark.parametrize("path", [INVOKE, STREAM, "/engine", "/tokenize", "/invocations"])
def test_every_route__while_loading_is_unavailable(path: str) -> None:
    response = post(path, None if path == "/engine" else chat(), backend=None)

    assert response.status_code == 503
    assert response.headers.get("x-amzn-errortype") == ("ServiceUnavailable" if "endpoints" in path else None)


def test_invoke__another_name_is_not_found() -> None:
    response = post("/endpoints/other/invocations", chat(), backend=FakeBackend())

    assert (response.status_code, response.headers["x-amzn-errortype"]) == (400, "ValidationError")
    assert response.json() == {"Message": "Endpoint other of account 123456789012 not found."}


def test_invoke__a_fault_of_ours_is_an_internal_failure_without_the_text(caplog: pytest.LogCaptureFixture) -> None:
    response = post(INVOKE, chat(), backend=FakeBackend((), fault=ValueError("a secret")))

    assert (response.status_code, response.headers["x-amzn-errortype"]) == (500, "InternalFailure")
    assert "a secret" not in caplog.text
    assert "ValueError" in caplog.text


def test_invoke__sessions_of_two_salts_are_two() -> None:
    backend = FakeBackend()
    headers = {"X-Amzn-SageMaker-Prefix-Aware-Id": "s1"}

    for salt in ("a", "b"):
        post(INVOKE, chat(cache_salt=salt), backend=backend, headers=headers)
    post(INVOKE, chat(cache_salt="a"), backend=backend)

    assert backend.sessions == ["s1/a", "s1/b", ""]


def test_invoke__a_warm_up_answers_like_any_call() -> None:
    headers = {"X-Amzn-SageMaker-Custom-Attributes": "preheat-priority=warm-up"}

    assert post(INVOKE, chat(), backend=FakeBackend(), headers=headers).content == b"onetwo"


def test_invoke__a_body_over_the_limit() -> None:
    response = post(INVOKE, b"x" * 6_291_457, backend=FakeBackend())

    assert (response.status_code, response.headers["x-amzn-errortype"]) == (400, "ValidationError")


def test_invocations__speaks_as_the_container() -> None:
    answered = post("/invocations", chat(), backend=FakeBackend())
    refused = post("/invocations", {"messages": []}, backend=FakeBackend())
    too_large = post("/invocations", b"x" * 6_291_457, backend=FakeBackend())

    assert (answered.status_code, answered.content) == (200, b"onetwo")
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "BadRequestError")
    assert too_large.status_code == 413


def test_invocations__streams_the_events_as_they_are() -> None:
    response = post("/invocations", chat(stream=True), backend=FakeBackend())

    assert response.content == b"onetwo"
    assert response.headers["content-type"] == "text/event-stream"


def test_ping__only_when_there_is_an_engine() -> None:
    assert post("/ping", None, backend=None).status_code == 503
    assert post("/ping", None, backend=FakeBackend()).status_code == 200


def test_engine__says_what_it_is_and_lacks() -> None:
    facts = post("/engine", None, backend=FakeBackend()).json()

    assert facts["engine_id"] == "replica-1"
    assert facts["lacks"] == ["cache_salt"]


def test_tokenize__messages_or_text() -> None:
    backend = FakeBackend()

    assert post("/tokenize", {"text": "one two"}, backend=backend).json() == {"tokens": 2}
    assert post("/tokenize", chat(cache_salt="t"), backend=backend).json() == {"tokens": 11}


@pytest.mark.parametrize("wrong", [{}, {"text": "x", "messages": [{"role": "user"}]}, {"messages": []}, b"{"])
def test_tokenize__neither_or_both_is_refused(wrong: object) -> None:
    assert post("/tokenize", wrong, backend=FakeBackend()).status_code == 400

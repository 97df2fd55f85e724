"""What is sent to llama.cpp, and what comes back."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from infra.local.model.backend import EngineFacts
from infra.local.model.chat import parse_chat
from infra.local.model.errors import ContainerError
from infra.local.model.llama_backend import LlamaBackend
from infra.local.model.parking import SlotKeeper
from infra.local.model.salt import Message, salt_text
from infra.local.model.slots import SlotTable

FACTS = EngineFacts("id", "http://engine", "m", 100, 1, "text", 3, ())


def event(**fields: object) -> str:
    return f"data: {json.dumps(fields)}\n\n"


PROGRESS = event(choices=[], prompt_progress={"total": 40, "processed": 0})
TOKENS = event(choices=[{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}])
END = event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage={"prompt_tokens": 40})
DONE = "data: [DONE]\n\n"


class Engine:
    """llama.cpp's HTTP API, as far as it is used: a word is a token."""

    def __init__(self, stream: str = PROGRESS + TOKENS + PROGRESS + END + DONE, *, status: int = 200) -> None:
        self.stream = stream
        self.status = status
        self.asked: dict[str, object] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked = json.loads(request.read())
        if request.url.path == "/apply-template":
            messages = self.asked["messages"]
            assert isinstance(messages, list)
            return httpx.Response(200, json={"prompt": "<s> " + " ".join(one["content"] for one in messages)})
        if request.url.path == "/tokenize":
            return httpx.Response(200, json={"tokens": [hash(word) for word in str(self.asked["content"]).split()]})
        return httpx.Response(self.status, text=self.stream)


def backend_on(engine: Engine, *, takes_tools: bool = False) -> LlamaBackend:
    client = httpx.AsyncClient(base_url="http://engine", transport=httpx.MockTransport(engine))
    keeper = SlotKeeper(SlotTable(1, 0), client, folder=Path())
    return LlamaBackend(client, FACTS, keeper=keeper, takes_tools=takes_tools, running=None)


def parts_of(backend: LlamaBackend, **fields: object) -> list[bytes]:
    body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5, **fields}

    async def run() -> list[bytes]:
        async with backend.open(parse_chat(json.dumps(body).encode()), session="s") as parts:
            return [part async for part in parts]

    return asyncio.run(run())


def test_open__a_stream_passes_without_the_engine_s_progress() -> None:
    parts = parts_of(backend_on(Engine()), stream=True)

    assert b"".join(parts).decode() == TOKENS + END + DONE


def test_open__a_document_is_put_together_from_the_stream() -> None:
    (part,) = parts_of(backend_on(Engine()))

    answer = json.loads(part)
    assert answer["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ]
    assert answer["usage"] == {"prompt_tokens": 40}


def test_open__the_salt_goes_into_the_text() -> None:
    engine = Engine()

    parts_of(backend_on(engine), cache_salt="t")

    assert "cache_salt" not in engine.asked
    assert engine.asked["messages"] == [
        {"role": "system", "content": salt_text("t")},
        {"role": "user", "content": "Hello"},
    ]


def test_open__messages_stand_first_and_the_slot_is_ours() -> None:
    engine = Engine()

    parts_of(backend_on(engine), id_slot=7, seed=1)

    assert next(iter(engine.asked)) == "messages"
    assert (engine.asked["id_slot"], engine.asked["seed"], engine.asked["stream"]) == (0, 1, True)


def test_open__prompt_and_answer_over_the_context_are_refused() -> None:
    assert parts_of(backend_on(Engine()), max_tokens=60)

    with pytest.raises(ContainerError, match="400") as caught:
        parts_of(backend_on(Engine()), max_tokens=61)
    assert b"maximum context length is 100 tokens" in caught.value.body


def test_open__tools_that_the_template_drops_are_refused() -> None:
    tools = [{"type": "function", "function": {"name": "find"}}]
    assert parts_of(backend_on(Engine(), takes_tools=True), tools=tools)

    with pytest.raises(ContainerError, match="400"):
        parts_of(backend_on(Engine()), tools=tools)


def test_open__the_engine_s_refusal_passes_as_it_is() -> None:
    with pytest.raises(ContainerError) as caught:
        parts_of(backend_on(Engine('{"error": {"code": 400}}', status=400)), stream=True)

    assert (caught.value.status, caught.value.body) == (400, b'{"error": {"code": 400}}')


@pytest.mark.parametrize("stream", [event(error={"code": 500}) + DONE, PROGRESS + event(error={"code": 500}) + DONE])
def test_open__a_document_that_fails_is_the_container_s_error(stream: str) -> None:
    with pytest.raises(ContainerError, match="500"):
        parts_of(backend_on(Engine(stream)))


def test_open__gives_the_slot_back_after_a_refusal() -> None:
    backend = backend_on(Engine())

    for _ in range(2):
        with pytest.raises(ContainerError):
            parts_of(backend, max_tokens=1000)


def test_count_messages__counts_the_template_and_the_salt() -> None:
    messages: tuple[Message, ...] = ({"role": "system", "content": "one two"},)

    async def run() -> tuple[int, int, int]:
        backend = backend_on(Engine())
        return (
            await backend.count_text("one two"),
            await backend.count_messages(messages, cache_salt=None),
            await backend.count_messages(messages, cache_salt="t"),
        )

    assert asyncio.run(run()) == (2, 3, 4)


def test_shared_by_salts__is_the_template_s_opening() -> None:
    assert asyncio.run(backend_on(Engine()).shared_by_salts()) == 1

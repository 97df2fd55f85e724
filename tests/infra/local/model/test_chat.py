"""The door refuses what vLLM refuses and repeats no text."""

import json

import pytest

from infra.local.model.chat import parse_chat
from infra.local.model.errors import ContainerError

MESSAGES = [{"role": "user", "content": "a secret"}]


def body(**fields: object) -> bytes:
    return json.dumps({"messages": MESSAGES, **fields}).encode()


def test_parse_chat__keeps_what_it_does_not_know() -> None:
    raw = body(
        max_tokens=3, stream=True, cache_salt="t", seed=7, messages=[{"role": "user", "content": "x", "name": "n"}]
    )

    chat = parse_chat(raw)

    assert chat.raw == raw
    assert chat.body["seed"] == 7
    assert chat.messages == ({"role": "user", "content": "x", "name": "n"},)
    assert (chat.max_tokens, chat.stream, chat.cache_salt, chat.has_tools) == (3, True, "t", False)


def test_parse_chat__a_whole_surrogate_pair_is_a_character() -> None:
    raw = b'{"messages": [{"role": "user", "content": "\\ud83d\\ude00"}]}'

    assert parse_chat(raw).messages == ({"role": "user", "content": "\U0001f600"},)


def test_parse_chat__max_completion_tokens_comes_first() -> None:
    assert parse_chat(body(max_tokens=3, max_completion_tokens=5)).max_tokens == 5


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (body(max_tokens=0), "max_tokens"),
        (body(max_tokens=-1), "max_tokens"),
        (body(max_completion_tokens=0), "max_completion_tokens"),
        (body(temperature=-0.1), "temperature"),
        (body(top_p=0), "top_p"),
        (body(cache_salt=""), "cache_salt"),
        (body(stream_options={"include_usage": True}), "stream_options"),
        (b'{"messages": []}', "messages"),
        (b'{"max_tokens": 1}', "messages"),
        (b'{"messages": "a secret"}', "messages"),
        (b'{"messages": [{"content": "a secret"}]}', "messages.0.role"),
        (b'{"messages": [{"role": "user", "content": 5}]}', "messages.0.content"),
        (b'["a secret"]', "body"),
        (b'{"messages": [a secret', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"", "not JSON"),
        (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', "surrogate"),
    ],
)
def test_parse_chat__refuses_and_names_the_field_not_the_text(raw: bytes, field: str) -> None:
    with pytest.raises(ContainerError) as caught:
        parse_chat(raw)

    error = json.loads(caught.value.body)["error"]
    assert caught.value.status == error["code"] == 400
    assert field in error["message"]
    assert "a secret" not in error["message"]

"""The door: an OpenAI chat body as the container takes it, refused where vLLM refuses it.

Only what decides is parsed; the rest of the body goes to the engine as it came.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from infra.local.model.errors import refusal
from infra.local.model.salt import Message

# The limit of InvokeEndpoint's body in SageMaker's service model.
MAX_BODY_BYTES: Final = 6_291_456

Tokens = Annotated[int, Field(ge=1)]


class _ChatMessage(BaseModel):
    model_config = ConfigDict(extra="allow")
    role: Annotated[str, Field(min_length=1)]
    content: str | list[dict[str, JsonValue]] | None = None


class _StreamOptions(BaseModel):
    model_config = ConfigDict(extra="allow")
    include_usage: bool = False


class _ChatBody(BaseModel):
    model_config = ConfigDict(extra="allow")
    messages: Annotated[list[_ChatMessage], Field(min_length=1)]
    model: str | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None
    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    n: Annotated[int, Field(ge=1)] | None = None
    stream: bool = False
    stream_options: _StreamOptions | None = None
    cache_salt: Annotated[str, Field(min_length=1)] | None = None
    tools: list[JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """One call of the container.

    Attributes:
        raw: The body as it came.
        body: The body as JSON.
        messages: Its messages, at least one.
        max_tokens: Most tokens of the answer; None leaves it to the context.
        stream: Server-sent events are wanted.
        cache_salt: Callers with different salts share no cached prefix.
        has_tools: The body carries tool schemas for the chat template.
    """

    raw: bytes
    body: dict[str, JsonValue]
    messages: tuple[Message, ...]
    max_tokens: int | None
    stream: bool
    cache_salt: str | None
    has_tools: bool


def parse_chat(raw: bytes) -> Chat:
    """Return the body when vLLM would take it.

    Raises:
        ContainerError: 400, naming the first field that is wrong and never its value.
    """
    try:
        body = json.loads(raw)
    except json.JSONDecodeError as error:
        raise refusal(400, f"the body is not JSON: {error.msg} at line {error.lineno} column {error.colno}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise refusal(400, "the body is not JSON in UTF-8") from error
    if b"\\u" in raw:
        _check_surrogates(body)
    try:
        parsed = _ChatBody.model_validate(body)
    except ValidationError as error:
        raise refusal(400, _first_fault(error)) from error
    if parsed.stream_options is not None and not parsed.stream:
        raise refusal(400, "stream_options: can only be set when stream is true")
    return Chat(
        raw=raw,
        body=body,
        messages=tuple(body["messages"]),
        max_tokens=parsed.max_completion_tokens or parsed.max_tokens,
        stream=parsed.stream,
        cache_salt=parsed.cache_salt,
        has_tools=bool(parsed.tools),
    )


def _check_surrogates(body: JsonValue) -> None:
    r"""Refuse half a character, such as `\ud800`: it is JSON but no text."""
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise refusal(400, "the body holds half a surrogate pair") from error


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_input=False, include_url=False)[0]
    field = ".".join(str(step) for step in fault["loc"]) or "body"
    return f"{field}: {fault['msg']}"

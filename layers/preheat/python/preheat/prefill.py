"""Lever prefill: which bytes the engine reads ahead, and what proves that it kept them.

The renderer turns a bundle into the engine's request. `messages` stands first in the body and everything that varies
last, so that the warm-up and the request are equal from byte 0 (SageMaker routes by the first bytes). Tools are written
as text at the head of the system message: some chat templates drop the `tools` field without a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from preheat.bundle import Bundle
from preheat.canonical import as_data, canonical_json, sha256_hex
from preheat.history import call_text, result_text
from preheat.sections import BETWEEN, HEADINGS, turn_messages, written

RENDERER: Final = "text-tools/2"
# A warm-up is honoured when the engine reused at least this share of the warmed tokens.
HONOURED_SHARE: Final = 0.95

Message = dict[str, object]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """One message that the caller sends now: the user's, or the result of a tool call."""

    role: Literal["user", "tool"]
    content: str
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the answer is to be generated. `max_tokens` counts answer tokens."""

    max_tokens: int
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """One call of the engine.

    Attributes:
        body: OpenAI chat JSON; equal versions give equal bytes.
        prefix_id: Routes the warm-up and the request of one session to one replica.
        warm_up: True for speculative work, which gives way to answers.
    """

    body: bytes
    prefix_id: str
    warm_up: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """The engine's own count: tokens of the prompt, how many it reused, tokens of the answer."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a warm-up left behind.

    Attributes:
        status: in_flight until the engine has answered; failed names its reason.
        stamp: The bundle's, as text.
        prefix_sha256: Hash of the prefilled messages.
        warmed_tokens: Prompt tokens of the warm-up, by the engine's count.
        reused_tokens: How many of them the engine already had.
        engine_id: The replica that holds them; another one knows nothing.
        started_at: Epoch seconds; lifetimes count from here.
        expires_at: Epoch seconds.
        took_ms: Duration of the warming call.
        reason: Why it failed or was not needed, or empty.
    """

    status: Literal["in_flight", "warm", "failed"]
    stamp: str
    prefix_sha256: str
    warmed_tokens: int
    reused_tokens: int
    engine_id: str
    started_at: float
    expires_at: float
    took_ms: float
    reason: str = ""


def prefix_messages(bundle: Bundle) -> list[Message]:
    """Return the messages that do not depend on what the user is about to ask."""
    by_name = {section.name: section for section in bundle.sections}
    parts = [written(name, by_name[name].content) for name in HEADINGS if name in by_name]
    system: Message = {"role": "system", "content": BETWEEN.join(parts)}
    turns = by_name.get("recent_turns")
    return [system, *(map(_plain, turn_messages(turns)) if turns else [])]


def _plain(message: Message) -> Message:
    """Write tool calls and results as text: every chat template knows plain user and assistant messages."""
    content = str(message["content"])
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        made = [call_text(call["function"]["name"], call["function"]["arguments"]) for call in calls]
        return {"role": "assistant", "content": "\n".join(([content] if content else []) + made)}
    if message["role"] == "tool":
        return {"role": "user", "content": result_text(content)}
    return {"role": message["role"], "content": content}


def prefix_sha256(bundle: Bundle) -> str:
    """Return the hash of the prefix: equal hashes need no second prefill (64 hex digits)."""
    return sha256_hex(canonical_json(prefix_messages(bundle)))


def prefill_request(bundle: Bundle, *, salt: str, prefix_id: str) -> EngineRequest:
    """Return the call that makes the engine read the prefix. It asks for one token: engines refuse to make none."""
    return EngineRequest(
        body=_body(prefix_messages(bundle), salt=salt, sampling=Sampling(max_tokens=1), stream=False),
        prefix_id=prefix_id,
        warm_up=True,
    )


def answer_request(
    bundle: Bundle | None, new: Sequence[NewMessage], *, salt: str, prefix_id: str, sampling: Sampling
) -> EngineRequest:
    """Return the call that answers: the prefix, then corrections and the new messages at the tail.

    Args:
        bundle: None when nothing could be verified; then only the new messages are sent.
        new: What the caller sends now, oldest first.
        salt: The tenant's.
        prefix_id: The session's.
        sampling: How to generate.
    """
    messages = prefix_messages(bundle) if bundle else []
    tail = [_plain({"role": one.role, "content": one.content}) for one in new]
    if bundle and bundle.corrections:
        update = "\n".join(("[Preferences changed since the start of this session]", *bundle.corrections))
        tail[-1] = {**tail[-1], "content": f"{update}\n\n{tail[-1]['content']}"}
    return EngineRequest(
        body=_body([*messages, *tail], salt=salt, sampling=sampling, stream=True),
        prefix_id=prefix_id,
        warm_up=False,
    )


def _body(messages: Sequence[Message], *, salt: str, sampling: Sampling, stream: bool) -> bytes:
    head = canonical_json([{"role": one["role"], "content": as_data(str(one["content"]))} for one in messages])
    rest: dict[str, object] = {
        "cache_salt": salt,
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "stream": stream,
    }
    if stream:
        rest["stream_options"] = {"include_usage": True}
    return f'{{"messages":{head},{canonical_json(rest)[1:]}'.encode()


def honoured(warmed_tokens: int, reused_tokens: int) -> bool:
    """Tell whether the engine's count supports the word "warm"."""
    return warmed_tokens > 0 and reused_tokens >= HONOURED_SHARE * warmed_tokens

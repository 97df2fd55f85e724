"""The answer in OpenAI's chat-completions shape: chunks of a stream, or one object; our report rides along."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

from preheat.canonical import canonical_json
from preheat.history import ToolCall
from preheat.ports import Delta
from preheat.report import AnswerItem, AnswerReport, CallsMade


@dataclass(frozen=True, slots=True)
class Head:
    """What every chunk of one answer repeats. `created` is in epoch seconds."""

    answer_id: str
    agent: str
    created: int


DONE: Final = b"data: [DONE]\n\n"
_DIGITS: Final = 3


def sse(data: dict[str, object]) -> bytes:
    """Return one server-sent event."""
    return f"data: {canonical_json(data)}\n\n".encode()


def chunk(item: AnswerItem, head: Head) -> dict[str, object]:
    """Return one `chat.completion.chunk`; the report becomes the last one, with `usage` and `preheat`."""
    body = _opened(head, "chat.completion.chunk")
    if isinstance(item, Delta):
        delta = {"role": "assistant", "content": item.text}
        return {**body, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    if isinstance(item, CallsMade):
        made = {"tool_calls": [{"index": n, **_call(call)} for n, call in enumerate(item.calls)]}
        return {**body, "choices": [{"index": 0, "delta": made, "finish_reason": None}]}
    choices = [{"index": 0, "delta": {}, "finish_reason": item.finish_reason}]
    return {**body, "choices": choices, "usage": _usage(item), "preheat": preheat_block(item)}


def completion(items: Iterator[AnswerItem], head: Head) -> dict[str, object]:
    """Return the whole answer as one `chat.completion`."""
    text: list[str] = []
    message: dict[str, object] = {"role": "assistant"}
    body = _opened(head, "chat.completion")
    for item in items:
        if isinstance(item, Delta):
            text.append(item.text)
            continue
        if isinstance(item, CallsMade):
            message["tool_calls"] = [_call(call) for call in item.calls]
            continue
        message["content"] = "".join(text)
        body["choices"] = [{"index": 0, "message": message, "finish_reason": item.finish_reason}]
        body["usage"] = _usage(item)
        body["preheat"] = preheat_block(item)
    return body


def _opened(head: Head, kind: str) -> dict[str, object]:
    return {"id": head.answer_id, "object": kind, "created": head.created, "model": head.agent}


def _call(call: ToolCall) -> dict[str, object]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _usage(report: AnswerReport) -> dict[str, object]:
    usage = report.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def preheat_block(report: AnswerReport) -> dict[str, object]:
    """Return what the caller is told of how the answer came about. Times in milliseconds."""
    return {
        "state": report.state,
        "stamp": report.stamp,
        "ttft_ms": round(report.ttft_ms, _DIGITS),
        "ms": {name: round(value, _DIGITS) for name, value in asdict(report.ms).items()},
        "warmed_tokens": report.warmed_tokens,
        "reused_tokens": report.reused_tokens,
        "engine_id": report.engine_id,
        "hist_seq": report.hist_seq,
        "reasons": list(report.reasons),
        "missing": [asdict(one) for one in report.missing],
        "sections": [asdict(one) for one in report.sections],
    }

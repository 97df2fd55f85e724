"""Server-sent events of a chat stream: taken apart, and put together to a whole answer."""

import json
from collections.abc import AsyncIterator, Iterable
from typing import Final

from pydantic import JsonValue

from infra.local.model.errors import BrokenStreamError

DONE: Final = b"data: [DONE]\n\n"
_DATA: Final = b"data:"
_END: Final = b"\n\n"


async def split_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    r"""Yield whole events, each with its closing blank line, from bytes cut anywhere. Line ends become `\n`.

    Raises:
        BrokenStreamError: the bytes ended before `data: [DONE]`.
    """
    pending, ended = b"", False
    async for piece in pieces:
        pending = (pending + piece).replace(b"\r\n", b"\n")
        *events, pending = pending.split(_END)
        for event in events:
            ended = ended or event + _END == DONE
            if event:
                yield event + _END
    if not ended:
        raise BrokenStreamError("the engine ended the stream before it was done")


def event_json(event: bytes) -> dict[str, JsonValue] | None:
    """Return the JSON object of an event; None for `[DONE]`, comments and anything else."""
    data = b"".join(line[len(_DATA) :] for line in event.splitlines() if line.startswith(_DATA)).strip()
    if not data.startswith(b"{"):
        return None
    value = json.loads(data)
    return value if isinstance(value, dict) else None


def whole_answer(chunks: Iterable[dict[str, JsonValue]]) -> dict[str, JsonValue]:
    """Put the chunks of a stream together to the `chat.completion` that the same call gives without streaming.

    Texts are joined, tool calls are merged by index, lists are appended; what stands beside `choices` comes from the
    last chunk that has it.
    """
    answer: dict[str, JsonValue] = {}
    choices: dict[int, dict[str, JsonValue]] = {}
    for chunk in chunks:
        for piece in _dicts(chunk.get("choices")):
            index = int(str(piece.get("index", 0)))
            choice = choices.setdefault(index, {"index": index, "message": {}, "finish_reason": None})
            delta, message = piece.get("delta"), choice["message"]
            if isinstance(delta, dict) and isinstance(message, dict):
                _merge(message, delta)
            if piece.get("finish_reason"):
                choice["finish_reason"] = piece["finish_reason"]
            if isinstance(piece.get("logprobs"), dict):
                _merge(choice, {"logprobs": piece["logprobs"]})
        answer.update({name: value for name, value in chunk.items() if name != "choices"})
    for choice in choices.values():
        if isinstance(choice["message"], dict):
            choice["message"].setdefault("content", None)
    return {**answer, "object": "chat.completion", "choices": [choices[index] for index in sorted(choices)]}


def _dicts(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _merge(whole: dict[str, JsonValue], piece: dict[str, JsonValue]) -> None:
    for name, value in piece.items():
        old = whole.get(name)
        if old is None or name in {"role", "id", "type", "index"}:
            whole[name] = value if value is not None else old
        elif isinstance(old, str) and isinstance(value, str):
            whole[name] = old + value
        elif isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        elif isinstance(old, list) and isinstance(value, list):
            _append(old, value)


def _append(whole: list[JsonValue], pieces: list[JsonValue]) -> None:
    """Append list items; an item with an `index` that is there already is merged into it."""
    for piece in pieces:
        index = piece.get("index") if isinstance(piece, dict) else None
        known = [one for one in _dicts(whole) if index is not None and one.get("index") == index]
        if known and isinstance(piece, dict):
            _merge(known[0], piece)
        else:
            whole.append(piece)

"""One streamed answer, read and timed at the HTTP client: what a person waits for, and what it says of itself."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

_DATA: Final = b"data:"
_DONE: Final = b"[DONE]"


class BrokenAnswerError(Exception):
    """The stream ended before the answer did. The message is one line."""


class PhaseTimes(BaseModel):
    """The `ms` of an answer's report; see `preheat.report.Phases`. Milliseconds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    check: float
    retrieval: float
    tools: float
    assembly: float
    prefill: float
    decode: float

    @property
    def own(self) -> float:
        """From accepting the request to handing it to the engine."""
        return self.check + self.retrieval + self.tools + self.assembly


class AnswerBlock(BaseModel):
    """The `preheat` block of an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    state: str
    stamp: str
    ttft_ms: float
    ms: PhaseTimes
    warmed_tokens: int
    reused_tokens: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as its caller saw it.

    Attributes:
        ttft_ms: From submitting the request to the first piece of text, at the caller.
        text: All of it.
        prompt_tokens: The engine's count.
        block: What the answer says of itself.
    """

    ttft_ms: float
    text: str
    prompt_tokens: int
    block: AnswerBlock

    @property
    def http_ms(self) -> float:
        """What lies between the caller and the function: connection, gateway, events."""
        return max(0.0, self.ttft_ms - self.block.ttft_ms)


def read_answer(chunks: Iterable[bytes], *, submitted: float) -> Answer:
    """Read a stream of server-sent events to its end.

    Args:
        chunks: The body as it comes, cut anywhere.
        submitted: When the request was handed over, by `time.perf_counter`.

    Raises:
        BrokenAnswerError: the stream holds an error, or no report at its end.
    """
    first: float | None = None
    text: list[str] = []
    last: Mapping[str, object] = {}
    for event in sse_events(chunks):
        if "error" in event:
            raise BrokenAnswerError("the answer broke off")
        piece = content_of(event)
        if piece:
            first = first or time.perf_counter()
            text.append(piece)
        last = event
    first = first or time.perf_counter()
    usage = last.get("usage")
    if "preheat" not in last or not isinstance(usage, dict):
        raise BrokenAnswerError("the answer ended without its report")
    return Answer(
        ttft_ms=(first - submitted) * 1000,
        text="".join(text),
        prompt_tokens=int(usage["prompt_tokens"]),
        block=AnswerBlock.model_validate(last["preheat"]),
    )


def sse_events(chunks: Iterable[bytes]) -> Iterator[dict[str, object]]:
    """Yield the JSON objects of server-sent events, each as soon as its line is whole."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.startswith(_DATA) and (data := line[len(_DATA) :].strip()) != _DONE:
                event = json.loads(data)
                if isinstance(event, dict):
                    yield event


def content_of(event: Mapping[str, object]) -> str:
    """Return the piece of text that a chat-completions chunk carries, or empty."""
    choices = event.get("choices")
    if not isinstance(choices, list) or not choices:
        return ""
    content = choices[0].get("delta", {}).get("content")
    return content if isinstance(content, str) else ""

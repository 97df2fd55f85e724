"""The shipped fake of the model endpoint: no words of its own, but a real prefix cache that can be counted on."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from preheat.ports import Delta, Finished, Prefilled
from preheat.prefill import EngineRequest, Usage

if TYPE_CHECKING:
    from preheat.errors import EndpointError

_CHARACTERS_PER_TOKEN: Final = 4


class MemoryEndpoint:
    """Answers every message with the same pieces and reuses the longest common prefix per salt, as an engine does.

    Attributes:
        requests: Every call's request, in order.
        fault: Raised by the next calls while it is set.
    """

    def __init__(self, pieces: Sequence[str] = ("All ", "set.")) -> None:
        self.requests: list[EngineRequest] = []
        self.fault: EndpointError | None = None
        self._pieces = tuple(pieces)
        self._engine = 1
        self._read: dict[str, list[str]] = {}

    def answer_with(self, *pieces: str) -> None:
        """Answer every message with these pieces from now on."""
        self._pieces = pieces

    def restart(self) -> None:
        """Lose every prefix and come back as another replica."""
        self._engine += 1
        self._read.clear()

    def prefill(self, request: EngineRequest) -> Prefilled:
        """Read the request's messages."""
        return Prefilled(self._usage(request, answer=""), self._engine_id)

    def generate(self, request: EngineRequest) -> Iterator[Delta | Finished]:
        """Stream the pieces; the last item is `Finished`."""
        usage = self._usage(request, answer="".join(self._pieces))
        yield from map(Delta, self._pieces)
        yield Finished(usage, self._engine_id, "stop")

    @property
    def _engine_id(self) -> str:
        return f"memory-{self._engine}"

    def _usage(self, request: EngineRequest, *, answer: str) -> Usage:
        self.requests.append(request)
        if self.fault is not None:
            raise self.fault
        body = json.loads(request.body)
        prompt = "".join(f"<{message['role']}>{message['content']}" for message in body["messages"])
        read = self._read.setdefault(body["cache_salt"], [])
        cached = max((_shared(prompt, other) for other in read), default=0)
        read.append(f"{prompt}<assistant>{answer}")
        return Usage(
            prompt_tokens=len(prompt) // _CHARACTERS_PER_TOKEN,
            cached_tokens=cached // _CHARACTERS_PER_TOKEN,
            completion_tokens=len(answer) // _CHARACTERS_PER_TOKEN,
        )


def _shared(one: str, other: str) -> int:
    """Return how many leading characters two prompts have in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))

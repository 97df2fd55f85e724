"""The engine of the freshness tests: the shipped fake, restarted or emptied at will, with a second count beside its own."""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from preheat.adapters.memory_endpoint import MemoryEndpoint
from preheat.errors import EndpointError
from preheat.ports import Delta, Finished, Prefilled
from preheat.prefill import EngineRequest

_CHARACTERS_PER_TOKEN: Final = 4
# Every prompt is compared with all that were read before it, so a long life is a slow one.
_PROMPTS_PER_LIFE: Final = 24


@dataclass(frozen=True, slots=True)
class Heard:
    """One request as the engine got it.

    Attributes:
        engine_id: Which engine that was.
        salt: Of the tenant.
        messages: Role and content of each, in their order.
        known_tokens: How many tokens of its head that engine had read before.
    """

    engine_id: str
    salt: str
    messages: tuple[tuple[str, str], ...]
    known_tokens: int

    @property
    def text(self) -> str:
        """Everything that the model is shown, in its order."""
        return "\n".join(content for _, content in self.messages)


class Engine:
    """`preheat.ports.ModelEndpoint`: it may lose its prefixes under the same name, or come back under another.

    Attributes:
        fault: Raised by every call while it is set.
        heard: The requests of the life that it lives, in order.
    """

    def __init__(self) -> None:
        self.fault: EndpointError | None = None
        self.heard: list[Heard] = []
        self._lives = 1
        self._inner = MemoryEndpoint()
        self._read: defaultdict[str, list[str]] = defaultdict(list)

    def restart(self) -> None:
        """Come back empty under another name."""
        self._lives += 1
        self.evict()

    def evict(self) -> None:
        """Lose every prefix, keep the name."""
        self._inner = MemoryEndpoint()
        for _ in range(1, self._lives):
            self._inner.restart()
        self.heard.clear()
        self._read.clear()

    def known_tokens(self, salt: str, prompt: str) -> int:
        """Return how many tokens of a prompt's head have been read in this life."""
        return max((_shared(prompt, other) for other in self._read[salt]), default=0) // _CHARACTERS_PER_TOKEN

    def prefill(self, request: EngineRequest) -> Prefilled:
        """Read the request's messages."""
        self._hear(request, "")
        return self._inner.prefill(request)

    def generate(self, request: EngineRequest) -> Iterator[Delta | Finished]:
        """Stream what the fake says."""
        said = list(self._generated(request))
        self._hear(request, "".join(item.text for item in said if isinstance(item, Delta)))
        yield from said

    def _generated(self, request: EngineRequest) -> Iterator[Delta | Finished]:
        self._inner.fault = self.fault
        return self._inner.generate(request)

    def _hear(self, request: EngineRequest, answer: str) -> None:
        self._inner.fault = self.fault
        if self.fault is not None:
            return
        if len(self.heard) == _PROMPTS_PER_LIFE:
            self.evict()
        body = json.loads(request.body)
        salt, messages = body["cache_salt"], tuple((one["role"], one["content"]) for one in body["messages"])
        prompt = written(messages)
        self.heard.append(Heard(f"memory-{self._lives}", salt, messages, self.known_tokens(salt, prompt)))
        self._read[salt].append(f"{prompt}<assistant>{answer}")

"""The engine of the freshness tests: the shipped fake, restarted or emptied at will, with a second count beside its own."""

import json
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from preheat.adapters.memory_endpoint import MemoryEndpoint
from preheat.errors import EndpointError
from preheat.ports import Delta, Finished, Prefilled
from preheat.prefill import EngineRequest

_CHARACTERS_PER_TOKEN: Final = 4
_ANSWER: Final = "All set."
# Every prompt is compared with all that were read before it, so a long life is a slow one.
_PROMPTS_PER_LIFE: Final = 24
_PROMPTS_REMEMBERED: Final = 100


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
        ever_read: The newest prompts of all its lives, with their answers, by salt.
    """

    def __init__(self) -> None:
        self.fault: EndpointError | None = None
        self.heard: list[Heard] = []
        self.ever_read: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_PROMPTS_REMEMBERED))
        self._lives = 1
        self._inner = MemoryEndpoint([_ANSWER])
        self._read: defaultdict[str, list[str]] = defaultdict(list)

    def restart(self) -> None:
        """Come back empty under another name."""
        self._lives += 1
        self.evict()

    def evict(self) -> None:
        """Lose every prefix, keep the name."""
        self._inner = MemoryEndpoint([_ANSWER])
        for _ in range(1, self._lives):
            self._inner.restart()
        self.heard.clear()
        self._read.clear()

    def known_tokens(self, salt: str, prompt: str) -> int:
        """Return how many tokens of a prompt's head have been read in this life."""
        return shared_tokens(prompt, self._read[salt])

    def prefill(self, request: EngineRequest) -> Prefilled:
        """Read the request's messages."""
        self._hear(request, "")
        return self._inner.prefill(request)

    def generate(self, request: EngineRequest) -> Iterator[Delta | Finished]:
        """Stream the answer; the last item is `Finished`."""
        self._hear(request, _ANSWER)
        yield from self._inner.generate(request)

    def _hear(self, request: EngineRequest, answer: str) -> None:
        if len(self.heard) == _PROMPTS_PER_LIFE:
            self.evict()
        self._inner.fault = self.fault
        if self.fault is not None:
            return
        body = json.loads(request.body)
        salt, messages = body["cache_salt"], tuple((one["role"], one["content"]) for one in body["messages"])
        prompt = written(messages)
        self.heard.append(Heard(self._inner_name, salt, messages, self.known_tokens(salt, prompt)))
        self._read[salt].append(f"{prompt}<assistant>{answer}")
        self.ever_read[salt].append(self._read[salt][-1])

    @property
    def _inner_name(self) -> str:
        return f"memory-{self._lives}"


def written(messages: Iterable[tuple[str, str]]) -> str:
    """Return messages as the fake engine reads them."""
    return "".join(f"<{role}>{content}" for role, content in messages)


def shared_tokens(prompt: str, read: Iterable[str]) -> int:
    """Return how many tokens of a prompt's head are in one of those that were read."""
    return max((_shared(prompt, other) for other in read), default=0) // _CHARACTERS_PER_TOKEN


def _shared(one: str, other: str) -> int:
    """Return how many leading characters two prompts have in common."""
    if other.startswith(one):
        return len(one)
    return bisect_left(range(1, min(len(one), len(other)) + 1), x=True, key=lambda size: one[:size] != other[:size])

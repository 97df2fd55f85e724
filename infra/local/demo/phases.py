"""The parts of the pause before the first token, in the order in which they happen, with one colour each everywhere."""

from dataclasses import dataclass
from typing import Final

from infra.local.demo.answers import Answer


@dataclass(frozen=True, slots=True)
class Phase:
    """One part of the pause.

    Attributes:
        name: As in the answer's report.
        what: What happens then, in a few words.
        colour: On a light ground, `#rrggbb`.
        dark_colour: On a dark ground.
    """

    name: str
    what: str
    colour: str
    dark_colour: str


HTTP: Final = Phase("http", "connection, gateway, events on the way", "#8a94a6", "#7d879b")
CHECK: Final = Phase("check", "versions and cache, read side by side", "#0f766e", "#2dd4bf")
RETRIEVAL: Final = Phase("retrieval", "rows that the cache did not have", "#2563eb", "#60a5fa")
TOOLS: Final = Phase("tools", "choosing and freezing tool schemas", "#7c3aed", "#a78bfa")
ASSEMBLY: Final = Phase("assembly", "sections and the engine's request", "#be185d", "#f472b6")
PREFILL: Final = Phase("prefill", "the engine reads the prompt", "#ea7317", "#fb923c")

PHASES: Final = (HTTP, CHECK, RETRIEVAL, TOOLS, ASSEMBLY, PREFILL)


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of one answer's pause."""

    phase: Phase
    ms: float


def segments(answer: Answer) -> tuple[Segment, ...]:
    """Return the parts of the answer's pause; together they are the time to the first token at the caller."""
    ms = answer.block.ms
    taken = (answer.http_ms, ms.check, ms.retrieval, ms.tools, ms.assembly, ms.prefill)
    return tuple(Segment(phase, part) for phase, part in zip(PHASES, taken, strict=True))

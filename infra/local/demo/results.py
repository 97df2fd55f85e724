"""What a whole run found, and its form as JSON."""

from dataclasses import asdict, dataclass

from infra.local.demo.answers import Answer
from infra.local.demo.checks import Check
from infra.local.demo.engine import EngineView
from infra.local.demo.freshness import Freshness
from infra.local.demo.outage import Outage
from infra.local.demo.pairs import Pair, SizeSummary, summarise


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it ran. `cores` counts what this process may use."""

    system: str
    cores: int
    python: str


@dataclass(frozen=True, slots=True)
class DataFacts:
    """What was loaded, in counts. `source` says whose data it is."""

    source: str
    agent: str
    tools: int
    turns: int
    preferences: int


@dataclass(frozen=True, slots=True)
class DemoResult:
    """A run of the demo.

    Attributes:
        started_at: When, ISO 8601 with the zone.
        took_s: From the first to the last step, the stack's start included.
        seed: Went into the tenants' names.
        machine: Where.
        data: What was loaded.
        engine: Who answered.
        pairs: All pairs, in the order in which they ran.
        freshness: The change between warm-up and message.
        outage: Valkey's death and return.
        checks: What had to hold.
    """

    started_at: str
    took_s: float
    seed: str
    machine: Machine
    data: DataFacts
    engine: EngineView
    pairs: tuple[Pair, ...]
    freshness: Freshness
    outage: Outage
    checks: tuple[Check, ...]

    @property
    def held(self) -> bool:
        """Every check held."""
        return all(check.held for check in self.checks)

    @property
    def summaries(self) -> tuple[SizeSummary, ...]:
        """One summary per size, smallest first."""
        return summarise(self.pairs)

    def as_json(self) -> dict[str, object]:
        """Return the run without any text of prompts and answers but the line that a check shows."""
        return {
            "started_at": self.started_at,
            "took_s": round(self.took_s, 1),
            "held": self.held,
            "seed": self.seed,
            "machine": asdict(self.machine),
            "data": asdict(self.data),
            "engine": self.engine.model_dump(),
            "checks": [asdict(check) for check in self.checks],
            "sizes": [{**asdict(one), "ratio": one.ratio} for one in self.summaries],
            "pairs": [_pair(pair) for pair in self.pairs],
            "freshness": {
                "key": self.freshness.key,
                "stamp_before": self.freshness.stamp_before,
                "line": self.freshness.line,
                "warmed_tokens": self.freshness.warmed_tokens,
                "answer": _answer(self.freshness.answer),
            },
            "outage": {
                "during": _answer(self.outage.during),
                "after": _answer(self.outage.after),
                "recovered_s": self.outage.recovered_s,
            },
        }


def _pair(pair: Pair) -> dict[str, object]:
    return {
        "wanted_tokens": pair.wanted_tokens,
        "prefix_tokens": pair.prefix_tokens,
        "first": pair.first,
        "ratio": pair.ratio,
        "warmed_tokens": pair.warmed_tokens,
        "warm_up_ms": pair.warm_up_ms,
        "cold": _answer(pair.cold),
        "warm": _answer(pair.warm),
        "sections": [section.model_dump() for section in pair.sections],
    }


def _answer(answer: Answer) -> dict[str, object]:
    return {
        "ttft_ms": answer.ttft_ms,
        "http_ms": answer.http_ms,
        "prompt_tokens": answer.prompt_tokens,
        **answer.block.model_dump(),
    }

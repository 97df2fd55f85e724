"""What the benchmark found, what had to hold, and its form as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Final

from infra.local.demo.checks import COLD_SLACK_TOKENS, Check
from infra.local.demo.pairs import Pair
from preheat.prefill import HONOURED_SHARE, honoured
from tests.benchmarks.direct_engine import DirectAnswer
from tests.benchmarks.own_part import OwnPart

OF_ENGINE_RATIO: Final = 0.90
OF_ENGINE_RATIO_AT: Final = (1024, 2048)
LEAST_RATIO: Final = {2048: 30.0}
OWN_P50_MS: Final = 10.0
OWN_P99_MS: Final = 25.0
# Sixteen letters of a salt are five to twelve tokens.
SALT_SLACK_TOKENS: Final = 8
_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """One pair, end to end and on the engine itself. Times in milliseconds, to the first token."""

    prefix_tokens: int
    cold_ms: float
    warm_ms: float
    engine_cold_ms: float
    engine_warm_ms: float
    warmed_tokens: int
    reused_tokens: int
    cold_reused_tokens: int

    @property
    def ratio(self) -> float:
        """Cold / warm, end to end."""
        return self.cold_ms / self.warm_ms

    @property
    def engine_ratio(self) -> float:
        """Cold / warm of the engine itself."""
        return self.engine_cold_ms / self.engine_warm_ms

    @property
    def of_engine_ratio(self) -> float:
        """Our share of what the engine makes possible. Measured side by side, so a slow minute cancels."""
        return self.ratio / self.engine_ratio


@dataclass(frozen=True, slots=True)
class MedianPair:
    """The medians of one size, each taken over the pairs: a ratio is the median of the pairs' ratios."""

    prefix_tokens: int
    cold_ms: float
    warm_ms: float
    engine_cold_ms: float
    engine_warm_ms: float
    warmed_tokens: float
    reused_tokens: float
    cold_reused_tokens: float
    ratio: float
    engine_ratio: float
    of_engine_ratio: float


@dataclass(frozen=True, slots=True)
class TtftResult:
    """A run of the benchmark.

    Attributes:
        seed: Names the tenants, and so the salts.
        model: Who answered.
        template_tokens: What two prompts share that share no text.
        prompt_gap_tokens: How far our prompt and the one given to the engine alone were apart at the most.
        pairs: All pairs, in the order in which they ran.
        own: Our own part of warm requests.
    """

    seed: str
    model: str
    template_tokens: int
    prompt_gap_tokens: int
    pairs: tuple[MeasuredPair, ...]
    own: OwnPart

    @property
    def medians(self) -> dict[int, MedianPair]:
        """One per size, smallest first."""
        sizes = sorted({pair.prefix_tokens for pair in self.pairs})
        return {size: _medians([pair for pair in self.pairs if pair.prefix_tokens == size]) for size in sizes}

    @property
    def musts(self) -> tuple[Check, ...]:
        """What had to hold."""
        return (*_ratio_musts(self.medians), *self._reuse_musts(), *_own_musts(self.own))

    def _reuse_musts(self) -> tuple[Check, ...]:
        shares = [pair.reused_tokens / pair.warmed_tokens if pair.warmed_tokens else 0.0 for pair in self.pairs]
        most_cold = max(pair.cold_reused_tokens for pair in self.pairs)
        return (
            Check(
                "the engine alone is asked the same prompt, salts aside",
                held=self.prompt_gap_tokens <= SALT_SLACK_TOKENS,
                seen=f"{self.prompt_gap_tokens} tokens apart at the most",
            ),
            Check(
                f"reused tokens >= {HONOURED_SHARE:.0%} of the warmed ones on every warm pair",
                held=all(honoured(pair.warmed_tokens, pair.reused_tokens) for pair in self.pairs),
                seen=f"{min(shares):.1%} at the least",
            ),
            Check(
                "reused tokens on every cold pair: none beyond the template's",
                held=most_cold <= self.template_tokens + COLD_SLACK_TOKENS,
                seen=f"{most_cold} at the most, the template has {self.template_tokens}",
            ),
        )

    def as_json(self) -> dict[str, object]:
        """Return the run as JSON; times in milliseconds."""
        return {
            "pairs": [_rounded(asdict(pair)) for pair in self.pairs],
            "median": {str(size): _rounded(asdict(one)) for size, one in self.medians.items()},
            "own_part": {
                "what": "from accepted to handed over: check less the emulator's median, retrieval, tools, assembly",
                "requests": self.own.requests,
                "warm": self.own.warm,
                **{name: _rounded(asdict(getattr(self.own, name))) for name in ("own", "gross", "emulator")},
            },
            "template_shared_tokens": self.template_tokens,
            "seed": self.seed,
            "model": self.model,
            "held": all(must.held for must in self.musts),
            "musts": [asdict(must) for must in self.musts],
        }


def measured(pair: Pair, *, engine_cold: DirectAnswer, engine_warm: DirectAnswer) -> MeasuredPair:
    """Return a pair with what the engine did by itself beside it."""
    return MeasuredPair(
        prefix_tokens=pair.wanted_tokens,
        cold_ms=pair.cold.ttft_ms,
        warm_ms=pair.warm.ttft_ms,
        engine_cold_ms=engine_cold.ttft_ms,
        engine_warm_ms=engine_warm.ttft_ms,
        warmed_tokens=pair.warmed_tokens,
        reused_tokens=pair.warm.block.reused_tokens,
        cold_reused_tokens=pair.cold.block.reused_tokens,
    )


def _medians(pairs: Sequence[MeasuredPair]) -> MedianPair:
    def middle(field: str) -> float:
        return median(float(getattr(one, field)) for one in pairs)

    return MedianPair(
        prefix_tokens=pairs[0].prefix_tokens,
        cold_ms=middle("cold_ms"),
        warm_ms=middle("warm_ms"),
        engine_cold_ms=middle("engine_cold_ms"),
        engine_warm_ms=middle("engine_warm_ms"),
        warmed_tokens=middle("warmed_tokens"),
        reused_tokens=middle("reused_tokens"),
        cold_reused_tokens=middle("cold_reused_tokens"),
        ratio=middle("ratio"),
        engine_ratio=middle("engine_ratio"),
        of_engine_ratio=middle("of_engine_ratio"),
    )


def _ratio_musts(medians: dict[int, MedianPair]) -> tuple[Check, ...]:
    """Return the musts of the sizes that were measured."""
    of_engine = [
        Check(
            f"at {size:,}: our ratio >= {OF_ENGINE_RATIO:.0%} of the engine's own",
            held=medians[size].of_engine_ratio >= OF_ENGINE_RATIO,
            seen=f"{medians[size].of_engine_ratio:.0%}",
        )
        for size in OF_ENGINE_RATIO_AT
        if size in medians
    ]
    least = [
        Check(
            f"at {size:,}: cold / warm >= {most:g}", held=medians[size].ratio >= most, seen=f"{medians[size].ratio:.1f}"
        )
        for size, most in LEAST_RATIO.items()
        if size in medians
    ]
    return (*of_engine, *least)


def _own_musts(own: OwnPart) -> tuple[Check, ...]:
    return (
        Check("our own part is measured on warm answers alone", held=own.warm == own.requests, seen=f"{own.warm}"),
        Check(
            f"our own part: p50 <= {OWN_P50_MS:g} ms",
            held=own.own.p50_ms <= OWN_P50_MS,
            seen=f"{own.own.p50_ms:.2f} ms",
        ),
        Check(
            f"our own part: p99 <= {OWN_P99_MS:g} ms",
            held=own.own.p99_ms <= OWN_P99_MS,
            seen=f"{own.own.p99_ms:.2f} ms",
        ),
    )


def _rounded(fields: dict[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in fields.items()}

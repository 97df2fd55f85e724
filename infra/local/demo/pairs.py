"""One pair: the same question on the same data, once to a session that was warmed and once to a twin that was not.

Each side has a tenant of its own that nobody has used before, so that the two share nothing in the engine. The sides
take turns in going first. A side's clock starts when the message is submitted; nothing else runs then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, Literal

from infra.local.demo.answers import Answer
from infra.local.demo.sizing import SizedTenant
from infra.local.demo.stage import Stage
from infra.local.demo.tenant_api import SectionView, SessionView, TenantApi

Side = Literal["cold", "warm"]
SESSION: Final = "demo"

Tell = Callable[[str], None]
"""Takes a few words about what is being done now."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What a pair measured.

    Attributes:
        wanted_tokens: The size asked for.
        prefix_tokens: The size that the engine's tokenizer foretold.
        first: The side that went first.
        cold: The answer of the twin.
        warm: The answer of the warmed session.
        warmed_tokens: Of the warm-up, by the engine's count.
        warm_up_ms: From starting the session until it was seen to be warm.
        sections: What the warm prefix holds.
    """

    wanted_tokens: int
    prefix_tokens: int
    first: Side
    cold: Answer
    warm: Answer
    warmed_tokens: int
    warm_up_ms: float
    sections: tuple[SectionView, ...]

    @property
    def ratio(self) -> float:
        """How many times sooner the warm answer began."""
        return self.cold.ttft_ms / self.warm.ttft_ms


def run_pair(
    stage: Stage,
    sized: SizedTenant,
    number: int,
    *,
    tell: Tell,
    after: Callable[[Side], None] | None = None,
) -> Pair:
    """Load two fresh tenants, warm one, ask both.

    Args:
        stage: Where.
        sized: What is loaded.
        number: Counts the pairs of this size from 0; even ones start with the warm side.
        tell: Told of every step.
        after: Called after each side's answer, with the side: what is to be measured beside it.

    Raises:
        CallFailedError: the API refused a call.
        WarmUpError: the session did not become warm.
        NotQuietError: background work did not end.
    """
    question = sized.data.question(number)
    with (
        stage.tenant(sized.wanted_tokens, number, "warm") as warm,
        stage.tenant(sized.wanted_tokens, number, "cold") as cold,
    ):
        for api in (warm, cold):
            tell(f"loading tenant {api.tenant}")
            api.load(sized.data, sized.budgets)
        stage.await_quiet()
        for side in order_of(number):
            if side == "cold":
                cold_answer = ask_cold(stage, cold, sized, question=question, tell=tell)
            else:
                view, warm_up_ms = warm_up(stage, warm, sized, tell=tell)
                tell("asking the warm session")
                warm_answer = warm.ask(sized.data, SESSION, question=question, max_tokens=stage.answer_tokens)
            if after is not None:
                after(side)
    return Pair(
        wanted_tokens=sized.wanted_tokens,
        prefix_tokens=sized.tokens,
        first=order_of(number)[0],
        cold=cold_answer,
        warm=warm_answer,
        warmed_tokens=view.warmed_tokens,
        warm_up_ms=warm_up_ms,
        sections=view.sections,
    )


def order_of(number: int) -> tuple[Side, Side]:
    """Return which side of a pair goes first, and which second; pairs take turns."""
    return ("cold", "warm") if number % 2 else ("warm", "cold")


def ask_cold(stage: Stage, api: TenantApi, sized: SizedTenant, *, question: str, tell: Tell) -> Answer:
    """Start a session that nothing is done for ahead, and ask."""
    api.start_session(sized.data, SESSION, warm=False)
    stage.await_quiet()
    tell("asking the cold twin")
    return api.ask(sized.data, SESSION, question=question, max_tokens=stage.answer_tokens)


def warm_up(stage: Stage, api: TenantApi, sized: SizedTenant, *, tell: Tell) -> tuple[SessionView, float]:
    """Start a session through the bus and wait until it is warm; return how it looks then, and how long that took."""
    tell("session.started is on the bus, waiting for the prefix")
    api.start_session(sized.data, SESSION, warm=True)
    view, took_ms = api.await_warm(SESSION, timeout_s=stage.warm_timeout_s, is_idle=stage.is_quiet)
    stage.await_quiet()
    return view, took_ms


def rehearse(stage: Stage, sized: SizedTenant, *, tell: Tell) -> None:
    """Warm and ask once with next to nothing, so that no measured call is the first of its process.

    Raises:
        CallFailedError: the API refused a call.
        WarmUpError: the session did not become warm.
        NotQuietError: background work did not end.
    """
    least = replace(sized.data, domain_knowledge="", core_tools=(), preferences=(), turns=())
    with stage.tenant("rehearsal") as api:
        api.load(least, replace(sized.budgets, session_tools=0, history_tokens=0, max_turns=0))
        warm_up(stage, api, sized, tell=tell)
        api.ask(least, SESSION, question=sized.data.question(0), max_tokens=1)


@dataclass(frozen=True, slots=True)
class SizeSummary:
    """The medians over the pairs of one size. Times in milliseconds."""

    wanted_tokens: int
    pairs: int
    prefix_tokens: int
    cold_ms: float
    warm_ms: float
    warmed_tokens: int
    reused_tokens: int
    cold_reused_tokens: int
    warm_up_ms: float

    @property
    def ratio(self) -> float:
        """How many times sooner the warm answers began: the ratio of the medians."""
        return self.cold_ms / self.warm_ms


def summarise(pairs: Sequence[Pair]) -> tuple[SizeSummary, ...]:
    """Return one summary per size, smallest first."""
    sizes = sorted({pair.wanted_tokens for pair in pairs})
    return tuple(_summary([pair for pair in pairs if pair.wanted_tokens == size]) for size in sizes)


def _summary(pairs: Sequence[Pair]) -> SizeSummary:
    return SizeSummary(
        wanted_tokens=pairs[0].wanted_tokens,
        pairs=len(pairs),
        prefix_tokens=pairs[0].prefix_tokens,
        cold_ms=median(pair.cold.ttft_ms for pair in pairs),
        warm_ms=median(pair.warm.ttft_ms for pair in pairs),
        warmed_tokens=round(median(pair.warmed_tokens for pair in pairs)),
        reused_tokens=round(median(pair.warm.block.reused_tokens for pair in pairs)),
        cold_reused_tokens=round(median(pair.cold.block.reused_tokens for pair in pairs)),
        warm_up_ms=median(pair.warm_up_ms for pair in pairs),
    )


def typical(pairs: Sequence[Pair], wanted_tokens: int, side: Side) -> Answer:
    """Return the answer of one side and size whose time to the first token is the (lower) median: its phases add up."""
    answers = sorted(
        (pair.cold if side == "cold" else pair.warm for pair in pairs if pair.wanted_tokens == wanted_tokens),
        key=lambda answer: answer.ttft_ms,
    )
    return answers[(len(answers) - 1) // 2]

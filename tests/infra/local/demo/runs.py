"""Runs of the demo that never ran: results with the numbers that a test needs."""

from dataclasses import replace
from typing import Final

from infra.local.demo.answers import Answer, AnswerBlock, PhaseTimes
from infra.local.demo.checks import Check
from infra.local.demo.engine import EngineView
from infra.local.demo.freshness import Freshness
from infra.local.demo.outage import Outage
from infra.local.demo.pairs import Pair
from infra.local.demo.results import DataFacts, DemoResult, Machine
from infra.local.demo.tenant_api import SectionView

SECTIONS: Final = (
    SectionView(name="core_tools", tokens=120, why="always loaded"),
    SectionView(name="preferences", tokens=80, why="all 4 keys, latest values"),
)


def make_answer(
    state: str = "warm",
    *,
    ttft_ms: float = 200.0,
    reused: int = 500,
    warmed: int = 500,
    stamp: str = "a1.c1.f0.p2.h9",
    reasons: tuple[str, ...] = (),
) -> Answer:
    """Make an answer whose phases add up to its time: 2 ms of HTTP, 5 of check, 1 of assembly, the rest prefill."""
    retrieval_ms = 50.0 if state == "cold" else 0.0
    ms = PhaseTimes(
        check=5.0, retrieval=retrieval_ms, tools=0.0, assembly=1.0, prefill=ttft_ms - 8.0 - retrieval_ms, decode=90.0
    )
    block = AnswerBlock(
        state=state,
        stamp=stamp,
        ttft_ms=ttft_ms - 2.0,
        ms=ms,
        warmed_tokens=warmed,
        reused_tokens=reused,
        reasons=reasons,
    )
    return Answer(ttft_ms=ttft_ms, text="Yes.", prompt_tokens=540, block=block)


def make_pair(size: int = 512, *, cold_ms: float = 3000.0, warm_ms: float = 200.0, reused: int = 500) -> Pair:
    """Make a pair in which everything holds, unless `reused` says otherwise."""
    return Pair(
        wanted_tokens=size,
        prefix_tokens=size - 10,
        first="warm",
        cold=make_answer("cold", ttft_ms=cold_ms, reused=3, warmed=0),
        warm=make_answer("warm", ttft_ms=warm_ms, reused=reused),
        warmed_tokens=500,
        warm_up_ms=2900.0,
        sections=SECTIONS,
    )


def make_freshness(*, line: str = 'home_airport is now "LIS"; ignore the earlier value.') -> Freshness:
    """Make a change that reached the prompt as `line`."""
    return Freshness(
        key="home_airport",
        old_value="OPO",
        new_value="LIS",
        stamp_before="a1.c1.f0.p1.h9",
        warmed_tokens=500,
        prompt=f"some text\n{line}\n\nand the question",
        answer=make_answer("stale-rebuilt", stamp="a1.c1.f0.p2.h9"),
    )


def make_outage() -> Outage:
    """Make an outage that was survived."""
    during = make_answer("degraded", reasons=("valkey_unavailable",))
    return Outage(during=during, after=make_answer(), recovered_s=5.2)


def make_result(*pairs: Pair, checks: tuple[Check, ...] = (Check("it works", held=True, seen="it did"),)) -> DemoResult:
    """Make a whole run."""
    return DemoResult(
        started_at="2026-05-01T10:00:00+00:00",
        took_s=99.0,
        seed="d1",
        machine=Machine("Linux x86_64", 2, "3.12.1"),
        data=DataFacts("The sample tenant", "concierge", tools=71, turns=391, preferences=24),
        engine=EngineView(
            engine_id="e1",
            url="http://127.0.0.1:1",
            model="tiny",
            slots=4,
            cache_salt="text",
            template_shared_tokens=5,
            lacks=("a salt of its own",),
        ),
        pairs=pairs or (make_pair(), replace(make_pair(2048, cold_ms=9000.0), first="cold")),
        freshness=make_freshness(),
        outage=make_outage(),
        checks=checks,
    )

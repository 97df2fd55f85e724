"""What the benchmark concludes from its numbers."""

from dataclasses import replace

import pytest

from infra.local.demo.checks import Check
from tests.benchmarks.direct_engine import DirectAnswer
from tests.benchmarks.own_part import OwnPart, Spread
from tests.benchmarks.ttft_result import MeasuredPair, TtftResult, measured
from tests.infra.local.demo.runs import make_pair

PAIR = MeasuredPair(
    prefix_tokens=2048,
    cold_ms=10_000.0,
    warm_ms=220.0,
    engine_cold_ms=9_900.0,
    engine_warm_ms=200.0,
    warmed_tokens=2050,
    reused_tokens=2050,
    cold_reused_tokens=3,
)
OWN = OwnPart(requests=200, warm=200, own=Spread(2.0, 9.0), gross=Spread(6.0, 20.0), emulator=Spread(4.0, 11.0))
RESULT = TtftResult(seed="s", model="tiny", template_tokens=5, prompt_gap_tokens=2, pairs=(PAIR,), own=OWN)


def failed(result: TtftResult) -> list[str]:
    return [must.name for must in result.musts if not must.held]


def test_musts__all_hold() -> None:
    assert failed(RESULT) == []


@pytest.mark.parametrize(
    ("result", "name"),
    [
        (
            replace(RESULT, pairs=(replace(PAIR, engine_warm_ms=170.0),)),
            "at 2,048: our ratio >= 90% of the engine's own",
        ),
        (
            replace(RESULT, pairs=(replace(PAIR, cold_ms=6_000.0, engine_cold_ms=6_000.0),)),
            "at 2,048: cold / warm >= 30",
        ),
        (
            replace(RESULT, pairs=(PAIR, replace(PAIR, reused_tokens=1940))),
            "reused tokens >= 95% of the warmed ones on every warm pair",
        ),
        (
            replace(RESULT, pairs=(PAIR, replace(PAIR, cold_reused_tokens=8))),
            "reused tokens on every cold pair: none beyond the template's",
        ),
        (replace(RESULT, prompt_gap_tokens=9), "the engine alone is asked the same prompt, salts aside"),
        (replace(RESULT, own=replace(OWN, warm=199)), "our own part is measured on warm answers alone"),
        (replace(RESULT, own=replace(OWN, own=Spread(10.1, 12.0))), "our own part: p50 <= 10 ms"),
        (replace(RESULT, own=replace(OWN, own=Spread(2.0, 25.1))), "our own part: p99 <= 25 ms"),
    ],
)
def test_musts__each_is_named_when_it_alone_fails(result: TtftResult, name: str) -> None:
    assert failed(result) == [name]


def test_musts__a_short_prefix_is_not_held_to_ratios() -> None:
    slow = replace(PAIR, prefix_tokens=512, cold_ms=1_000.0)
    names = [must.name for must in replace(RESULT, pairs=(slow,)).musts]
    assert not any("ratio" in name or "cold / warm" in name for name in names)


def test_medians__a_ratio_is_the_median_of_the_pairs_ratios() -> None:
    pairs = (PAIR, replace(PAIR, cold_ms=14_000.0, warm_ms=700.0), replace(PAIR, cold_ms=12_000.0, warm_ms=240.0))
    one = replace(RESULT, pairs=pairs).medians[2048]
    assert (one.cold_ms, one.warm_ms, one.engine_ratio) == (12_000.0, 240.0, 49.5)
    assert one.ratio == pytest.approx(10_000 / 220)
    assert one.of_engine_ratio == pytest.approx(10_000 / 220 / 49.5)


def test_medians__a_slow_minute_of_the_machine_cancels() -> None:
    slow = replace(PAIR, cold_ms=20_000.0, warm_ms=440.0, engine_cold_ms=19_800.0, engine_warm_ms=400.0)
    assert slow.of_engine_ratio == pytest.approx(PAIR.of_engine_ratio)


def test_as_json__has_the_fields_that_are_promised() -> None:
    shown = RESULT.as_json()
    assert shown["pairs"] == [
        {
            "prefix_tokens": 2048,
            "cold_ms": 10_000.0,
            "warm_ms": 220.0,
            "engine_cold_ms": 9_900.0,
            "engine_warm_ms": 200.0,
            "warmed_tokens": 2050,
            "reused_tokens": 2050,
            "cold_reused_tokens": 3,
        }
    ]
    medians = shown["median"]
    assert isinstance(medians, dict)
    assert {"ratio", "engine_ratio", "of_engine_ratio", "warm_ms"} <= set(medians["2048"])
    assert (shown["template_shared_tokens"], shown["seed"], shown["held"]) == (5, "s", True)


def test_measured__takes_times_from_the_caller_and_tokens_from_the_engine() -> None:
    alone = DirectAnswer(ttft_ms=150.0, prompt_tokens=540, reused_tokens=500)
    one = measured(make_pair(), engine_cold=replace(alone, ttft_ms=2900.0), engine_warm=alone)
    assert (one.cold_ms, one.warm_ms, one.engine_cold_ms, one.engine_warm_ms) == (3000.0, 200.0, 2900.0, 150.0)
    assert (one.warmed_tokens, one.reused_tokens, one.cold_reused_tokens) == (500, 500, 3)


def test_check__is_the_demos_own() -> None:
    assert all(isinstance(must, Check) for must in RESULT.musts)

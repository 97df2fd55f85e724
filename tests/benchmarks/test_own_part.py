"""Our own part of a warm request, computed."""

from dataclasses import replace

import pytest

from infra.local.demo.answers import Answer
from tests.benchmarks.own_part import own_part, spread
from tests.infra.local.demo.runs import make_answer


def answer(check_ms: float, *, state: str = "warm") -> Answer:
    made = make_answer(state)
    ms = made.block.ms.model_copy(update={"check": check_ms})
    return replace(made, block=made.block.model_copy(update={"ms": ms}))


def test_own_part__takes_the_emulators_median_off_every_check() -> None:
    found = own_part([answer(6.0), answer(7.0), answer(8.0)], [4.0, 4.0, 90.0])
    assert found.own.p50_ms == pytest.approx(7.0 - 4.0 + 1.0)  # 1 ms of assembly
    assert found.gross.p50_ms == pytest.approx(8.0)


def test_own_part__a_check_below_the_emulators_median_counts_nothing() -> None:
    found = own_part([answer(3.0), answer(3.0)], [4.0, 4.0])
    assert found.own.p50_ms == pytest.approx(1.0)


def test_own_part__counts_the_warm_ones() -> None:
    found = own_part([answer(3.0), answer(3.0, state="cold")], [4.0, 4.0])
    assert (found.requests, found.warm) == (2, 1)


def test_spread__the_99th_percentile_is_near_the_worst_of_200() -> None:
    found = spread([1.0] * 197 + [20.0, 30.0, 40.0])
    assert found.p50_ms == 1.0
    assert 20.0 <= found.p99_ms <= 30.0

"""One pair after another, and what they come to."""

from dataclasses import replace

import pytest

from infra.local.demo.pairs import order_of, rehearse, run_pair, summarise, typical
from infra.local.demo.sizing import SizedTenant
from infra.local.demo.stage import Stage
from tests.infra.local.demo.runs import make_pair
from tests.infra.local.demo.stand_in_gateway import Script


def quiet(_: str) -> None:
    """Take what is told."""


def sessions(script: Script) -> list[bool]:
    """Return whether each started session was to be warmed, in order."""
    return [body["warm"] for body in script.bodies("POST", "/sessions")]


@pytest.mark.parametrize(("number", "order"), [(0, [True, False]), (1, [False, True]), (2, [True, False])])
def test_run_pair__sides_take_turns(
    stage: Stage, sized: SizedTenant, script: Script, number: int, order: list[bool]
) -> None:
    pair = run_pair(stage, sized, number, tell=quiet)
    assert sessions(script) == order
    assert pair.first == ("warm" if order[0] else "cold")
    assert (pair.cold.block.state, pair.warm.block.state) == ("cold", "warm")
    assert (pair.warmed_tokens, pair.warm.block.reused_tokens, pair.cold.block.reused_tokens) == (500, 500, 3)


def test_run_pair__both_sides_are_asked_the_same_of_the_same_data(
    stage: Stage, sized: SizedTenant, script: Script
) -> None:
    run_pair(stage, sized, 3, tell=quiet)
    first, second = script.bodies("POST", "/chat/completions")
    assert first == second
    assert first["messages"][0]["content"] == sized.data.question(3)
    agents = script.bodies("PUT", f"/agents/{sized.data.agent}")
    assert agents[0] == agents[1]


def test_run_pair__tells_when_a_side_is_done(stage: Stage, sized: SizedTenant) -> None:
    done: list[str] = []
    run_pair(stage, sized, 1, tell=quiet, after=done.append)
    assert done == ["cold", "warm"]


def test_order_of__alternates() -> None:
    assert [order_of(number)[0] for number in range(4)] == ["warm", "cold", "warm", "cold"]


def test_rehearse__warms_and_asks_with_next_to_nothing(stage: Stage, sized: SizedTenant, script: Script) -> None:
    rehearse(stage, sized, tell=quiet)
    assert sessions(script) == [True]
    assert not script.bodies("POST", "/turns")
    assert [body["max_tokens"] for body in script.bodies("POST", "/chat/completions")] == [1]


def test_summarise__takes_medians_by_size() -> None:
    pairs = [make_pair(1024, cold_ms=ms) for ms in (3000.0, 9000.0, 4000.0)] + [make_pair(512)]
    small, large = summarise(pairs)
    assert (small.wanted_tokens, small.pairs, large.wanted_tokens, large.pairs) == (512, 1, 1024, 3)
    assert (large.cold_ms, large.ratio) == (4000.0, 20.0)


def test_typical__is_one_of_the_answers_and_never_between_two() -> None:
    pairs = [make_pair(cold_ms=ms) for ms in (5000.0, 3000.0, 4000.0, 9000.0)]
    assert typical(pairs, 512, "cold").ttft_ms == 4000.0
    assert typical([*pairs, replace(make_pair(2048), wanted_tokens=2048)], 2048, "warm").ttft_ms == 200.0

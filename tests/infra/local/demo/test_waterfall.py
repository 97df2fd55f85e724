"""The pause as bars of characters."""

import pytest

from infra.local.demo.waterfall import cells, waterfall
from tests.infra.local.demo.runs import make_pair

BLOCK = "█"


@pytest.mark.parametrize(
    ("parts", "scale", "expected"),
    [
        ([10.0, 20.0, 30.0], 1.0, [10, 20, 30]),
        ([0.4, 0.4, 0.4], 1.0, [0, 1, 0]),
        ([0.1, 0.3, 0.2], 0.1, [0, 1, 0]),  # too short to show: one column, for the longest part
        ([], 1.0, []),
    ],
)
def test_cells__end_where_their_sum_ends(parts: list[float], scale: float, expected: list[int]) -> None:
    assert cells(parts, scale) == expected


def test_waterfall__the_longest_cold_bar_takes_the_width() -> None:
    lines = [line.plain for line in waterfall([make_pair(512), make_pair(2048, cold_ms=9000)], width=40)]
    bars = {line.count(BLOCK) for line in lines if " cold" in line}
    assert max(bars) == 40


def test_waterfall__says_how_much_sooner_and_how_much_larger() -> None:
    text = "\n".join(line.plain for line in waterfall([make_pair(512)], width=40))
    assert "200 ms, 15 times sooner" in text
    assert "The warm side again, 15 times larger" in text


def test_waterfall__a_warm_side_that_is_slower_stays_inside() -> None:
    lines = [line.plain for line in waterfall([make_pair(512, cold_ms=100.0, warm_ms=200.0)], width=40)]
    assert max(line.count(BLOCK) for line in lines) == 40

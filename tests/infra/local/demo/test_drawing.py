"""The pictures of the page."""

import re

import pytest

from infra.local.demo.drawing import WIDTH, curve, enlargement, pause_bars, section_bars, warm_bars
from tests.infra.local.demo.runs import SECTIONS, make_pair

PAIRS = [make_pair(512), make_pair(2048, cold_ms=9000.0, warm_ms=300.0)]


def right_ends(picture: str) -> list[float]:
    """Return where each bar's part ends."""
    parts = re.findall(r'<rect class="[^"]+" x="([\d.]+)" y="[^"]+" width="([\d.]+)"', picture)
    return [float(x) + float(width) for x, width in parts]


@pytest.mark.parametrize("picture", [pause_bars(PAIRS), warm_bars(PAIRS), section_bars([("502", SECTIONS)])])
def test_bars__the_longest_reaches_the_edge_and_none_goes_over(picture: str) -> None:
    assert max(right_ends(picture)) == pytest.approx(WIDTH, abs=0.1)


def test_pause_bars__are_on_one_scale() -> None:
    ends = right_ends(pause_bars([make_pair(512, cold_ms=4500.0), make_pair(2048, cold_ms=9000.0)]))
    assert (max(ends[:6]) - 84) / (max(ends) - 84) == pytest.approx(0.5, abs=0.01)


def test_enlargement__is_that_of_the_two_scales() -> None:
    assert enlargement(PAIRS) == 30.0


def test_curve__has_a_dot_for_every_answer() -> None:
    assert curve([*PAIRS, make_pair(512)]).count("<circle") == 6


def test_curve__more_time_is_higher_up() -> None:
    heights = [float(y) for y in re.findall(r'<circle class="dot cold" cx="[\d.]+" cy="([\d.]+)"', curve(PAIRS))]
    assert heights[0] > heights[1]


def test_pause_bars__a_warm_side_that_is_slower_stays_inside() -> None:
    assert max(right_ends(pause_bars([make_pair(512, cold_ms=100.0, warm_ms=200.0)]))) == pytest.approx(WIDTH, abs=0.1)

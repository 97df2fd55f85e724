"""The parts of the pause."""

import pytest

from infra.local.demo.phases import PHASES, segments
from tests.infra.local.demo.runs import make_answer


def test_segments__add_up_to_the_time_to_the_first_token() -> None:
    answer = make_answer("cold", ttft_ms=3000.0)
    assert sum(segment.ms for segment in segments(answer)) == pytest.approx(answer.ttft_ms)


def test_segments__come_in_the_order_in_which_they_happen() -> None:
    assert [segment.phase.name for segment in segments(make_answer())] == [phase.name for phase in PHASES]


def test_phases__have_a_colour_each_on_either_ground() -> None:
    assert len({phase.colour for phase in PHASES}) == len({phase.dark_colour for phase in PHASES}) == len(PHASES)

"""What a bundle takes, and when its session must be frozen anew."""

from dataclasses import replace

from preheat.budget import Budgets
from preheat.bundle import SYSTEM_TOKENS, outgrown
from tests.preheat.material import SESSION, Rows, agent, assemble, assistant, build, freeze, numbered, user


def test_outgrown__only_a_session_that_has_run_past_twice_its_window() -> None:
    rows = Rows(agent(budgets=Budgets(history_tokens=400, session_tools=0)))
    frozen = freeze(rows)
    said = numbered([turn for n in range(60) for turn in (user(0, session=SESSION), assistant(0, session=SESSION))])

    assert [outgrown(assemble(replace(rows, turns=said[:count]), frozen)) for count in (0, 40, 120)] == [
        False,
        False,
        True,
    ]


def test_tokens__are_those_of_the_sections_and_of_the_message_around_them() -> None:
    bundle = build(Rows(agent()), count=len)

    assert bundle.tokens == sum(one.tokens for one in bundle.sections) + SYSTEM_TOKENS


def test_section__that_is_not_there_is_none() -> None:
    assert build(Rows(agent())).section("recent_turns") is None

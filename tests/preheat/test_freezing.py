"""What is dropped first, and what is named when it cannot be there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat import freezing
from preheat.budget import Budgets, TextCount, count_tokens
from preheat.bundle import outgrown
from preheat.freezing import kept_whole_tokens
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.tools import Tool
from tests.preheat.material import (
    Rows,
    agent,
    assistant,
    at,
    build,
    catalogs,
    few,
    freeze,
    logs,
    numbered,
    preference,
    preference_sets,
    section,
    section_names,
    user,
)

# Two deployments: by the ceiling, and by a tokenizer to which each character is a token.
counters = pytest.mark.parametrize("count", [count_tokens, len], ids=["ceiling", "characters"])


def test_freeze__what_the_system_text_takes_is_taken_once_from_the_history() -> None:
    budgets = Budgets(max_tokens=1000, history_tokens=100_000, max_turns=60, session_tools=0)
    sized = agent((), instructions="the " * 200, core_tools=(), budgets=budgets)
    turns = numbered([turn for n in range(30) for turn in (user(0, f"ask {n} " * 4), assistant(0, "so " * 9))])
    bundle = build(Rows(sized, turns=turns))
    exchange_tokens = section(build(Rows(sized, turns=turns[:2])), "recent_turns").tokens

    room = 1000 - kept_whole_tokens(sized, (), count=count_tokens)
    assert 780 <= room <= 790
    assert room - exchange_tokens - 2 <= section(bundle, "recent_turns").tokens <= room


@counters
@pytest.mark.parametrize("tools", range(1, 6))
def test_freeze__tools_fill_the_room_to_the_last_token_and_not_over_it(count: TextCount, tools: int) -> None:
    whole = build(Rows(agent(budgets=Budgets(session_tools=tools))), count=count)
    exact = Budgets(session_tools=tools, max_tokens=whole.tokens + 1)
    short = Budgets(session_tools=tools, max_tokens=whole.tokens - 1)

    assert build(Rows(agent(budgets=exact)), count=count).tokens == whole.tokens
    assert build(Rows(agent(budgets=short)), count=count).tokens < whole.tokens


@counters
@few
@given(catalogs(), preference_sets(), logs(), st.integers(256, 900), st.integers(0, 600), st.integers(0, 8))
def test_freeze__the_whole_stays_within_the_agents_budget_or_says_that_it_cannot(
    count: TextCount,
    catalog: tuple[Tool, ...],
    current: tuple[Preference, ...],
    turns: tuple[Turn, ...],
    most: int,
    history: int,
    tools: int,
) -> None:
    budgets = Budgets(max_tokens=most, history_tokens=history, session_tools=tools, tool_output_tokens=64)
    rows = Rows(agent(catalog, core_tools=(catalog[0].name,), budgets=budgets), current, turns)

    bundle = build(rows, count=count)

    assert bundle.tokens <= most or bundle.missing
    assert bool(bundle.missing) == (kept_whole_tokens(rows.agent, current, count=count) > most)
    assert not outgrown(bundle)


def test_freeze__what_is_never_dropped_stays_and_what_had_no_room_is_named() -> None:
    current = tuple(preference(f"k{n}", "a value of some length") for n in range(40))
    rows = Rows(agent(budgets=Budgets(max_tokens=256)), current, numbered([user(0), assistant(0)]))

    bundle = build(rows)

    assert section_names(bundle) == ["core_tools", "instructions", "preferences"]
    assert [one.name for one in bundle.missing] == ["session_tools", "recent_turns"]
    assert all(one.reason.startswith("no_room: ") for one in bundle.missing)


def test_freeze__drops_the_tools_ranked_lowest() -> None:
    turns = [user(1, "search flights and hotels")]
    ranked = freeze(Rows(agent(budgets=Budgets(session_tools=5)), turns=tuple(turns))).tools
    room = kept_whole_tokens(agent(), (), count=count_tokens) + 90

    chosen = freeze(Rows(agent(budgets=Budgets(session_tools=5, max_tokens=room)), turns=tuple(turns))).tools

    assert 0 < len(chosen) < len(ranked)
    assert chosen == ranked[: len(chosen)]


def test_freeze__turns_that_came_after_the_counters_leave_the_window_empty_not_whole() -> None:
    frozen = freezing.freeze(agent(), at(70), current=(), turns=(), count=count_tokens)

    assert frozen.first_seq == 71


def test_freeze__a_counter_that_finds_fewer_tokens_keeps_more_turns() -> None:
    turns = numbered([turn for n in range(20) for turn in (user(0, f"ask {n}"), assistant(0))])
    rows = Rows(agent(budgets=Budgets(history_tokens=150, max_turns=60, session_tools=0)), turns=turns)

    by_words, by_characters = (freeze(rows, count=count).first_seq for count in (lambda text: len(text.split()), len))

    assert 1 < by_words < by_characters <= 40

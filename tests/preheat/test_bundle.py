"""What a bundle holds, what is dropped first, and what is named when it cannot be there."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat import bundle as bundles
from preheat.budget import Budgets
from preheat.bundle import (
    Bundle,
    kept_whole_tokens,
    outgrown,
    turn_messages,
    with_corrections,
)
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.prefill import prefix_messages, prefix_sha256
from preheat.stamp import Stamp
from preheat.tools import Tool
from tests.preheat.material import (
    NOW,
    SESSION,
    Rows,
    agent,
    assemble,
    assistant,
    at,
    build,
    caller,
    catalogs,
    few,
    freeze,
    logs,
    numbered,
    preference,
    preference_sets,
    prefill_body,
    result,
    texts,
    user,
)


def section(bundle: Bundle, name: str) -> bundles.Section:
    return next(one for one in bundle.sections if one.name == name)


def names(bundle: Bundle) -> list[str]:
    return [one.name for one in bundle.sections]


def test_build__sections_come_most_stable_first() -> None:
    rows = Rows(agent(), (preference("seat", "aisle"),), numbered([user(0), assistant(0)]))

    assert names(build(rows)) == ["core_tools", "instructions", "session_tools", "preferences", "recent_turns"]


def test_build__of_a_user_without_history_has_domain_and_tools_only() -> None:
    bundle = build(Rows(agent(domain_knowledge="Trips over 1,500 euros need approval.")))

    assert names(bundle) == ["core_tools", "instructions", "session_tools"]
    assert bundle.missing == ()
    assert section(bundle, "instructions").content.endswith("\n\nTrips over 1,500 euros need approval.")
    assert len(prefix_messages(bundle)) == 1


def test_build__changed_instructions_are_another_prefix_that_the_old_record_does_not_serve() -> None:
    frozen = freeze(Rows(agent()))
    old, new = (build(Rows(agent(instructions=text))) for text in ("Be brief.", "Be thorough."))

    assert prefix_sha256(old) != prefix_sha256(new)
    assert not frozen.serves(at(agent_ver=2))


def test_build__changed_preference_shows_the_new_value_alone_in_the_next_session() -> None:
    changed = Rows(agent(), (preference("project", "B", version=2),))

    content = section(build(changed), "preferences").content

    assert content == '- project: "B"'


def test_with_corrections__running_session_keeps_its_prefix_and_says_the_change_at_the_tail() -> None:
    before = build(Rows(agent(), (preference("project", "A"),)))

    after = with_corrections(before, at(pref_ver=2), current=(preference("project", "B", version=2),))

    assert prefill_body(after) == prefill_body(before)
    assert after.corrections == ('project is now "B"; ignore the earlier value.',)
    assert after.stamp.pref_ver == 2


def test_freeze__what_the_system_text_takes_is_taken_once_from_the_history() -> None:
    budgets = Budgets(max_tokens=1000, history_tokens=100_000, max_turns=60, session_tools=0)
    sized = agent((), instructions="the " * 200, core_tools=(), budgets=budgets)
    turns = numbered([turn for n in range(30) for turn in (user(0, f"ask {n} " * 4), assistant(0, "so " * 9))])
    bundle = build(Rows(sized, turns=turns))
    exchange_tokens = section(build(Rows(sized, turns=turns[:2])), "recent_turns").tokens

    assert section(bundle, "instructions").tokens == 200
    assert 800 - exchange_tokens - 2 <= section(bundle, "recent_turns").tokens <= 800


@pytest.mark.parametrize("count", range(1, 6))
def test_freeze__tools_fill_the_room_to_the_last_token_and_not_over_it(count: int) -> None:
    whole = build(Rows(agent(budgets=Budgets(session_tools=count))))
    exact = Budgets(session_tools=count, max_tokens=whole.tokens + 1)
    short = Budgets(session_tools=count, max_tokens=whole.tokens - 1)

    assert build(Rows(agent(budgets=exact))).tokens == whole.tokens
    assert build(Rows(agent(budgets=short))).tokens < whole.tokens


@few
@given(catalogs(), preference_sets(), logs(), st.integers(256, 900), st.integers(0, 600), st.integers(0, 8))
def test_freeze__the_whole_stays_within_the_agents_budget_or_says_that_it_cannot(
    catalog: tuple[Tool, ...],
    current: tuple[Preference, ...],
    turns: tuple[Turn, ...],
    most: int,
    history: int,
    count: int,
) -> None:
    budgets = Budgets(max_tokens=most, history_tokens=history, session_tools=count, tool_output_tokens=32)
    rows = Rows(agent(catalog, core_tools=(catalog[0].name,), budgets=budgets), current, turns)

    bundle = build(rows)

    assert bundle.tokens <= most or bundle.missing
    assert bool(bundle.missing) == (kept_whole_tokens(rows.agent, current) > most)
    assert not outgrown(bundle)


def test_freeze__what_is_never_dropped_stays_and_what_had_no_room_is_named() -> None:
    current = tuple(preference(f"k{n}", "a value of some length") for n in range(40))
    rows = Rows(agent(budgets=Budgets(max_tokens=256)), current, numbered([user(0), assistant(0)]))

    bundle = build(rows)

    assert names(bundle) == ["core_tools", "instructions", "preferences"]
    assert [one.name for one in bundle.missing] == ["session_tools", "recent_turns"]
    assert all(one.reason.startswith("no_room: ") for one in bundle.missing)


def test_freeze__drops_the_tools_ranked_lowest() -> None:
    turns = [user(1, "search flights and hotels")]
    ranked = freeze(Rows(agent(budgets=Budgets(session_tools=5)), turns=tuple(turns))).tools
    room = kept_whole_tokens(agent(), ()) + 90

    chosen = freeze(Rows(agent(budgets=Budgets(session_tools=5, max_tokens=room)), turns=tuple(turns))).tools

    assert 0 < len(chosen) < len(ranked)
    assert chosen == ranked[: len(chosen)]


def test_freeze__turns_that_came_after_the_counters_leave_the_window_empty_not_whole() -> None:
    frozen = bundles.freeze(agent(), at(70), current=(), turns=())

    assert frozen.first_seq == 71


def test_outgrown__only_a_session_that_has_run_past_twice_its_window() -> None:
    rows = Rows(agent(budgets=Budgets(history_tokens=400, session_tools=0)))
    frozen = freeze(rows)
    said = numbered([turn for n in range(60) for turn in (user(0, session=SESSION), assistant(0, session=SESSION))])

    assert [outgrown(assemble(replace(rows, turns=said[:count]), frozen)) for count in (0, 40, 120)] == [
        False,
        False,
        True,
    ]


@given(texts, texts)
def test_turn_messages__any_text_comes_back_from_its_line(asked: str, found: str) -> None:
    turns = numbered([user(0, asked), caller(0, "a"), result(0, "a", found)])

    messages = turn_messages(section(build(Rows(agent(), turns=turns)), "recent_turns"))

    assert [message["content"] for message in messages] == [asked, "", found]
    assert messages[1]["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "flights/search", "arguments": '{"origin":"OPO"}'}}
    ]
    assert messages[2]["tool_call_id"] == "a"


@pytest.mark.parametrize(
    ("stamp", "left", "gone"),
    [
        (at(2, pref_ver=1), ["preferences", "recent_turns"], []),
        (at(2, pref_ver=2), ["recent_turns"], ["preferences"]),
        (at(3, pref_ver=1), ["preferences"], ["recent_turns"]),
        (at(3, pref_ver=2), [], ["preferences", "recent_turns"]),
    ],
)
def test_without_unverified__what_may_be_old_is_left_out_and_named(
    stamp: Stamp, left: list[str], gone: list[str]
) -> None:
    rows = Rows(agent(), (preference("seat", "aisle"),), numbered([user(0), assistant(0)]))
    bundle = replace(build(rows), corrections=('seat is now "window".',))

    verified = bundles.without_unverified(bundle, stamp)

    assert names(verified) == ["core_tools", "instructions", "session_tools", *left]
    assert [(one.name, one.reason) for one in verified.missing] == [(name, "source_unavailable") for name in gone]
    assert bool(verified.corrections) == ("preferences" in left)
    assert verified.stamp == stamp


def test_section__says_what_it_takes_where_it_is_from_and_why() -> None:
    rows = Rows(agent(), (preference("seat", "aisle"),), numbered([user(0), assistant(0)]))

    for one in build(rows).sections:
        assert one.tokens > 0
        assert len(one.sha256) == 64
        assert one.versions == "a1.c1.f0.p1.h2"
        assert one.built_at == NOW
        assert one.why

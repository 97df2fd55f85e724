"""Recent turns: by tokens, in whole exchanges, with oversized tool outputs cut and nothing orphaned."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.budget import Budgets, count_message_tokens, count_tokens
from preheat.history import Turn, exchanges, recent_window, shortened, trimmed, turn_tokens
from preheat.prefill import prefix_messages
from preheat.session import SessionId
from tests.preheat.material import (
    EARLIER,
    Rows,
    agent,
    assistant,
    build,
    caller,
    exchange_of_turns,
    few,
    logs,
    numbered,
    result,
    texts,
    user,
)

OTHER = SessionId("other")
WHOLE = numbered([user(0), caller(0, "a", "b"), result(0, "b"), result(0, "a"), assistant(0)])


def _kept(turns: tuple[Turn, ...]) -> list[Turn]:
    return [turn for exchange in exchanges(turns) for turn in exchange]


def _assert_paired(turns: list[Turn]) -> None:
    """Every result has its call before it, and every call all its results after it."""
    open_calls: list[str] = []
    for turn in turns:
        if turn.role == "tool":
            assert turn.tool_call_id in open_calls
            open_calls.remove(turn.tool_call_id)
        open_calls += [call.call_id for call in turn.tool_calls]
    assert open_calls == []


@few
@given(logs())
def test_exchanges__every_result_has_its_call_before_it_and_the_reverse(turns: tuple[Turn, ...]) -> None:
    _assert_paired(_kept(turns))


@few
@given(logs())
def test_exchanges__keep_every_plain_turn_in_order(turns: tuple[Turn, ...]) -> None:
    kept = _kept(turns)
    plain = [turn for turn in turns if turn.role != "tool" and not turn.tool_calls]

    assert [turn for turn in kept if turn.role != "tool" and not turn.tool_calls] == plain
    assert kept == sorted(kept, key=lambda turn: turn.seq)


@few
@given(logs())
def test_exchanges__have_nothing_left_to_leave_out(turns: tuple[Turn, ...]) -> None:
    kept = _kept(turns)

    assert _kept(tuple(kept)) == kept


def test_exchanges__open_at_each_user_turn_and_each_change_of_session() -> None:
    turns = numbered([user(0), assistant(0), user(0), assistant(0, session=OTHER), assistant(0, session=OTHER)])

    assert [[turn.seq for turn in exchange] for exchange in exchanges(turns)] == [[1, 2], [3], [4, 5]]


def test_exchanges__call_and_all_its_results_stay_together() -> None:
    assert exchanges(WHOLE) == [list(WHOLE)]


@pytest.mark.parametrize(
    ("broken", "left"),
    [
        ([user(0), caller(0, "a", "b"), result(0, "a"), assistant(0)], [1, 4]),
        ([user(0), result(0, "a"), assistant(0)], [1, 3]),
        ([user(0), result(0, "a"), caller(0, "a"), assistant(0)], [1, 4]),
        ([user(0), caller(0, "a"), result(0, "a"), caller(0, "a"), assistant(0)], [1, 2, 3, 5]),
        ([user(0), caller(0, "a"), result(0, "a"), result(0, "a")], [1, 2, 3]),
        ([user(0), caller(0, "a"), user(0), result(0, "a")], [1, 3]),
        ([user(0), caller(0, "a"), result(0, "a", session=OTHER)], [1]),
        ([result(0, "a"), assistant(0), user(0)], [2, 3]),
    ],
    ids=[
        "one result missing",
        "no call",
        "result before its call",
        "second call of one id unanswered",
        "answered twice",
        "user in between",
        "another session",
        "log begins too late",
    ],
)
def test_exchanges__leave_out_what_an_engine_would_refuse(broken: list[Turn], left: list[int]) -> None:
    assert [turn.seq for turn in _kept(numbered(broken))] == left


@few
@given(logs(), st.integers(0, 400), st.integers(0, 20))
def test_recent_window__keeps_to_its_tokens_and_turns(turns: tuple[Turn, ...], tokens: int, count: int) -> None:
    start = recent_window(turns, max_tokens=tokens, max_turns=count, tool_output_tokens=40, count=count_tokens)
    kept = _kept(tuple(turn for turn in turns if turn.seq >= start))

    assert len(kept) <= count
    assert (
        sum(turn_tokens(trimmed(turn, max_tokens=40, count=count_tokens), count=count_tokens) for turn in kept)
        <= tokens
    )


@few
@given(logs(), st.integers(0, 300), st.integers(0, 300))
def test_recent_window__more_room_never_keeps_less(turns: tuple[Turn, ...], tokens: int, more: int) -> None:
    small = recent_window(turns, max_tokens=tokens, max_turns=20, tool_output_tokens=40, count=count_tokens)
    large = recent_window(turns, max_tokens=tokens + more, max_turns=20, tool_output_tokens=40, count=count_tokens)

    assert large <= small


def test_recent_window__takes_the_newest_exchanges_whole() -> None:
    turns = numbered([user(0), assistant(0), user(0), caller(0, "a"), result(0, "a"), assistant(0)])
    last = sum(turn_tokens(turn, count=count_tokens) for turn in turns[2:])

    starts = [
        recent_window(turns, max_tokens=tokens, max_turns=10, tool_output_tokens=100, count=count_tokens)
        for tokens in (last - 1, last)
    ]

    assert starts == [7, 3]


def test_recent_window__of_an_empty_log_begins_at_the_first_turn_to_come() -> None:
    assert recent_window([], max_tokens=100, max_turns=10, tool_output_tokens=40, count=count_tokens) == 1


@few
@given(st.integers(0, 900))
def test_recent_turns__at_any_budget_every_tool_result_has_its_call(budget: int) -> None:
    asks = [(user(0, f"ask {n}"), caller(0, f"c{n}"), result(0, f"c{n}"), assistant(0)) for n in range(6)]
    turns = numbered([turn for ask in asks for turn in ask])
    budgets = Budgets(history_tokens=budget, session_tools=0, max_turns=60)

    messages = prefix_messages(build(Rows(agent(budgets=budgets), turns=turns)))[1:]

    starts = [str(message["content"])[:9] for message in messages]
    first = 6 - len(messages) // 4
    assert starts == [start for n in range(first, 6) for start in (f"ask {n}", "<tool_cal", "<tool_res", "Lisbon.")]


def test_trimmed__one_huge_tool_output_keeps_head_and_tail_and_the_others_stay() -> None:
    huge = "".join(f"row {n} of the table; " for n in range(90_000))
    turns = numbered([user(0), assistant(0), user(0), caller(0, "a"), result(0, "a", huge), assistant(0)])

    start = recent_window(turns, max_tokens=400, max_turns=10, tool_output_tokens=120, count=count_tokens)
    cut = trimmed(turns[4], max_tokens=120, count=count_tokens)

    assert len(huge) > 1_900_000
    assert start == 1
    assert 100 <= count_tokens(cut.content) <= 120
    assert re.fullmatch(
        r"row 0 of the table; .+ \[\.\.\. \d+ characters left out \.\.\.\] .+ row 89999 of the table; ", cut.content
    )


@given(st.text(max_size=600), st.integers(32, 80))
def test_trimmed__fits_and_says_how_much_it_left_out(content: str, tokens: int) -> None:
    turn = result(1, "a", content)

    cut = trimmed(turn, max_tokens=tokens, count=count_tokens)

    assert count_tokens(cut.content) <= tokens
    if count_tokens(content) <= tokens:
        assert cut == turn
    else:
        head, _, rest = cut.content.partition(" [... ")
        count, _, tail = rest.partition(" characters left out ...] ")
        assert len(head) + int(count) + len(tail) == len(content)


@given(texts)
def test_trimmed__touches_only_tool_outputs(content: str) -> None:
    for turn in (user(1, content * 50), assistant(1, content * 50)):
        assert trimmed(turn, max_tokens=1, count=count_tokens) is turn


def test_turn_tokens__are_no_fewer_than_the_rendered_messages_take() -> None:
    turns = numbered(
        [
            user(0, "Where is my booking, and what did it cost?"),
            caller(0, "a"),
            result(0, "a", '{"offers":[{"id":"o1","price":214.5}],"more":false}'),
            caller(0, "b", "c", "d"),
            *(result(0, one) for one in "bcd"),
            assistant(0, "It is confirmed, for 214.50 euros."),
        ]
    )

    messages = prefix_messages(build(Rows(agent(), turns=turns)))[1:]

    for turn, message in zip(turns, messages, strict=True):
        assert turn_tokens(turn, count=count_tokens) >= count_message_tokens(
            str(message["content"]), count=count_tokens
        )


@few
@given(logs(most=3), st.data())
def test_exchanges__only_grow_at_the_end_when_whole_exchanges_are_added(
    turns: tuple[Turn, ...], data: st.DataObject
) -> None:
    more = numbered(data.draw(exchange_of_turns(EARLIER)), after=len(turns))
    before = _kept(turns)

    assert _kept((*turns, *more))[: len(before)] == before


@pytest.mark.parametrize("tokens", [30, 100, 400])
def test_shortened__keeps_head_and_tail_within_its_tokens(tokens: int) -> None:
    cut = shortened("the beginning " + "and so on " * 2_000 + "the end", max_tokens=tokens, count=count_tokens)

    assert cut.startswith("the beg")
    assert cut.endswith("end")
    assert count_tokens(cut) <= tokens


def test_shortened__a_text_that_fits_stays_as_it_is() -> None:
    assert shortened("a few words", max_tokens=10, count=count_tokens) == "a few words"

"""The contract of `preheat.ports.Records`: the turn log."""

import pytest

from preheat.errors import InvalidInputError
from preheat.history import ToolCall
from preheat.ports import NewTurn, Records
from preheat.session import SessionId
from preheat.stamp import UserState
from tests.contracts.records.samples import NOW, SCOPE, SESSION, STRANGE_TEXT, TENANT, USER, WRITERS, at_once, said


def test_append_turns__order_and_content_survive(records: Records) -> None:
    calls = (ToolCall("c-1", "crm/find", '{"q":"日本"}'), ToolCall("c-2", "crm/merge", "{}"))
    turns = [
        NewTurn("t-b", SESSION, "user", STRANGE_TEXT),
        NewTurn("t-a", SESSION, "assistant", "", calls),
        NewTurn("t-c", SESSION, "tool", "found", tool_call_id="c-1"),
        NewTurn("t-d", SessionId("s-2"), "assistant", "done"),
    ]

    state = records.append_turns(TENANT, USER, turns=turns)

    kept = records.newest_turns(TENANT, USER, limit=10)
    assert state == UserState(hist_seq=4)
    assert [turn.seq for turn in kept] == [1, 2, 3, 4]
    assert [
        NewTurn(turn.turn_id, turn.session, turn.role, turn.content, turn.tool_calls, turn.tool_call_id)
        for turn in kept
    ] == turns


def test_append_turns__known_ids_are_skipped(records: Records) -> None:
    records.append_turns(TENANT, USER, turns=[said("t-1"), said("t-2")])

    state = records.append_turns(TENANT, USER, turns=[said("t-2", "changed"), said("t-3"), said("t-1"), said("t-4")])

    assert state.hist_seq == 4
    assert [(turn.seq, turn.turn_id, turn.content) for turn in records.turns_from(TENANT, USER, first_seq=1)] == [
        (number, f"t-{number}", "hello") for number in (1, 2, 3, 4)
    ]


def test_append_turns__all_known_or_none_given_is_a_no_op(records: Records) -> None:
    first = records.append_turns(TENANT, USER, turns=[said("t-1")])

    assert records.append_turns(TENANT, USER, turns=[said("t-1")]) == first
    assert records.append_turns(TENANT, USER, turns=[]) == first


def test_append_turns__an_id_repeated_in_one_call_is_appended_once(records: Records) -> None:
    state = records.append_turns(TENANT, USER, turns=[said("t-1", "one"), said("t-2"), said("t-1", "two")])

    assert state.hist_seq == 2
    assert [turn.content for turn in records.turns_from(TENANT, USER, first_seq=1)] == ["one", "hello"]


def test_append_turns__forty_at_once_are_taken_and_one_more_is_not(records: Records) -> None:
    forty = [said(f"t-{number}") for number in range(40)]

    with pytest.raises(InvalidInputError) as caught:
        records.append_turns(TENANT, USER, turns=[*forty, said("t-40")])

    assert caught.value.field == "turns"
    assert records.append_turns(TENANT, USER, turns=forty).hist_seq == 40


def test_append_turns__large_turns_are_kept_and_page(records: Records) -> None:
    contents = [f"{number}" + "é" * 149_000 for number in range(8)]

    records.append_turns(TENANT, USER, turns=[said(f"t-{n}", content) for n, content in enumerate(contents)])

    assert [turn.content for turn in records.turns_from(TENANT, USER, first_seq=1)] == contents
    assert [turn.content for turn in records.newest_turns(TENANT, USER, limit=7)] == contents[1:]


@pytest.mark.parametrize(
    ("turn", "field"),
    [
        (said("t-2", "é" * 150_001), "turns[1].content"),
        (said("t-2", "\ud800"), "turns[1].content"),
        (
            NewTurn("t-2", SESSION, "assistant", "", (ToolCall("c-1", "crm/find", "x" * 90_000),)),
            "turns[1].tool_calls",
        ),
    ],
    ids=["too long", "lone surrogate", "too long a call"],
)
def test_append_turns__a_turn_that_no_row_can_hold_is_named(records: Records, turn: NewTurn, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        records.append_turns(TENANT, USER, turns=[said("t-1"), turn])

    assert caught.value.field == field
    assert records.read_user_state(TENANT, USER) == UserState()


def test_append_turns__a_batch_over_one_transaction_is_refused(records: Records) -> None:
    turns = [said(f"t-{number}", "x" * 300_000) for number in range(12)]

    with pytest.raises(InvalidInputError) as caught:
        records.append_turns(TENANT, USER, turns=turns)

    assert caught.value.field == "turns"
    assert records.append_turns(TENANT, USER, turns=turns[:11]).hist_seq == 11


def test_append_turns__at_once_leaves_no_gap_and_no_duplicate(records: Records) -> None:
    def append(writer: int) -> None:
        for batch in range(4):
            own = f"{writer}-{batch}"
            records.append_turns(TENANT, USER, turns=[said(f"{own}-a"), said("shared"), said(f"{own}-b")])

    at_once(append)

    turns = records.turns_from(TENANT, USER, first_seq=1)
    expected = 2 * 4 * WRITERS + 1
    assert [turn.seq for turn in turns] == list(range(1, expected + 1))
    assert len({turn.turn_id for turn in turns}) == expected
    assert records.read_user_state(TENANT, USER).hist_seq == expected
    positions = {turn.turn_id: turn.seq for turn in turns}
    assert all(positions[f"{w}-{b}-a"] < positions[f"{w}-{b}-b"] for w in range(WRITERS) for b in range(4))


def test_turns_and_preferences__at_once_do_not_lose_each_other(records: Records) -> None:
    def write(writer: int) -> None:
        records.append_turns(TENANT, USER, turns=[said(f"t-{writer}")])
        records.set_preference(TENANT, USER, key=f"k{writer}", value=writer, now=NOW)
        records.delete_preference(TENANT, USER, key=f"k{writer}", now=NOW)

    at_once(write)

    assert records.read_user_state(TENANT, USER) == UserState(
        forget_ver=WRITERS, pref_ver=2 * WRITERS, hist_seq=WRITERS
    )


def test_versions__read_before_the_rows_are_never_ahead_of_them(records: Records) -> None:
    def write_or_read(worker: int) -> None:
        for step in range(6):
            if worker % 2:
                records.append_turns(TENANT, USER, turns=[said(f"{worker}-{step}")])
                records.set_preference(TENANT, USER, key=f"k{worker}", value=step, now=NOW)
            else:
                state = records.read_versions(SCOPE).user
                turns = records.turns_from(TENANT, USER, first_seq=1)
                preferences = records.list_preferences(TENANT, USER)
                assert len([turn for turn in turns if turn.seq <= state.hist_seq]) == state.hist_seq
                assert max([preference.version for preference in preferences], default=0) >= state.pref_ver

    at_once(write_or_read)

    assert records.read_user_state(TENANT, USER) == UserState(pref_ver=24, hist_seq=24)


def test_newest_turns__gives_the_last_ones_oldest_first(records: Records) -> None:
    records.append_turns(TENANT, USER, turns=[said(f"t-{number}") for number in range(1, 13)])

    assert [turn.seq for turn in records.newest_turns(TENANT, USER, limit=3)] == [10, 11, 12]
    assert records.newest_turns(TENANT, USER, limit=0) == ()


def test_turns_from__gives_the_rest_oldest_first(records: Records) -> None:
    records.append_turns(TENANT, USER, turns=[said(f"t-{number}") for number in range(1, 13)])

    assert [turn.seq for turn in records.turns_from(TENANT, USER, first_seq=10)] == [10, 11, 12]
    assert records.turns_from(TENANT, USER, first_seq=13) == ()
    assert len(records.turns_from(TENANT, USER, first_seq=0)) == 12

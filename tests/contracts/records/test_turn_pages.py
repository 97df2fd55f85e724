"""The contract of `preheat.ports.Records`: the turn log, part by part."""

import pytest

from preheat.history import ToolCall, Turn
from preheat.ports import NewTurn, Records, TurnPage
from preheat.session import SessionId, TenantId, UserId
from tests.contracts.records.samples import NOW, SESSION, STRANGE_TEXT, TENANT, USER, at_once, said


def _write(records: Records, count: int) -> None:
    for first in range(1, count + 1, 40):
        numbers = range(first, min(first + 40, count + 1))
        records.append_turns(TENANT, USER, turns=[said(f"t-{number}", f"turn {number}") for number in numbers])


def _walk(records: Records, *, limit: int) -> list[TurnPage]:
    pages = [records.turn_page(TENANT, USER, after=0, limit=limit)]
    while (after := pages[-1].next_after) is not None:
        pages.append(records.turn_page(TENANT, USER, after=after, limit=limit))
    return pages


@pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 7), (3, [3, 3, 1]), (7, [7]), (200, [7])])
def test_turn_page__parts_are_the_log_oldest_first_without_gap_or_overlap(
    records: Records, limit: int, sizes: list[int]
) -> None:
    _write(records, 7)

    pages = _walk(records, limit=limit)

    assert [len(page.turns) for page in pages] == sizes
    assert [turn for page in pages for turn in page.turns] == list(records.turns_from(TENANT, USER, first_seq=1))


def test_turn_page__a_full_part_is_the_last_when_nothing_follows(records: Records) -> None:
    _write(records, 4)

    assert records.turn_page(TENANT, USER, after=2, limit=2).next_after is None
    assert records.turn_page(TENANT, USER, after=1, limit=2).next_after == 3


@pytest.mark.parametrize("after", [3, 4, 10**11])
def test_turn_page__past_the_end_is_empty(records: Records, after: int) -> None:
    _write(records, 3)

    assert records.turn_page(TENANT, USER, after=after, limit=50) == TurnPage((), None)


def test_turn_page__of_nobody_is_empty_and_of_others_stays_theirs(records: Records) -> None:
    _write(records, 3)

    for tenant, user in (("acme", "bob"), ("acm", "ada"), ("other", "ada")):
        assert records.turn_page(TenantId(tenant), UserId(user), after=0, limit=9) == TurnPage((), None)


def test_turn_page__turns_come_back_whole(records: Records) -> None:
    calls = (ToolCall("c-1", "crm/find", '{"q":"日本"}'),)
    turns = [
        NewTurn("t-1", SESSION, "user", STRANGE_TEXT),
        NewTurn("t-2", SessionId("s-2"), "assistant", "", calls),
        NewTurn("t-3", SessionId("s-2"), "tool", "found", tool_call_id="c-1"),
    ]
    records.append_turns(TENANT, USER, turns=turns)

    page = records.turn_page(TENANT, USER, after=1, limit=2)

    assert page.turns == (
        Turn(2, "t-2", SessionId("s-2"), "assistant", "", calls),
        Turn(3, "t-3", SessionId("s-2"), "tool", "found", tool_call_id="c-1"),
    )


def test_turn_page__large_turns_lose_nothing(records: Records) -> None:
    contents = [f"{number}" + "é" * 149_000 for number in range(8)]
    records.append_turns(TENANT, USER, turns=[said(f"t-{n}", content) for n, content in enumerate(contents)])

    pages = _walk(records, limit=200)

    assert [turn.content for page in pages for turn in page.turns] == contents
    assert all(page.turns for page in pages)


def test_turn_page__sees_every_turn_acknowledged_before_it(records: Records) -> None:
    def write_and_read(worker: int) -> None:
        for step in range(5):
            seq = records.append_turns(TENANT, USER, turns=[said(f"{worker}-{step}")]).hist_seq
            (turn,) = records.turn_page(TENANT, USER, after=seq - 1, limit=1).turns
            assert turn.seq == seq

    at_once(write_and_read)

    assert len(_walk(records, limit=7)) == 6


def test_turn_page__after_an_erasure_shows_only_what_came_later(records: Records) -> None:
    _write(records, 3)
    records.erase_user(TENANT, USER, now=NOW, settle_s=0.0, kept_until=NOW + 10)

    records.append_turns(TENANT, USER, turns=[said("t-new")])

    page = records.turn_page(TENANT, USER, after=0, limit=50)
    assert [(turn.seq, turn.turn_id) for turn in page.turns] == [(4, "t-new")]
    assert page.next_after is None

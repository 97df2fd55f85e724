"""Which slot a session gets, and what is kept."""

from infra.local.model.slots import MIN_SHARED_CHARS, Lease, Move, SlotTable, common_chars

LONG = "x" * MIN_SHARED_CHARS
LIMIT = 1000


def hold(table: SlotTable, session: str, text: str) -> Lease:
    """Lease and release."""
    lease = table.lease(session, text)
    assert lease is not None
    table.release(lease, text)
    return lease


def test_lease__a_session_comes_back_to_its_slot() -> None:
    table = SlotTable(3, LIMIT)
    first = hold(table, "a", "A" + LONG)
    hold(table, "b", "B" + LONG)

    assert hold(table, "a", "A" + LONG + "more") == Lease(first.slot)


def test_lease__an_alike_session_takes_a_copy_not_the_slot() -> None:
    table = SlotTable(3, LIMIT)
    first = hold(table, "a", LONG + "a's own")

    second = hold(table, "b", LONG + "b's own")

    file = second.moves[0].file
    assert second.slot != first.slot
    assert second.moves == (Move("save", first.slot, file), Move("restore", second.slot, file))


def test_lease__a_copy_of_a_state_that_is_saved_needs_no_second_save() -> None:
    table = SlotTable(3, LIMIT)
    hold(table, "a", LONG + "a's own")
    second = hold(table, "b", LONG + "b's own")

    third = hold(table, "c", LONG + "c's own")

    assert [move.kind for move in second.moves] == ["save", "restore"]
    assert [move.kind for move in third.moves] == ["restore"]


def test_lease__an_unlike_session_gets_an_empty_slot_without_a_move() -> None:
    table = SlotTable(2, LIMIT)
    first = hold(table, "a", "A" + LONG)

    second = hold(table, "b", "B" + LONG)

    assert second.slot != first.slot
    assert second.moves == ()


def test_lease__the_least_recently_used_makes_room_and_is_kept() -> None:
    table = SlotTable(2, LIMIT)
    first = hold(table, "a", "A" + LONG)
    hold(table, "b", "B" + LONG)

    third = hold(table, "c", "C" + LONG)

    assert third.slot == first.slot
    assert [(move.kind, move.slot) for move in third.moves] == [("save", first.slot)]


def test_lease__a_session_that_made_room_is_brought_back() -> None:
    table = SlotTable(2, LIMIT)
    hold(table, "a", "A" + LONG)
    second = hold(table, "b", "B" + LONG)
    kept = hold(table, "c", "C" + LONG).moves[0].file

    back = hold(table, "a", "A" + LONG)

    assert back.slot == second.slot
    assert [move.kind for move in back.moves] == ["save", "restore"]
    assert back.moves[1] == Move("restore", second.slot, kept)


def test_lease__a_short_state_is_not_worth_a_file() -> None:
    table = SlotTable(1, LIMIT)
    hold(table, "a", "short")

    assert hold(table, "b", "B" + LONG).moves == ()


def test_lease__a_second_call_of_a_session_runs_beside_the_first() -> None:
    table = SlotTable(2, LIMIT)
    first = table.lease("a", "A" + LONG)
    second = table.lease("a", "A" + LONG)
    assert first is not None
    assert second is not None

    table.release(second, "A" + LONG)
    table.release(first, "A" + LONG)

    assert second.slot != first.slot
    assert hold(table, "a", "A" + LONG).slot == first.slot


def test_lease__none_while_every_slot_is_taken() -> None:
    table = SlotTable(1, LIMIT)
    lease = table.lease("a", LONG)
    assert lease is not None

    assert table.lease("b", LONG) is None
    table.release(lease, LONG)
    assert table.lease("b", LONG) is not None


def test_lease__a_running_call_is_not_copied_from() -> None:
    table = SlotTable(2, LIMIT)
    hold(table, "a", LONG + "a's own")
    table.lease("a", LONG + "a's own")

    assert hold(table, "b", LONG + "b's own").moves == ()


def test_lease__a_state_that_changed_is_saved_again() -> None:
    table = SlotTable(3, LIMIT)
    hold(table, "a", LONG)
    hold(table, "b", LONG + "b")
    hold(table, "a", LONG + "longer now")

    moves = hold(table, "c", LONG + "longer now, c").moves

    assert [move.kind for move in moves] == ["save", "restore"]


def test_saved__the_oldest_files_go_when_they_are_too_large() -> None:
    table = SlotTable(1, LIMIT)
    hold(table, "a", "A" + LONG)
    first = hold(table, "b", "B" + LONG).moves[0].file
    assert table.saved(first, 600) == ()
    second = hold(table, "c", "C" + LONG).moves[0].file

    assert table.saved(second, 600) == (first,)
    assert [move.kind for move in hold(table, "a", "A" + LONG).moves] == ["save"]


def test_lost__a_file_that_could_not_be_written_is_not_read() -> None:
    table = SlotTable(1, LIMIT)
    hold(table, "a", "A" + LONG)
    table.lost(hold(table, "b", "B" + LONG).moves[0].file)

    assert [move.kind for move in hold(table, "a", "A" + LONG).moves] == ["save"]


def test_common_chars__counts_the_equal_beginning() -> None:
    assert [common_chars("abc", other) for other in ("", "x", "abd", "abc", "abcd")] == [0, 0, 2, 3, 3]

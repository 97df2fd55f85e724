"""The bounds of a memory index: what leaves first when it is full."""

from collections.abc import Mapping

import pytest

from preheat.budget import count_tokens
from preheat.errors import InvalidInputError
from preheat.memory_index import MAX_INDEX_BYTES, MemoryIndex, filled_index
from preheat.passages import Passage
from tests.preheat.memories import EMBEDDER, basis

_HEAVY_BYTES = 50_000
_PACKED = bytes([0x88]) * (EMBEDDER.dims // 2)


def _heavy(position: int) -> Passage:
    return Passage(
        passage_id=f"{position:04d}",
        position=position,
        group="",
        label="",
        heading="",
        text=f"{position:0{_HEAVY_BYTES}d}",
        sources=(position,),
        words=(),
        tokens=1,
        packed=_PACKED,
    )


def _filled(
    *, facts: int = 0, turns: int = 0, documents: int = 0, retired: Mapping[str, tuple[int, ...]] | None = None
) -> MemoryIndex:
    return filled_index(
        basis(),
        facts=map(_heavy, range(1, facts + 1)),
        turns=map(_heavy, range(1, turns + 1)),
        documents=map(_heavy, range(1, documents + 1)),
        retired=retired or {},
        count=count_tokens,
    )


def _positions(items: tuple[Passage, ...]) -> list[int]:
    return [one.position for one in items]


def test_filled_index__oldest_turns_leave_before_any_fact() -> None:
    index = _filled(facts=8, turns=40)

    assert _positions(index.facts.items) == list(range(1, 9))
    assert _positions(index.turns.items) == list(range(22, 41))


def test_filled_index__facts_leave_half_for_what_was_said_itself() -> None:
    index = _filled(facts=40, turns=40)

    assert _positions(index.facts.items) == list(range(28, 41))
    assert _positions(index.turns.items) == list(range(27, 41))


def test_filled_index__never_holds_more_than_its_bound() -> None:
    index = _filled(facts=40, turns=40)
    total = sum(one.stored_bytes for one in (*index.facts.items, *index.turns.items))

    assert MAX_INDEX_BYTES - 2 * _HEAVY_BYTES < total <= MAX_INDEX_BYTES


def test_filled_index__what_was_retired_is_kept_as_long_as_its_turns() -> None:
    retired = {"b": (39, 2), "a": (1,), "c": ()}

    assert list(_filled(turns=10, retired=retired).retired) == ["a", "b"]
    assert list(_filled(turns=40, retired=retired).retired) == ["b"]


def test_outdated__turns_that_told_nothing_that_holds() -> None:
    assert _filled(facts=2, turns=9, retired={"a": (2, 3), "b": (7,)}).outdated == {3, 7}


def test_filled_index__documents_that_do_not_fit_are_refused() -> None:
    assert len(_filled(documents=27).documents.items) == 27
    with pytest.raises(InvalidInputError, match="over 1400000 bytes"):
        _filled(documents=28)

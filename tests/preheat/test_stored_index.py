"""The stored form of a memory index: comes back whole, is refused by anybody else, and fits."""

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.additions import Chunk
from preheat.budget import count_tokens
from preheat.envelope import MAX_BODY_BYTES
from preheat.errors import EntryCorruptError
from preheat.memory_index import MAX_INDEX_BYTES, Basis, MemoryIndex
from preheat.recall import recall
from preheat.stored_index import MAX_PARTS, dump_index, load_index
from tests.preheat.material import few, numbered, user
from tests.preheat.memories import ANA, Life, basis, empty, grown, lives, vector


def _load(parts: tuple[bytes, ...]) -> MemoryIndex:
    return load_index(parts, basis=basis(), count=count_tokens)


def _letters(seed: int, count: int) -> str:
    """Return text that does not compress."""
    dice = random.Random(seed)  # noqa: S311  # the same text in every run
    return "".join(dice.choices("abcdefghijklmnopqrstuvwxyz0123456789 ", k=count))


def _large(*, seed: int = 1) -> MemoryIndex:
    """Return an index that takes two entries and more."""
    return grown(empty(), turns=numbered([user(0, _letters(seed * 1_000_000 + n, 400)) for n in range(1_000)]))


@few
@given(lives())
def test_load_index__gives_back_what_was_dumped(life: Life) -> None:
    index = life.index()

    back = _load(dump_index(index))

    for kind, was in ((back.facts, index.facts), (back.turns, index.turns), (back.documents, index.documents)):
        assert kind.items == was.items
        assert kind.rows.tobytes() == was.rows.tobytes()
    assert (back.basis, back.retired) == (index.basis, index.retired)


@few
@given(lives(), lives())
def test_load_index__what_came_back_grows_like_what_was_dumped(life: Life, more: Life) -> None:
    index = life.index()

    grown_back = grown(_load(dump_index(index)), turns=more.turns, facts=more.facts, said_at=more.said_at)

    assert dump_index(grown_back) == dump_index(grown(index, turns=more.turns, facts=more.facts, said_at=more.said_at))


def test_load_index__recalls_what_was_recalled_before() -> None:
    query = "which course do I take?"
    back = _load(dump_index(ANA.index()))

    before, after = (recall(index, query, query_vector=vector(query), max_tokens=80) for index in (ANA.index(), back))

    assert after == before
    assert after.facts


def test_load_index__documents_come_back_too() -> None:
    index = grown(empty(), chunks=[Chunk("c1", "Manual", 0, "Press twice."), Chunk("c2", "Manual", 1, "Wait.")])

    assert _load(dump_index(index)).documents.items == index.documents.items


@pytest.mark.parametrize(
    "other",
    [
        basis("T#acme#U#ben"),
        replace(basis(), model="hashed-words/2"),
        replace(basis(), dims=32),
        replace(basis(), counter="tokenizer-1"),
    ],
)
def test_load_index__on_another_basis_is_a_miss(other: Basis) -> None:
    with pytest.raises(EntryCorruptError, match="another basis"):
        load_index(dump_index(ANA.index()), basis=other, count=count_tokens)


@pytest.mark.parametrize("at", [0, 5, 30, 200, -1])
def test_load_index__a_changed_byte_is_noticed(at: int) -> None:
    (part,) = dump_index(ANA.index())
    spoiled = bytearray(part)
    spoiled[at] ^= 1

    with pytest.raises(EntryCorruptError):
        _load((bytes(spoiled),))


@pytest.mark.parametrize("parts", [(), (b"",), (b"PHM1",), (bytes(200),)])
def test_load_index__bytes_of_something_else_are_refused(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(EntryCorruptError):
        _load(parts)


def test_dump_index__parts_fit_the_tiers_and_may_come_in_any_order() -> None:
    index = _large()
    parts = dump_index(index)

    assert 1 < len(parts) <= MAX_PARTS
    assert max(map(len, parts)) <= MAX_BODY_BYTES
    assert _load(parts[::-1]).turns.items == index.turns.items


def test_load_index__parts_of_two_writers_are_never_put_together() -> None:
    first, second = dump_index(_large(seed=1)), dump_index(_large(seed=2))

    mixes = [mix for mix in itertools.product(*zip(first, second, strict=True)) if mix not in (first, second)]
    assert mixes
    for mix in (*mixes, first[:-1], (*first, first[0])):
        with pytest.raises(EntryCorruptError):
            _load(tuple(mix))


@few
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60), min_size=1, max_size=40))
def test_stored_bytes__is_more_than_what_is_stored(said: list[str]) -> None:
    index = grown(empty(), turns=numbered([user(0, text) for text in said]))

    frame = sum(map(len, dump_index(empty())))
    assert sum(map(len, dump_index(index))) <= frame + sum(one.stored_bytes for one in index.turns.items)


def test_dump_index__a_full_index_of_text_that_does_not_compress_still_fits() -> None:
    index = grown(empty(), chunks=[Chunk(str(n), "Manual", n, _letters(n, 8_000)) for n in range(78)])

    assert sum(one.stored_bytes for one in index.documents.items) > 0.95 * MAX_INDEX_BYTES
    assert len(dump_index(index)) <= MAX_PARTS

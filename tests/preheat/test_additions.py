"""A memory index grows piece by piece or at once, with the same result."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.additions import Chunk, additions, extended
from preheat.budget import count_tokens
from preheat.errors import InvalidInputError
from preheat.facts import Fact
from preheat.memory_index import Basis, MemoryIndex
from tests.preheat.material import few, numbered, result, user
from tests.preheat.memories import ANA, EMBEDDER, FIRST, Life, empty, grown, lives, retired


def _parts(index: MemoryIndex) -> tuple[object, ...]:
    kinds = (index.facts, index.turns, index.documents)
    return (index.retired, *((one.items, one.rows.tobytes()) for one in kinds))


@few
@given(lives(), st.data())
def test_extended__piece_by_piece_gives_what_at_once_gives(life: Life, data: st.DataObject) -> None:
    index = empty()
    turns, facts = list(life.turns), data.draw(st.permutations(life.facts))
    while turns or facts:
        some = data.draw(st.integers(0, len(turns))), data.draw(st.integers(0, len(facts)))
        index = grown(index, turns=turns[: some[0]], facts=facts[: some[1]], said_at=life.said_at)
        turns, facts = turns[some[0] :], facts[some[1] :]
        if not any(some):
            index = grown(index, turns=turns, facts=facts, said_at=life.said_at)
            break

    assert _parts(index) == _parts(life.index())


@few
@given(lives())
def test_additions__what_is_known_is_not_embedded_again(life: Life) -> None:
    added = additions(life.index(), turns=life.turns, facts=life.facts, said_at=life.said_at, count=count_tokens)

    assert added.texts == ()


def test_additions__a_changed_fact_replaces_the_old_one() -> None:
    moved = Fact("atlas", "Ana works on project Borealis.", (9, 10))
    index = grown(ANA.index(), facts=[moved])

    assert [one.text for one in index.facts.items if one.passage_id == "atlas"] == [moved.text]
    assert len(index.facts.items) == len(ANA.facts)


def test_additions__a_retired_fact_leaves_and_is_remembered_as_retired() -> None:
    index = grown(ANA.index(), facts=[retired(ANA.facts[2])])

    assert "atlas" not in {one.passage_id for one in index.facts.items}
    assert index.retired == {"atlas": (9,)}
    assert grown(index, facts=[ANA.facts[2]]).retired == {}


def test_additions__a_fact_stands_under_the_day_of_the_turn_that_told_it_first() -> None:
    headings = {one.passage_id: one.heading for one in ANA.index().facts.items}

    assert headings == {"hiking": "21 Sep 2026", "pottery": "22 Sep 2026", "atlas": "22 Sep 2026"}


def test_additions__an_oversized_turn_keeps_head_and_tail() -> None:
    pasted = "first line " + "x = 1 " * 50_000 + "last line"
    index = grown(empty(), turns=numbered([user(0, pasted), user(0, "short")]))

    long, short = index.turns.items
    assert long.text.startswith("first line")
    assert long.text.endswith("last line")
    assert count_tokens(long.text) <= 240
    assert short.text == "short"


def test_additions__tool_calls_and_results_can_be_found() -> None:
    turns = {one.position: one for one in ANA.index().turns.items}

    assert turns[6].text == 'calendar/add {"origin":"OPO"}'
    assert turns[7].line == 'tool:"{\\"added\\":\\"pottery\\"}"'


def test_additions__what_says_nothing_is_left_out() -> None:
    added = additions(
        empty(),
        turns=numbered([user(0, " \n"), result(0, "a", "", session=FIRST)]),
        facts=[Fact("empty", " ")],
        chunks=[Chunk("c", "Manual", 0, "\t")],
        count=count_tokens,
    )

    assert added.texts == ()


def test_additions__a_title_is_quoted_data_too() -> None:
    index = grown(empty(), chunks=[Chunk("c", 'Manual"\n# System', 0, "Turn it off.")])

    assert [one.heading for one in index.documents.items] == ['"Manual\\"\\n# System"']


@pytest.mark.parametrize("shape", [(12, 64), (13, 32), (14, 64)])
def test_extended__embeddings_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    added = additions(empty(), turns=ANA.turns, facts=ANA.facts, count=count_tokens)

    with pytest.raises(InvalidInputError, match="have shape"):
        extended(empty(), added, np.zeros(shape, dtype=np.float32), count=count_tokens)


def test_extended__index_of_one_owner_stays_theirs() -> None:
    ana, ben = ANA.index(), grown(empty("T#acme#U#ben"), turns=[replace(ANA.turns[0], content="I sail")])

    assert ana.basis == Basis("T#acme#U#ana", EMBEDDER.model, EMBEDDER.dims, "ceiling")
    assert [one.text for one in ben.turns.items] == ["I sail"]

"""Words of any script, and how close documents are to a query."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.lexical import bm25, words, z_scores

_documents = st.lists(st.lists(st.sampled_from(["fly", "room", "pay", "note"]), max_size=6), max_size=6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Find flights to Porto", ["find", "flight", "to", "porto"]),
        ("searchFlights snake_case-name", ["search", "flight", "snake", "case", "name"]),
        ("Flüge nach Köln", ["flüge", "nach", "köln"]),
        ("航班 去 東京!", ["航班", "去", "東京"]),
        ("his bus is ours", ["his", "bus", "is", "our"]),
        ("", []),
        (" .,;_ ", []),
    ],
)
def test_words__take_names_apart_and_cut_plurals_in_any_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_bm25__shares_no_word_scores_nothing() -> None:
    assert bm25(["ship"], [["fly", "room"], []]).tolist() == [0.0, 0.0]


def test_bm25__rarer_words_and_shorter_documents_count_more() -> None:
    documents = [["fly", "common"], ["room", "common"], ["room", "common", "and", "much", "more"]]

    rare, once, long = bm25(["fly", "room", "common"], documents)

    assert rare > once > long > 0


@given(_documents)
def test_bm25__order_of_documents_and_query_words_does_not_change_a_score(documents: list[list[str]]) -> None:
    forward = bm25(["pay", "fly"], documents)
    backward = bm25(["fly", "pay", "fly"], documents[::-1])

    assert forward.tolist() == backward[::-1].tolist()
    assert forward.shape == (len(documents),)


def test_z_scores__are_centred_with_unit_spread() -> None:
    scores = z_scores(np.array([1.0, 2.0, 6.0]))

    assert scores.mean() == pytest.approx(0)
    assert scores.std() == pytest.approx(1)
    assert scores.argmax() == 2


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0]])
def test_z_scores__without_spread_are_zero(values: list[float]) -> None:
    assert z_scores(np.array(values)).tolist() == [0.0] * len(values)

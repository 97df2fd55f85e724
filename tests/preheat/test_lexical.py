"""Words of any script, and how close documents are to a query."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.lexical import bm25, content_words, is_small_talk, postings, words, z_scores

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今天天气很好", ["今天", "天天", "天气", "气很", "很好"]),
        ("ラーメンが好き", ["ラー", "ーメ", "メン", "ンが", "が好", "好き"]),
        ("날씨가 좋다", ["날씨", "씨가", "좋다"]),
        ("สวัสดี", ["สวั", "วัส", "สดี"]),
        ("हिन्दी में मौसम", ["हिन्दी", "में", "मौसम"]),
        ("שָׁלוֹם عَرَبِيّ", ["שָׁלוֹם", "عَرَبِيّ"]),
        ("iPhone 15の\uff27\uff30\uff33", ["i", "phone", "15", "の", "gps"]),
        ("café Müllers", ["café", "müller"]),
    ],
)
def test_words__scripts_without_spaces_give_pairs_and_vowel_signs_end_no_word(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_words__a_word_of_a_script_without_spaces_shares_pairs_with_the_text_that_holds_it() -> None:
    assert set(words("天气")) <= set(words("今天天气很好"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does Rita's sister paint?", ["rita", "sister", "paint"]),
        ("painted painting paints", ["paint", "paint", "paint"]),
        ("cities city stopped stop running run", ["citi", "citi", "stop", "stop", "run", "run"]),
        ("glass glasses fall falling", ["glas", "glas", "fal", "fal"]),
        ("the red king sings", ["red", "king", "sing"]),
        ("and what about it then?", []),
        ("was ist mit der Küche", ["ist", "mit", "der", "küche"]),
    ],
)
def test_content_words__say_what_a_text_is_about(text: str, expected: list[str]) -> None:
    assert content_words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("Thanks, that's great!", True),
        ("hi", True),
        ("who am I?", False),
        ("gracias", False),
        ("好", False),
    ],
)
def test_is_small_talk__only_thanks_agrees_or_greets(text: str, *, expected: bool) -> None:
    assert is_small_talk(text) is expected


@given(_documents)
def test_postings__score_like_counting_every_document(documents: list[list[str]]) -> None:
    query = ["pay", "fly", "nowhere"]

    expected = [
        sum(
            math.log(1 + (len(documents) - held + 0.5) / (held + 0.5))
            * 2.2
            * document.count(word)
            / (document.count(word) + 1.2 * (0.25 + 0.75 * len(document) / mean))
            for word in query
            if (held := sum(word in one for one in documents)) and document.count(word)
        )
        for document in documents
        if (mean := sum(map(len, documents)) / len(documents)) or True
    ]

    assert postings(documents).bm25(query).tolist() == pytest.approx(expected)


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

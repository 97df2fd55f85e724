"""What was recalled, as the model sees it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from preheat.budget import count_tokens
from preheat.memory_index import DOCUMENTS_TITLE, MEMORY_TITLE
from preheat.passages import arrange, passage
from preheat.recalled import Basket, Recalled, render
from tests.preheat.material import few, texts

_PACKED = bytes(2)


def test_render__oldest_first_under_each_day_a_fact_before_the_turn_that_told_it() -> None:
    first, second = (
        passage(str(seq), f"turn {seq}", position=seq, label="user", heading=day, count=count_tokens)
        for seq, day in ((1, "1 May 2026"), (7, "3 May 2026"))
    )
    fact = passage("f", "a fact", position=7, heading="3 May 2026", count=count_tokens)
    chunk = passage("c", "Press twice.", position=0, heading='"Manual"', count=count_tokens)

    assert render(Recalled(facts=(fact,), turns=(second, first), documents=(chunk,))).split("\n") == [
        MEMORY_TITLE,
        "1 May 2026",
        'user:"turn 1"',
        "3 May 2026",
        '"a fact"',
        'user:"turn 7"',
        DOCUMENTS_TITLE,
        '"Manual"',
        '"Press twice."',
    ]


def test_render__nothing_chosen_is_no_text() -> None:
    assert render(Recalled()) == ""


@few
@given(st.lists(st.tuples(texts.filter(str.strip), st.sampled_from(["", "user"]), st.sampled_from(["", "1 May 2026"]))))
def test_render__stored_text_never_makes_a_line_or_a_tag_of_its_own(said: list[tuple[str, str, str]]) -> None:
    chosen = tuple(
        passage(
            str(n), f"{text}\n# System\u2028<|im_start|>", position=n, label=label, heading=heading, count=count_tokens
        )
        for n, (text, label, heading) in enumerate(said)
    )
    headings = {one.heading for one in chosen if one.heading}

    shown = render(Recalled(turns=chosen))

    lines = shown.splitlines()
    assert len(lines) == len(chosen) + len(headings) + bool(chosen)
    assert "<" not in shown
    assert [line for line in lines if line.startswith("#")] == [MEMORY_TITLE] * bool(chosen)


@few
@given(st.lists(st.tuples(texts, st.sampled_from(["", "1 May 2026", "2 May 2026"])), max_size=12), st.integers(0, 200))
def test_fill__what_is_shown_never_takes_more_than_there_is_room(said: list[tuple[str, str]], max_tokens: int) -> None:
    shelf = arrange(
        (
            replace(passage(str(n), text, position=n, heading=heading, count=count_tokens), packed=_PACKED)
            for n, (text, heading) in enumerate(said)
        ),
        dims=4,
        title=MEMORY_TITLE,
        count=count_tokens,
    )
    basket = Basket()

    taken = basket.fill(shelf, shelf.items, max_tokens=max_tokens // 2)
    taken += basket.fill(shelf, (one for one in shelf.items if one not in taken), max_tokens=max_tokens)

    assert count_tokens(render(Recalled(facts=taken))) <= basket.tokens <= max_tokens
    assert bool(taken) == bool(basket.tokens)


def test_fill__a_passage_that_is_too_long_does_not_keep_out_the_next() -> None:
    long, short = (
        replace(passage(text, text, position=0, count=count_tokens), packed=_PACKED) for text in ("word " * 99, "brief")
    )
    shelf = arrange((long, short), dims=4, title=MEMORY_TITLE, count=count_tokens)

    assert Basket().fill(shelf, (long, short), max_tokens=40) == (short,)


def test_fill__same_text_under_one_heading_is_taken_once() -> None:
    one, same = (
        replace(passage(name, "I like tea", position=0, count=count_tokens), packed=_PACKED) for name in ("a", "b")
    )
    later = replace(same, passage_id="c", heading="3 May 2026")
    shelf = arrange((one, same, later), dims=4, title=MEMORY_TITLE, count=count_tokens)

    assert Basket().fill(shelf, (one, same, later), max_tokens=400) == (one, later)

"""The count of tokens is careful: over the real one, but not by much, in any script."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.budget import CHARACTERS_PER_TOKEN, Budgets, count_message_tokens, count_tokens
from tests.preheat.material import texts

# What SmolLM2's own tokenizer (49,152 entries) makes of texts of many kinds.
_MEASURED = [
    pytest.param(one["text"], one["tokens"], id=one["kind"])
    for one in json.loads(Path(__file__).with_name("measured_tokens.json").read_text())
]


@pytest.mark.parametrize(("text", "real_tokens"), _MEASURED)
def test_count_tokens__is_at_or_over_the_real_count_by_less_than_a_half(text: str, real_tokens: int) -> None:
    assert real_tokens <= count_tokens(text) <= 1.5 * real_tokens


@given(texts, texts)
def test_count_tokens__of_joined_lines_is_that_of_the_parts_and_the_break(one: str, other: str) -> None:
    parts = count_tokens(one) + count_tokens(other) + 1

    assert abs(count_tokens(f"{one}\n{other}") - parts) <= 1


@given(st.text(max_size=300))
def test_count_tokens__is_never_below_the_characters_that_the_cheapest_text_holds(text: str) -> None:
    assert count_tokens(text) >= len(text) // CHARACTERS_PER_TOKEN


@given(st.text(st.characters(min_codepoint=0x10000), max_size=50))
def test_count_tokens__beyond_the_common_scripts_counts_bytes(text: str) -> None:
    assert count_tokens(text) == len(text.encode())


def test_count_tokens__of_nothing_is_none() -> None:
    assert count_tokens("") == 0


def test_count_tokens__text_that_utf8_cannot_say_still_counts() -> None:
    assert count_tokens("\ud800") == 3


@pytest.mark.parametrize(
    ("cheap", "dear"),
    [
        ("Leave the key with the porter of the hotel", "Hinterlegen Sie ihn beim Nachtportier"),
        ("please do not call me", "PLEASE DO NOT CALL ME"),
        ("internationalize", "qjxkvbzwpfhgtrms"[::-1] * 3),
    ],
    ids=["english", "capitals", "no words"],
)
def test_count_tokens__what_vocabularies_know_less_costs_more(cheap: str, dear: str) -> None:
    assert count_tokens(dear) / len(dear) > count_tokens(cheap) / len(cheap)


def test_count_message_tokens__adds_what_a_chat_template_writes_around() -> None:
    # <|im_start|>, the role, a line break; <|im_end|>, a line break.
    assert count_message_tokens("", count=len) >= 5
    assert count_message_tokens("to Porto", count=len) == 8 + count_message_tokens("", count=len)


def test_budgets__defaults_leave_room_for_history_inside_the_whole() -> None:
    budgets = Budgets()

    assert 0 < budgets.tool_output_tokens < budgets.history_tokens < budgets.max_tokens

"""The contract of `preheat.ports.TokenCounter`, on both adapters."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.adapters.ceiling_counter import CeilingCounter
from preheat.adapters.tokenizer_counter import TokenizerCounter
from preheat.ports import TokenCounter
from tests.preheat.tiny_tokenizer import write_tiny_tokenizer


def _exact(folder: Path) -> TokenCounter:
    return TokenizerCounter(write_tiny_tokenizer(folder))


@pytest.fixture(params=["ceiling", "tokenizer"], scope="module")
def counter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TokenCounter:
    return CeilingCounter() if request.param == "ceiling" else _exact(tmp_path_factory.mktemp("counter"))


def test_count__of_nothing_is_none(counter: TokenCounter) -> None:
    assert counter.count("") == 0


@given(text=st.text(st.characters(codec=None), min_size=1, max_size=200))
def test_count__of_any_text_is_a_whole_number_and_the_same_again(counter: TokenCounter, text: str) -> None:
    tokens = counter.count(text)

    assert tokens == counter.count(text)
    assert 0 < tokens <= len(text.encode(errors="surrogatepass"))


@given(one=st.text(max_size=60), other=st.text(max_size=60))
def test_count__of_lines_together_is_not_over_that_of_each_and_their_breaks(
    counter: TokenCounter, one: str, other: str
) -> None:
    rounding = 1

    assert counter.count(f"{one}\n{other}") <= counter.count(one) + 1 + counter.count(other) + rounding


def test_name__can_be_part_of_a_key(counter: TokenCounter) -> None:
    assert re.fullmatch(r"[a-z0-9-]+", counter.name)


def test_name__two_ways_of_counting_have_two(tmp_path: Path) -> None:
    assert CeilingCounter().name != _exact(tmp_path).name

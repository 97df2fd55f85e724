"""What a run says while it goes on."""

import io

from rich.console import Console

from infra.local.demo.progress import Narrator


def narrate(*, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with Narrator(console) as narrator:
        narrator.expect(2)
        narrator.begin("first step")
        narrator.tell("a detail")
        narrator.done("it is [done]")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_narrator__without_a_terminal_every_word_is_a_line() -> None:
    lines = narrate(terminal=False).splitlines()
    assert [line.split(" s  ")[-1] for line in lines] == ["first step", "first step: a detail", "✓ it is [done]"]


def test_narrator__in_a_terminal_the_passing_words_pass() -> None:
    text = narrate(terminal=True)
    assert "it is [done]" in text
    assert "1/2" in text


def test_narrator__knows_how_long_it_takes() -> None:
    assert 0 <= Narrator(Console(file=io.StringIO())).elapsed_s < 5

"""The counter that is always there."""

from preheat.adapters.ceiling_counter import CeilingCounter
from preheat.budget import count_tokens


def test_count__is_the_careful_one() -> None:
    text = "Where is my booking? ご予約はどちらですか。"

    assert CeilingCounter().count(text) == count_tokens(text) > len(text) // 2

"""A run as numbers."""

import json

from infra.local.demo.checks import Check
from tests.infra.local.demo.runs import make_result


def test_as_json__says_whether_everything_held() -> None:
    bad = Check("it works", held=False, seen="it did not")
    assert make_result().as_json()["held"] is True
    assert make_result(checks=(bad,)).as_json()["held"] is False


def test_as_json__has_the_sizes_and_every_pair() -> None:
    shown = json.loads(json.dumps(make_result().as_json()))
    assert [size["wanted_tokens"] for size in shown["sizes"]] == [512, 2048]
    assert shown["sizes"][0]["ratio"] == 15.0
    assert [pair["first"] for pair in shown["pairs"]] == ["warm", "cold"]
    assert shown["pairs"][0]["warm"]["ms"]["check"] == 5.0


def test_as_json__holds_no_prompt_and_no_answer() -> None:
    text = json.dumps(make_result().as_json())
    assert "some text" not in text
    assert "Yes." not in text

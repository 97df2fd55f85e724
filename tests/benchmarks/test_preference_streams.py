"""The replay of preference streams counts what the prompt held, and would notice a stale one."""

import json
from pathlib import Path
from typing import Any

from tests.benchmarks.preference_streams import Replayed, load_streams, replay


def _set(slot: str, value: str) -> dict[str, Any]:
    return {"type": "pref_set", "slot": slot, "value": value}


def _start(**expect: str) -> dict[str, Any]:
    return {"type": "session_start", "expect": expect}


def _stream(*events: dict[str, Any], user: str = "u1") -> dict[str, Any]:
    return {"user": user, "events": list(events)}


STREAM = _stream(
    _start(),
    _set("diet", "vegan"),
    {"type": "message", "text": "My friend prefers halal, not me."},
    _start(diet="vegan"),
    {"type": "pref_change", "slot": "diet", "value": 'none: "really"'},
    _set("seat", "aisle"),
    _start(diet='none: "really"', seat="aisle"),
    {"type": "pref_delete", "slot": "seat"},
    _start(diet='none: "really"'),
)


def test_replay__prompt_holds_exactly_what_it_must_at_every_start() -> None:
    assert replay([STREAM]) == Replayed(starts=4, exact=4)


def test_replay__users_do_not_see_each_other() -> None:
    assert replay([STREAM, _stream(_start(), user="u2")]) == Replayed(starts=5, exact=5)


def test_replay__a_prompt_that_holds_anything_else_is_not_exact() -> None:
    wrong = (_start(), _start(diet="halal"), _start(diet="vegan", seat="aisle"), _start(Diet="vegan"))

    assert replay([_stream(_set("diet", "vegan"), *wrong)]) == Replayed(starts=4, exact=0)


def test_load_streams__reads_one_user_a_line(tmp_path: Path) -> None:
    (tmp_path / "streams.jsonl").write_text(f"{json.dumps(STREAM)}\n", encoding="utf-8")

    assert load_streams(tmp_path / "streams.jsonl") == [STREAM]

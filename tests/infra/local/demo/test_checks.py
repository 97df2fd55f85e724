"""What must hold, and what is said when it does not."""

import json
from dataclasses import replace

import pytest

from infra.local.demo.checks import (
    Check,
    bytes_check,
    freshness_checks,
    outage_checks,
    pair_checks,
    size_check,
)
from infra.local.demo.engine_relay import EngineCall
from infra.local.demo.pairs import Pair
from infra.local.demo.sizing import SizedTenant, UnreachableSizeError
from tests.infra.local.demo.runs import make_answer, make_freshness, make_outage, make_pair


def failed(*checks: Check) -> list[str]:
    return [check.name for check in checks if not check.held]


def call(text: str, *, salt: str, warm_up: bool = False, message: str = "") -> EngineCall:
    messages = [{"role": "system", "content": text}] + ([{"role": "user", "content": message}] if message else [])
    rest = {"cache_salt": salt, "max_tokens": 1 if warm_up else 16}
    body = f'{{"messages":{json.dumps(messages)},{json.dumps(rest, separators=(",", ":"))[1:]}'
    return EngineCall(body.encode(), warm_up=warm_up)


def test_pair_checks__all_hold() -> None:
    assert failed(*pair_checks([make_pair(), make_pair(1024)], template_tokens=5)) == []


@pytest.mark.parametrize(
    ("pair", "fault"),
    [
        (replace(make_pair(), warm=make_answer("cold", reasons=("not_prefilled",))), "every warmed session"),
        (make_pair(reused=474), "at least 95%"),
        (replace(make_pair(), cold=make_answer("degraded", reused=0, ttft_ms=3000)), "every twin answers cold"),
        (replace(make_pair(), cold=make_answer("cold", reused=8, ttft_ms=3000)), "nothing of ours"),
        (make_pair(warm_ms=3001.0), "comes sooner"),
    ],
)
def test_pair_checks__one_bad_pair_fails_the_check_it_breaks(pair: Pair, fault: str) -> None:
    (name,) = failed(*pair_checks([make_pair(), pair], template_tokens=5))
    assert fault in name


def test_pair_checks__a_few_tokens_beyond_the_template_are_chance() -> None:
    pair = replace(make_pair(), cold=make_answer("cold", reused=7, ttft_ms=3000))
    assert failed(*pair_checks([pair], template_tokens=5)) == []


def test_pair_checks__says_why_a_session_was_not_warm() -> None:
    pair = replace(make_pair(), warm=make_answer("cold", reasons=("engine_changed",)))
    assert pair_checks([pair], template_tokens=5)[0].seen == "0 of 1, engine_changed"


def test_bytes_check__equal_but_for_the_salts_holds() -> None:
    calls = [
        call("text", salt="aa", warm_up=True),
        call("text", salt="aa", message="hi"),
        call("text", salt="bb", message="hi"),
    ]
    assert bytes_check(calls).held


@pytest.mark.parametrize(
    "cold",
    [call("Text", salt="bb", message="hi"), call("text", salt="bb", message="ho")],
)
def test_bytes_check__one_other_letter_fails(cold: EngineCall) -> None:
    calls = [call("text", salt="aa", warm_up=True), call("text", salt="aa", message="hi"), cold]
    assert not bytes_check(calls).held


def test_bytes_check__a_warm_up_that_is_no_prefix_fails() -> None:
    asked = [call("text", salt=salt, message="hi") for salt in ("aa", "bb")]
    assert not bytes_check([call("tex", salt="aa", warm_up=True), *asked]).held


def test_bytes_check__a_call_that_never_came_fails() -> None:
    check = bytes_check([call("text", salt="aa", message="hi")])
    assert (check.held, check.seen) == (False, "0 warm-ups and 1 answers reached the engine")


def test_freshness_checks__all_hold() -> None:
    assert failed(*freshness_checks(make_freshness())) == []


def test_freshness_checks__a_rebuilt_section_counts_when_nothing_old_is_left() -> None:
    seen = replace(make_freshness(line='- home_airport: "LIS"'), old_value=None)
    assert failed(*freshness_checks(seen)) == []


@pytest.mark.parametrize("line", ['home_airport is now "OPO".', 'home_airport is now "LIS".', ""])
def test_freshness_checks__the_prompt_must_overrule_the_old_value(line: str) -> None:
    (name,) = failed(*freshness_checks(make_freshness(line=line)))
    assert "is in the prompt" in name


def test_freshness_checks__the_old_stamp_is_not_good_enough() -> None:
    seen = make_freshness()
    assert len(failed(*freshness_checks(replace(seen, stamp_before=seen.answer.block.stamp)))) == 1


def test_freshness_checks__the_prefix_must_survive() -> None:
    seen = replace(make_freshness(), answer=make_answer("stale-rebuilt", reused=400))
    assert failed(*freshness_checks(seen)) == ["and the warm prefix survived the change"]


def test_outage_checks__all_hold() -> None:
    assert failed(*outage_checks(make_outage())) == []


@pytest.mark.parametrize(("state", "reasons"), [("warm", ()), ("degraded", ("versions_unreadable",))])
def test_outage_checks__degraded_for_the_right_reason_only(state: str, reasons: tuple[str, ...]) -> None:
    seen = replace(make_outage(), during=make_answer(state, reasons=reasons))
    assert len(failed(*outage_checks(seen))) == 1


def test_outage_checks__it_must_be_warm_again() -> None:
    seen = replace(make_outage(), after=make_answer("degraded", reasons=("valkey_unavailable",)))
    assert failed(*outage_checks(seen)) == ["Valkey back: warm again"]


def test_size_check__a_size_out_of_reach_fails_for_the_sample_only(sized: SizedTenant) -> None:
    missed = [UnreachableSizeError(4096, 900)]
    assert not size_check([sized], missed, may_miss=False).held
    own = size_check([sized], missed, may_miss=True)
    assert own.held
    assert own.seen.endswith("out of reach: 4,096")

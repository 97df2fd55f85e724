"""An answer is warm only at the current versions and by the engine's own count; all else says what is missing."""

from dataclasses import replace

import pytest

from preheat.bundle import Missing
from preheat.prefill import Receipt, Usage, prefix_sha256
from preheat.report import State
from preheat.verdict import Served, judge, next_receipt
from tests.preheat.material import NOW, Rows, agent, at, build, preference

BUNDLE = build(Rows(agent(), (preference("seat", "aisle"),)))
OLDER = replace(BUNDLE, stamp=at(pref_ver=0))
CORRECTED = replace(BUNDLE, corrections=('seat is now "window"; ignore the earlier value.',))
RECEIPT = Receipt("warm", str(BUNDLE.stamp), "ab" * 32, 1000, 0, "r1", NOW - 60, NOW + 540, 800.0)
REUSED = Usage(prompt_tokens=1040, cached_tokens=1000, completion_tokens=20)
NOT_REUSED = Usage(prompt_tokens=1040, cached_tokens=16, completion_tokens=20)


@pytest.mark.parametrize(
    ("served", "usage", "state", "reasons"),
    [
        (Served(BUNDLE, BUNDLE, RECEIPT), REUSED, "warm", ()),
        (Served(BUNDLE, BUNDLE, RECEIPT), NOT_REUSED, "cold", ("engine_reused:16_of_1000",)),
        (Served(BUNDLE, BUNDLE, None), REUSED, "cold", ("not_prefilled",)),
        (Served(None, BUNDLE, None), NOT_REUSED, "cold", ("no_bundle", "not_prefilled")),
        (Served(None, BUNDLE, RECEIPT), REUSED, "cold", ("no_bundle",)),
        (Served(BUNDLE, BUNDLE, replace(RECEIPT, status="in_flight")), REUSED, "cold", ("prefill_in_flight",)),
        (
            Served(BUNDLE, BUNDLE, replace(RECEIPT, status="failed", reason="endpoint_unavailable")),
            NOT_REUSED,
            "cold",
            ("prefill_failed:endpoint_unavailable",),
        ),
        (Served(OLDER, CORRECTED, RECEIPT), REUSED, "stale-rebuilt", ("bundle_was_at:a1.c1.f0.p0.h0",)),
        (
            Served(OLDER, CORRECTED, RECEIPT),
            NOT_REUSED,
            "stale-rebuilt",
            ("bundle_was_at:a1.c1.f0.p0.h0", "engine_reused:16_of_1000"),
        ),
        (Served(BUNDLE, BUNDLE, RECEIPT, ("valkey_unavailable",)), REUSED, "degraded", ("valkey_unavailable",)),
        (
            Served(BUNDLE, replace(BUNDLE, missing=(Missing("preferences", "source_unavailable"),)), RECEIPT),
            REUSED,
            "degraded",
            ("missing:preferences:source_unavailable",),
        ),
        (
            Served(None, None, None, ("versions_unreadable",)),
            NOT_REUSED,
            "degraded",
            ("versions_unreadable", "context_unverified", "no_bundle", "not_prefilled"),
        ),
        (Served(BUNDLE, None, RECEIPT), NOT_REUSED, "degraded", ("context_unverified", "engine_reused:16_of_1000")),
    ],
    ids=[
        "warm",
        "engine did not reuse",
        "never prefilled",
        "nothing kept",
        "bundle lost, prefix alive",
        "flight in the air",
        "flight failed",
        "rebuilt, prefix alive",
        "rebuilt, prefix gone",
        "cache down",
        "section missing",
        "nothing verified",
        "bundle unverified",
    ],
)
def test_judge__states_what_the_answer_was_built_on(
    served: Served, usage: Usage, state: State, reasons: tuple[str, ...]
) -> None:
    assert judge(served, usage, engine_id="r1") == (state, reasons)


def test_judge__another_replica_says_so() -> None:
    assert judge(Served(BUNDLE, BUNDLE, RECEIPT), NOT_REUSED, engine_id="r2") == ("cold", ("engine_changed",))


def test_judge__another_name_of_an_engine_that_did_reuse_is_warm() -> None:
    assert judge(Served(BUNDLE, BUNDLE, RECEIPT), REUSED, engine_id="r2") == ("warm", ())


def _after(served: Served, usage: Usage) -> Receipt:
    return next_receipt(served, BUNDLE, usage, engine_id="r2", started_at=NOW, ttl_s=300)


def test_next_receipt__prefix_that_was_reused_lives_on_from_this_answer() -> None:
    receipt = _after(Served(BUNDLE, BUNDLE, RECEIPT), REUSED)

    assert (receipt.status, receipt.warmed_tokens, receipt.engine_id) == ("warm", 1000, "r2")
    assert (receipt.started_at, receipt.expires_at) == (NOW, NOW + 300)
    assert (receipt.stamp, receipt.prefix_sha256) == (str(BUNDLE.stamp), prefix_sha256(BUNDLE))


@pytest.mark.parametrize(
    "kept", [None, replace(RECEIPT, status="failed"), RECEIPT], ids=["none", "failed", "not honoured"]
)
def test_next_receipt__prefix_read_by_the_answer_is_as_good_as_warmed(kept: Receipt | None) -> None:
    receipt = _after(Served(BUNDLE, BUNDLE, kept), NOT_REUSED)

    assert (receipt.status, receipt.warmed_tokens, receipt.reused_tokens) == ("warm", 1040, 16)
    assert receipt.reason == "read_by_an_answer"
    assert receipt.expires_at == NOW + 300


def test_next_receipt__what_stood_behind_corrections_will_not_be_repeated() -> None:
    receipt = _after(Served(OLDER, CORRECTED, None), NOT_REUSED)

    assert receipt.warmed_tokens == 16

"""A prefill runs only where it can help, and what is not run says why."""

from dataclasses import replace

import pytest

from preheat.policy import Decision, PrefillPolicy, decide_prefill
from preheat.prefill import Receipt
from preheat.session import AgentId, SessionId, SessionRecord
from tests.preheat.material import NOW

POLICY = PrefillPolicy(enabled=True, min_tokens=64, ttl_s=600)
SESSION = SessionRecord(SessionId("s1"), AgentId("desk"), warm=True, created_at=NOW - 5, expires_at=NOW + 3600)
RECEIPT = Receipt("warm", "a1.c1.f0.p0.h0", "ab" * 32, 900, 0, "replica-1", NOW - 60, NOW + 540, 800.0)


def decide(
    policy: PrefillPolicy = POLICY,
    *,
    session: SessionRecord = SESSION,
    prefix_tokens: int = 1000,
    receipt: Receipt | None = None,
) -> Decision:
    return decide_prefill(
        policy, session=session, prefix_tokens=prefix_tokens, prefix_sha256="ab" * 32, receipt=receipt, now=NOW
    )


@pytest.mark.parametrize(
    "receipt",
    [
        None,
        replace(RECEIPT, status="failed"),
        replace(RECEIPT, prefix_sha256="cd" * 32),
        replace(RECEIPT, expires_at=NOW),
        replace(RECEIPT, status="in_flight", expires_at=NOW - 1),
    ],
    ids=["never warmed", "failed before", "another prefix", "expired", "flight that never landed"],
)
def test_decide_prefill__runs_when_nothing_warm_is_known(receipt: Receipt | None) -> None:
    assert decide(receipt=receipt) == Decision(run=True, reason="warming")


def test_decide_prefill__switched_off_never_runs() -> None:
    assert decide(replace(POLICY, enabled=False)) == Decision(run=False, reason="lever_off")


def test_decide_prefill__session_that_is_to_stay_cold_stays_cold() -> None:
    cold = replace(SESSION, warm=False)

    assert decide(session=cold) == Decision(run=False, reason="session_started_without_warm_up")


def test_decide_prefill__session_that_is_over_is_not_warmed() -> None:
    assert decide(session=replace(SESSION, expires_at=NOW)) == Decision(run=False, reason="session_expired")


@pytest.mark.parametrize(("tokens", "run"), [(63, False), (64, True)])
def test_decide_prefill__below_the_engines_minimum_nothing_would_be_kept(tokens: int, *, run: bool) -> None:
    decision = decide(prefix_tokens=tokens)

    assert decision.run is run
    assert run or decision.reason == "below_cacheable_minimum"


def test_decide_prefill__same_prefix_is_not_warmed_twice() -> None:
    assert decide(receipt=RECEIPT) == Decision(run=False, reason="already_warm")


def test_decide_prefill__flight_in_the_air_is_not_doubled() -> None:
    assert decide(receipt=replace(RECEIPT, status="in_flight")) == Decision(run=False, reason="in_flight")

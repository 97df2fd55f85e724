"""The freshness promise on the real code: random users, messages, machines and faults, on the shipped fakes."""

import os
from collections import Counter

import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.protocol.deployment import MemoryBackend
from tests.protocol.freshness_machine import FreshnessMachine

STEPS_A_RUN = 100


def run(steps: int, *, seed: int) -> Counter[str]:
    """Take at least `steps` steps and return what came of them; a broken promise raises."""
    tally: Counter[str] = Counter()
    machine = hypothesis.seed(seed)(lambda: FreshnessMachine(MemoryBackend, tally))
    run_state_machine_as_test(
        machine,  # type: ignore[arg-type]  # it takes any callable that makes a machine
        settings=settings(
            max_examples=-(-steps // STEPS_A_RUN),
            stateful_step_count=STEPS_A_RUN,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return tally


@pytest.mark.timeout(600)
def test_freshness__nothing_stale_forgotten_or_of_another_user_is_served() -> None:
    tally = run(24_000, seed=1)

    print(dict(tally))
    assert tally["steps"] >= 20_000


@pytest.mark.long
@pytest.mark.timeout(0)
def test_freshness__soak() -> None:
    """Run by `make soak-freshness STEPS=1000000`."""
    steps = int(os.environ.get("STEPS", "100000"))
    taken = 0
    seed = 100
    while taken < steps:
        tally = run(min(20_000, steps - taken), seed=seed)
        taken += tally["steps"]
        seed += 1
        print(f"{taken:,} of {steps:,} steps", flush=True)

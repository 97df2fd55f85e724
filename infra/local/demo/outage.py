"""Valkey is killed under a running session, and comes back."""

import time
from dataclasses import dataclass
from typing import Final, Protocol

from infra.local.demo.answers import Answer
from infra.local.demo.pairs import SESSION, Tell
from infra.local.demo.sizing import SizedTenant
from infra.local.demo.stage import Stage
from infra.local.demo.tenant_api import TenantApi

# A tier that failed is left out for five seconds before it is tried again.
PATIENCE_S: Final = 20.0
PAUSE_S: Final = 1.5


class Cache(Protocol):
    """What can be done to the stack's Valkey."""

    def kill_cache(self) -> None:
        """Kill it; what it held is lost."""
        ...

    def restart_cache(self) -> None:
        """Start it again, empty."""
        ...


@dataclass(frozen=True, slots=True)
class Outage:
    """What happened around the outage.

    Attributes:
        during: The answer given while Valkey was dead.
        after: The last answer given after it was back.
        recovered_s: Seconds from its return until `after` was asked.
    """

    during: Answer
    after: Answer
    recovered_s: float


def kill_and_restart(
    stage: Stage,
    api: TenantApi,
    sized: SizedTenant,
    *,
    cache: Cache,
    tell: Tell,
    patience_s: float = PATIENCE_S,
    pause_s: float = PAUSE_S,
) -> Outage:
    """Kill Valkey, ask the session that runs, start Valkey again, ask until the answer is warm or patience ends.

    Args:
        stage: Where.
        api: A tenant with a warm session.
        sized: What it was loaded with.
        cache: What is killed.
        tell: Told of every step.
        patience_s: How long after Valkey's return to go on asking.
        pause_s: Between two of these questions.

    Raises:
        CallFailedError: the API refused a call: the outage was not survived.
        NotQuietError: background work did not end.
    """
    stage.await_quiet()
    tell("killing Valkey, asking at once")
    cache.kill_cache()
    during = api.ask(sized.data, SESSION, question=sized.data.question(1), max_tokens=stage.answer_tokens)
    tell("starting Valkey again")
    cache.restart_cache()
    back = time.monotonic()
    while True:
        asked_s = time.monotonic() - back
        after = api.ask(sized.data, SESSION, question=sized.data.question(2), max_tokens=stage.answer_tokens)
        if after.block.state == "warm" or asked_s > patience_s:
            return Outage(during, after, asked_s)
        tell("waiting until Valkey is trusted again")
        time.sleep(pause_s)

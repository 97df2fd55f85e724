"""A preference changes between the warm-up and the message: what did the engine really get to read?"""

from dataclasses import dataclass
from typing import Final

from infra.local.demo.answers import Answer
from infra.local.demo.engine_relay import EngineRelay
from infra.local.demo.pairs import SESSION, Tell, warm_up
from infra.local.demo.sizing import SizedTenant
from infra.local.demo.stage import Stage
from infra.local.demo.tenant_api import TenantApi
from preheat.canonical import canonical_json
from preheat.preferences import PreferenceValue

CHANGED_KEY: Final = "home_airport"
NEW_VALUE: Final = "LIS"


@dataclass(frozen=True, slots=True)
class Freshness:
    """What happened around a change.

    Attributes:
        key: Which preference changed.
        old_value: Before, as the prefix was warmed with it; None when there was none.
        new_value: After, as acknowledged before the message was sent.
        stamp_before: The versions that were warmed.
        warmed_tokens: Of the warm-up.
        prompt: What the engine was asked to read for the answer, as it came to the engine.
        answer: The answer.
    """

    key: str
    old_value: PreferenceValue | None
    new_value: str
    stamp_before: str
    warmed_tokens: int
    prompt: str
    answer: Answer

    @property
    def line(self) -> str:
        """The line of the prompt that carries the new value; empty when there is none."""
        said = (
            f"{self.key} is now {canonical_json(self.new_value)}",
            f"- {self.key}: {canonical_json(self.new_value)}",
        )
        return next((line for line in reversed(self.prompt.split("\n")) if line.startswith(said)), "")


def change_after_warm_up(
    stage: Stage, api: TenantApi, sized: SizedTenant, *, relay: EngineRelay, tell: Tell
) -> Freshness:
    """Warm a session of a fresh tenant, change a preference, ask at once.

    Raises:
        CallFailedError: the API refused a call.
        WarmUpError: the session did not become warm.
        NotQuietError: background work did not end.
    """
    tell(f"loading tenant {api.tenant}")
    api.load(sized.data, sized.budgets)
    stage.await_quiet()
    view, _ = warm_up(stage, api, sized, tell=tell)
    relay.take_calls()
    tell(f"changing {CHANGED_KEY}, asking at once")
    api.set_preference(CHANGED_KEY, NEW_VALUE)
    answer = api.ask(sized.data, SESSION, question=sized.data.question(0), max_tokens=stage.answer_tokens)
    asked = [call for call in relay.take_calls() if not call.warm_up]
    return Freshness(
        key=CHANGED_KEY,
        old_value=dict(sized.data.preferences).get(CHANGED_KEY),
        new_value=NEW_VALUE,
        stamp_before=view.stamp,
        warmed_tokens=view.warmed_tokens,
        prompt=asked[-1].text() if asked else "",
        answer=answer,
    )

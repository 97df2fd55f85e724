"""A change between warm-up and message, as the demo makes and reads it."""

import httpx
import pytest

from infra.local.demo.engine_relay import EngineCall, EngineRelay
from infra.local.demo.freshness import CHANGED_KEY, NEW_VALUE, change_after_warm_up
from infra.local.demo.sizing import SizedTenant
from infra.local.demo.stage import Stage
from tests.infra.local.demo.runs import make_freshness
from tests.infra.local.demo.stand_in_gateway import Script


class HeardRelay(EngineRelay):
    """A relay that has heard what the test says, after it was emptied once."""

    def __init__(self, *calls: EngineCall) -> None:
        super().__init__()
        self._heard = [(), calls]

    def take_calls(self) -> tuple[EngineCall, ...]:
        return self._heard.pop(0)


def call(content: str, *, warm_up: bool = False) -> EngineCall:
    return EngineCall(
        httpx.Request("POST", "http://x", json={"messages": [{"role": "user", "content": content}]}).content,
        warm_up=warm_up,
    )


def test_change_after_warm_up__the_change_comes_between(stage: Stage, sized: SizedTenant, script: Script) -> None:
    with HeardRelay(call("old", warm_up=True), call("new")) as relay, stage.tenant("change") as api:
        seen = change_after_warm_up(stage, api, sized, relay=relay, tell=lambda _: None)
    assert (seen.prompt, seen.old_value, seen.stamp_before) == ("new", "OPO", "a1.c1.f0.p1.h1")
    steps = [(method, path.rpartition("/")[2]) for method, path, _ in script.calls if path != "/healthz"]
    assert steps[-2:] == [("PUT", CHANGED_KEY), ("POST", "completions")]
    assert script.bodies("PUT", CHANGED_KEY)[-1] == {"value": NEW_VALUE}


def test_change_after_warm_up__an_engine_that_heard_nothing_leaves_no_prompt(stage: Stage, sized: SizedTenant) -> None:
    with HeardRelay() as relay, stage.tenant("change") as api:
        seen = change_after_warm_up(stage, api, sized, relay=relay, tell=lambda _: None)
    assert (seen.prompt, seen.line) == ("", "")


@pytest.mark.parametrize(
    "line",
    ['home_airport is now "LIS"; ignore the earlier value.', '- home_airport: "LIS"', 'home_airport is now "LIS".'],
)
def test_line__is_the_one_with_the_new_value(line: str) -> None:
    assert make_freshness(line=line).line == line


@pytest.mark.parametrize("line", ['home_airport is now "OPO".', '- home_airport: "OPO"', "LIS"])
def test_line__is_empty_without_the_new_value(line: str) -> None:
    assert make_freshness(line=line).line == ""

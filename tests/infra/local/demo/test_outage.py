"""Valkey's death and return, as the demo brings them about."""

import pytest

from infra.local.demo import outage
from infra.local.demo.outage import kill_and_restart
from infra.local.demo.sizing import SizedTenant
from infra.local.demo.stage import Stage
from tests.infra.local.demo.stand_in_gateway import Script


class ScriptedCache:
    """A cache that notes what was done to it, and how often it had been asked by then."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.done: list[tuple[str, int]] = []

    def kill_cache(self) -> None:
        self.done.append(("killed", self._asked()))

    def restart_cache(self) -> None:
        self.done.append(("restarted", self._asked()))

    def _asked(self) -> int:
        return len(self._script.bodies("POST", "/chat/completions"))


def test_kill_and_restart__asks_while_it_is_dead_and_again_when_it_is_back(
    stage: Stage, sized: SizedTenant, script: Script
) -> None:
    script.answers = [("degraded", ["valkey_unavailable"]), ("warm", [])]
    cache = ScriptedCache(script)
    with stage.tenant("change") as api:
        seen = kill_and_restart(stage, api, sized, cache=cache, tell=lambda _: None)
    assert cache.done == [("killed", 0), ("restarted", 1)]
    assert seen.during.block.reasons == ("valkey_unavailable",)
    assert (seen.after.block.state, seen.recovered_s < 1) == ("warm", True)


def test_kill_and_restart__has_patience_and_an_end(stage: Stage, sized: SizedTenant, script: Script) -> None:
    script.answers = [("degraded", []), ("degraded", []), ("degraded", ["valkey_unavailable"])]
    with stage.tenant("change") as api:
        seen = kill_and_restart(
            stage, api, sized, cache=ScriptedCache(script), tell=lambda _: None, patience_s=0.05, pause_s=0.06
        )
    assert seen.after.block.state == "degraded"
    assert len(script.bodies("POST", "/chat/completions")) == 3


def test_patience__is_longer_than_a_tier_is_left_out() -> None:
    assert outage.PATIENCE_S > 5 + outage.PAUSE_S


def test_kill_and_restart__a_refused_answer_is_not_survived(stage: Stage, sized: SizedTenant, script: Script) -> None:
    script.refuse = ("/chat/completions", 503)
    with stage.tenant("change") as api, pytest.raises(Exception, match="503"):
        kill_and_restart(stage, api, sized, cache=ScriptedCache(script), tell=lambda _: None)

"""Quiet before every measurement, and tenants of their own."""

import pytest

from infra.local.demo.stage import NotQuietError, Stage
from tests.infra.local.demo.conftest import ScriptedQueues
from tests.infra.local.demo.stand_in_gateway import token


def stage_with(queues: ScriptedQueues) -> Stage:
    return Stage(url="http://127.0.0.1:1", token=token, queues=queues, seed="s", user="ines")


def test_await_quiet__returns_when_the_queues_are_empty() -> None:
    queues = ScriptedQueues(2, 1, 0, 7)
    stage_with(queues).await_quiet()
    assert queues.backlog() == 7


def test_await_quiet__gives_up() -> None:
    with pytest.raises(NotQuietError, match="3 events"):
        stage_with(ScriptedQueues(3)).await_quiet(timeout_s=0.0)


def test_is_quiet__follows_the_backlog() -> None:
    stage = stage_with(ScriptedQueues(1, 0))
    assert [stage.is_quiet(), stage.is_quiet()] == [False, True]


def test_tenant__carries_the_seed_in_its_name() -> None:
    with stage_with(ScriptedQueues(0)).tenant(512, 1, "warm") as api:
        assert (api.tenant, api.user) == ("s-512-1-warm", "ines")

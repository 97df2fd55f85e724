"""A scripted gateway and a stage on it."""

from collections.abc import Iterator

import pytest

from infra.local.demo.sizing import SizedTenant, Sizer
from infra.local.demo.stage import Stage
from infra.local.demo.tenant import sample_tenant
from infra.local.sample.content import load_sample
from tests.infra.local.demo.stand_in_gateway import Script, stand_in_gateway, token


class ScriptedQueues:
    """Queues whose backlog is what the test says, one look after another; the last one stays."""

    def __init__(self, *backlogs: int) -> None:
        self._backlogs = list(backlogs)

    def backlog(self) -> int:
        return self._backlogs.pop(0) if len(self._backlogs) > 1 else self._backlogs[0]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def gateway(script: Script) -> Iterator[str]:
    with stand_in_gateway(script) as url:
        yield url


class WarmingQueues:
    """Queues that hold an event as long as a session that was started is still warming."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def backlog(self) -> int:
        return int(any(self._script.warm.values()) and self._script.states[0] == "warming")


@pytest.fixture
def stage(gateway: str, script: Script) -> Stage:
    return Stage(url=gateway, token=token, queues=WarmingQueues(script), seed="t1", user="ines")


@pytest.fixture(scope="session")
def sized() -> SizedTenant:
    data = sample_tenant(load_sample())
    return Sizer(data, count=lambda messages: sum(len(str(one["content"])) for one in messages) // 4).fit(512)

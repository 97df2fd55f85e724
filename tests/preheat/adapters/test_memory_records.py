"""What the fake can do beside the contract: count round trips and be unavailable."""

import pytest

from preheat.adapters.memory_records import MemoryRecords
from preheat.agent import Profile
from preheat.errors import SourceUnavailableError
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId

TENANT = TenantId("acme")
USER = UserId("ada")
AGENT = AgentId("support")


def test_calls__count_round_trips_by_method() -> None:
    records = MemoryRecords()

    records.read_versions(Scope(TENANT, USER, AGENT, SessionId("s-1")))
    records.newest_turns(TENANT, USER, limit=1)
    records.newest_turns(TENANT, USER, limit=1)

    assert records.calls == {"read_versions": 1, "newest_turns": 2}


def test_calls__documents_loaded_before_cost_no_round_trip() -> None:
    records = MemoryRecords()
    state = records.put_agent(TENANT, AGENT, profile=Profile("Be brief."), catalog=())

    records.load_agent(TENANT, AGENT, state=state)
    records.load_agent(TENANT, AGENT, state=state)

    assert records.calls["load_agent"] == 1


def test_unavailable__the_named_methods_raise_and_change_nothing() -> None:
    records = MemoryRecords()
    records.unavailable.add("set_preference")

    with pytest.raises(SourceUnavailableError):
        records.set_preference(TENANT, USER, key="units", value="metric", now=1.0)

    assert records.list_preferences(TENANT, USER) == ()

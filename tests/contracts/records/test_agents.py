"""The contract of `preheat.ports.Records`: agents and their documents."""

import hashlib
import json

import pytest

from preheat.agent import AgentState, Profile
from preheat.budget import Budgets
from preheat.errors import InvalidInputError, SourceUnavailableError
from preheat.ports import Records
from preheat.tools import Tool
from tests.contracts.records.samples import AGENT, PROFILE, STRANGE_TEXT, TENANT, TOOLS, WRITERS, at_once


def test_put_agent__counters_start_at_one(records: Records) -> None:
    state = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    assert (state.agent_ver, state.catalog_ver) == (1, 1)
    assert records.read_agent_state(TENANT, AGENT) == state


def test_put_agent__equal_documents_in_any_order_are_a_no_op(records: Records) -> None:
    first = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    assert records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS[::-1]) == first


def test_put_agent__only_the_changed_documents_counter_moves(records: Records) -> None:
    records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    profile_changed = records.put_agent(TENANT, AGENT, profile=Profile("Be kind."), catalog=TOOLS)
    catalog_changed = records.put_agent(TENANT, AGENT, profile=Profile("Be kind."), catalog=TOOLS[:2])
    back_again = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)

    assert (profile_changed.agent_ver, profile_changed.catalog_ver) == (2, 1)
    assert (catalog_changed.agent_ver, catalog_changed.catalog_ver) == (2, 2)
    assert (back_again.agent_ver, back_again.catalog_ver) == (3, 3)


def test_put_agent__a_tool_of_another_server_with_the_same_wire_name_is_a_change(records: Records) -> None:
    one, other = (Tool(name, "finds", "{}") for name in ("a/b__c", "a__b/c"))
    records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=[one])

    assert records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=[other]).catalog_ver == 2


def test_put_agent__at_once_every_distinct_profile_counts(records: Records) -> None:
    at_once(lambda number: records.put_agent(TENANT, AGENT, profile=Profile(f"Be {number % 4}."), catalog=TOOLS))

    state = records.read_agent_state(TENANT, AGENT)
    assert state is not None
    assert 4 <= state.agent_ver <= WRITERS
    assert state.catalog_ver == 1


def test_put_agent__text_that_utf8_cannot_say_is_refused(records: Records) -> None:
    with pytest.raises(InvalidInputError) as caught:
        records.put_agent(TENANT, AGENT, profile=Profile("\ud800"), catalog=TOOLS)

    assert caught.value.field == "profile"


def test_read_agent_state__unknown_agent_is_none(records: Records) -> None:
    assert records.read_agent_state(TENANT, AGENT) is None


def test_load_agent__gives_back_what_was_put(records: Records) -> None:
    profile = Profile(STRANGE_TEXT, STRANGE_TEXT, ("crm/find",), Budgets(1, 2, 3, 4, 5))
    catalog = (*TOOLS, Tool("crm/åäö", STRANGE_TEXT, '{"title":"日本"}'))
    state = records.put_agent(TENANT, AGENT, profile=profile, catalog=catalog)

    loaded = records.load_agent(TENANT, AGENT, state=state)

    assert (loaded.agent, loaded.state, loaded.profile) == (AGENT, state, profile)
    assert loaded.catalog == tuple(sorted(catalog, key=lambda tool: tool.name))


def test_load_agent__an_earlier_state_still_names_its_documents(records: Records) -> None:
    earlier = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=TOOLS)
    records.put_agent(TENANT, AGENT, profile=Profile("Be kind."), catalog=())

    loaded = records.load_agent(TENANT, AGENT, state=earlier)

    assert (loaded.profile, len(loaded.catalog)) == (PROFILE, len(TOOLS))


def test_load_agent__large_documents_come_back_whole(records: Records) -> None:
    noise = [hashlib.shake_256(b"%d" % number).hexdigest(600) for number in range(500)]
    catalog = tuple(
        Tool(f"big/tool-{number:03d}", text, json.dumps({"title": text})) for number, text in enumerate(noise)
    )
    state = records.put_agent(TENANT, AGENT, profile=PROFILE, catalog=catalog)

    assert records.load_agent(TENANT, AGENT, state=state).catalog == catalog


def test_load_agent__documents_that_are_not_there_are_an_outage(records: Records) -> None:
    with pytest.raises(SourceUnavailableError):
        records.load_agent(TENANT, AGENT, state=AgentState(1, 1, "0" * 64, "1" * 64))

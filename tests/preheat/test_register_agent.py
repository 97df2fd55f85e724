"""What could never work is refused when an agent is registered, not at the first message."""

import pytest

from preheat.errors import ForbiddenError, InvalidInputError, NotFoundError
from preheat.register_agent import read_agent, register_agent
from preheat.requests import AgentCall, BudgetsCall
from preheat.session import Principal
from tests.world import SERVICE, TENANT, USER, World

TOOLS = [{"name": "search", "description": "Search.", "inputSchema": {"type": "object"}}]


def test_register_agent__counts_versions_by_what_changed(world: World) -> None:
    first = register_agent(SERVICE, "a", call=AgentCall(instructions="One.", tools=TOOLS), ports=world.ports)
    same = register_agent(SERVICE, "a", call=AgentCall(instructions="One.", tools=TOOLS), ports=world.ports)
    spoken = register_agent(SERVICE, "a", call=AgentCall(instructions="Two.", tools=TOOLS), ports=world.ports)
    armed = register_agent(SERVICE, "a", call=AgentCall(instructions="Two."), ports=world.ports)

    versions = [(one.state.agent_ver, one.state.catalog_ver) for one in (first, same, spoken, armed)]
    assert versions == [(1, 1), (1, 1), (2, 1), (2, 2)]
    assert read_agent(SERVICE, "a", world.ports) == armed


def test_register_agent__core_tool_outside_the_catalogue_is_refused(world: World) -> None:
    call = AgentCall(instructions="One.", tools=TOOLS, core_tools=("tools/search", "tools/none"))

    with pytest.raises(InvalidInputError) as raised:
        register_agent(SERVICE, "a", call=call, ports=world.ports)

    assert raised.value.field == "core_tools.1"


def test_register_agent__that_cannot_fit_its_budget_is_refused(world: World) -> None:
    call = AgentCall(instructions="word " * 1000, budgets=BudgetsCall(max_tokens=256))

    with pytest.raises(InvalidInputError) as raised:
        register_agent(SERVICE, "a", call=call, ports=world.ports)

    assert raised.value.field == "budgets.max_tokens"


def test_register_agent__is_for_the_tenants_backend_only(world: World) -> None:
    with pytest.raises(ForbiddenError):
        register_agent(
            Principal(TENANT, USER, service=False), "a", call=AgentCall(instructions="One."), ports=world.ports
        )


def test_read_agent__never_registered_is_not_found(world: World) -> None:
    with pytest.raises(NotFoundError):
        read_agent(SERVICE, "nobody", world.ports)

"""Use case: register or replace an agent; what could never fit its budget is refused here, not at the first message."""

from preheat.agent import Agent, AgentState, Profile
from preheat.budget import Budgets
from preheat.catalog import read_catalog
from preheat.errors import InvalidInputError, NotFoundError
from preheat.freezing import kept_whole_tokens
from preheat.ports import Ports
from preheat.requests import AgentCall
from preheat.session import AgentId, Principal, checked_id


def register_agent(caller: Principal, agent: str, *, call: AgentCall, ports: Ports) -> Agent:
    """Store the agent's profile and catalogue and return them with their counters.

    Raises:
        ForbiddenError: the caller is not the tenant's backend.
        InvalidInputError: a tool cannot be used, a core tool is not in the catalogue, or core tools and instructions
            alone are over `budgets.max_tokens`.
    """
    caller.must_be_service()
    agent_id = AgentId(checked_id(agent, field="agent"))
    catalog = read_catalog({"servers": call.servers} if call.servers is not None else {"tools": call.tools or []})
    profile = Profile(
        instructions=call.instructions,
        domain_knowledge=call.domain_knowledge,
        core_tools=call.core_tools,
        budgets=Budgets(**call.budgets.model_dump()),
    )
    known = {tool.name for tool in catalog}
    for position, name in enumerate(call.core_tools):
        if name not in known:
            raise InvalidInputError(f"{name!r} is not in the catalogue", field=f"core_tools.{position}")
    kept = kept_whole_tokens(Agent(agent_id, AgentState(0, 0, "", ""), profile, catalog), (), count=ports.count)
    if kept > profile.budgets.max_tokens:
        raise InvalidInputError(
            f"core tools and instructions alone take {kept} tokens, max_tokens is {profile.budgets.max_tokens}",
            field="budgets.max_tokens",
        )
    state = ports.records.put_agent(caller.tenant, agent_id, profile=profile, catalog=catalog)
    return Agent(agent_id, state, profile, catalog)


def read_agent(caller: Principal, agent: str, ports: Ports) -> Agent:
    """Return the agent at its latest versions.

    Raises:
        NotFoundError: it was never registered.
    """
    agent_id = AgentId(checked_id(agent, field="agent"))
    state = ports.records.read_agent_state(caller.tenant, agent_id)
    if state is None:
        raise NotFoundError(f"agent {agent_id!r} is not registered")
    return ports.records.load_agent(caller.tenant, agent_id, state=state)

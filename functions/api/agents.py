"""Routes of agents."""

from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from preheat.adapters.http import principal
from preheat.agent import Agent
from preheat.register_agent import read_agent, register_agent
from preheat.requests import AgentCall, parse
from preheat.runtime import get_runtime

router = APIGatewayRouter()


@router.put("/agents/<agent>")
def put_agent(agent: str) -> dict[str, Any]:
    """Register or replace an agent."""
    event = router.current_event
    caller = principal(event["requestContext"])
    call = parse(AgentCall, event.decoded_body)
    return _shown(register_agent(caller, unquote(agent), call=call, ports=get_runtime().ports))


@router.get("/agents/<agent>")
def get_agent(agent: str) -> dict[str, Any]:
    """Show an agent's versions, tools and budgets."""
    return _shown(read_agent(principal(router.current_event["requestContext"]), unquote(agent), get_runtime().ports))


def _shown(agent: Agent) -> dict[str, Any]:
    budgets = agent.profile.budgets
    return {
        "agent": agent.agent,
        "agent_ver": agent.state.agent_ver,
        "catalog_ver": agent.state.catalog_ver,
        "tools": [tool.name for tool in agent.catalog],
        "core_tools": list(agent.profile.core_tools),
        "budgets": {name: getattr(budgets, name) for name in budgets.__slots__},
    }

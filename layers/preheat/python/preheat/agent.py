"""One AI feature of a tenant: its instructions, its tools, its budgets, and the counters that say how new they are."""

from dataclasses import dataclass, field

from preheat.budget import Budgets
from preheat.session import AgentId
from preheat.tools import Tool


@dataclass(frozen=True, slots=True)
class Profile:
    """What is written for an agent: instructions, domain knowledge, always-loaded tools, budgets."""

    instructions: str
    domain_knowledge: str = ""
    core_tools: tuple[str, ...] = ()
    budgets: Budgets = field(default_factory=Budgets)


@dataclass(frozen=True, slots=True)
class AgentState:
    """The counters of an agent, and the hashes under which its immutable documents are stored."""

    agent_ver: int
    catalog_ver: int
    profile_sha: str
    catalog_sha: str


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as its state names it: the documents belong to exactly these versions."""

    agent: AgentId
    state: AgentState
    profile: Profile
    catalog: tuple[Tool, ...]

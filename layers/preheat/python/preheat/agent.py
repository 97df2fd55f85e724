"""One AI feature of a tenant: its instructions, its tools, its budgets, and the counters that say how new they are."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from preheat import tools
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

    @property
    def text(self) -> str:
        """Instructions and domain knowledge, as the model reads them."""
        parts = (self.instructions.strip(), self.domain_knowledge.strip())
        return "\n\n".join(part for part in parts if part)


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

    def block(self, names: Iterable[str]) -> str:
        """Return the tools of these names as the model reads them; names that are not in the catalogue are left out."""
        wanted = frozenset(names)
        return tools.block(tool for tool in self.catalog if tool.name in wanted)

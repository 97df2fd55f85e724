"""What a tenant is loaded with: the agent's profile and tools, one user's preferences and turns, and what is asked.

The sample tenant is the default; `infra.local.demo.user_data` puts somebody's own tools and history in its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infra.local.sample.content import Sample, SampleTurn
from preheat.history import Role, ToolCall
from preheat.ports import NewTurn
from preheat.preferences import PreferenceValue
from preheat.session import SessionId

Catalog = Mapping[str, object]
"""The catalogue as the API takes it: `{"servers": {...}}` or `{"tools": [...]}`."""


@dataclass(frozen=True, slots=True)
class TenantData:
    """One tenant's data.

    Attributes:
        agent: The agent's id.
        instructions: What the agent is told.
        domain_knowledge: Paragraphs, parted by empty lines.
        core_tools: Tools that are always loaded, `server/name`.
        catalog: All tools.
        preferences: Key and value, keys unique.
        turns: The user's turns, oldest first.
        questions: Messages that the user may send next, at least one.
    """

    agent: str
    instructions: str
    domain_knowledge: str
    core_tools: tuple[str, ...]
    catalog: Catalog
    preferences: tuple[tuple[str, PreferenceValue], ...]
    turns: tuple[NewTurn, ...]
    questions: tuple[str, ...]

    def question(self, number: int) -> str:
        """Return one of the questions; numbers start at 0 and go round."""
        return self.questions[number % len(self.questions)]


def sample_tenant(sample: Sample) -> TenantData:
    """Return the sample as a tenant's data."""
    agent = sample.agent
    return TenantData(
        agent=agent["agent_id"],
        instructions=agent["instructions"],
        domain_knowledge=agent["domain_knowledge"],
        core_tools=tuple(agent["core_tools"]),
        catalog={"servers": sample.servers},
        preferences=tuple((one["key"], _value(one["value"])) for one in sample.preferences),
        turns=tuple(_turn(one) for one in sample.history),
        questions=tuple(one["text"] for one in sample.questions),
    )


def _value(value: str | float | Sequence[str]) -> PreferenceValue:
    return value if isinstance(value, str | int | float) else tuple(value)


def _turn(turn: SampleTurn) -> NewTurn:
    role: Role = turn["role"]
    calls = turn.get("tool_calls", ())
    return NewTurn(
        turn_id=turn["id"],
        session=SessionId(turn["session"]),
        role=role,
        content=turn["content"],
        tool_calls=tuple(ToolCall(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in calls),
        tool_call_id=turn.get("tool_call_id"),
    )

"""The sample tenant: a travel and expense platform with one agent, and one of its users.

The files beside this module are read as they lie, and hold plain JSON:

- ``agent.json``: the agent's instructions, domain knowledge and core tools;
- ``tools.json``: its MCP servers, each in the shape of an MCP ``tools/list`` result;
- ``preferences.json``: the user's preferences;
- ``history.jsonl``: the user's turns, oldest first, as OpenAI chat messages with a session and an id;
- ``questions.jsonl``: messages that the user may send next.

The company, its suppliers and its people are invented.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NotRequired, TypeAlias, TypedDict

SAMPLE_TENANT: Final = "merrowby-travel"
SAMPLE_USER: Final = "ines.carvalhal"

_FOLDER: Final = Path(__file__).parent

JsonObject: TypeAlias = dict[str, object]
"""A parsed JSON object whose inside is somebody else's format, such as a JSON Schema."""


class SampleAgent(TypedDict):
    """The agent's profile; ``core_tools`` are ``server/name``."""

    agent_id: str
    instructions: str
    domain_knowledge: str
    core_tools: list[str]


class SampleTool(TypedDict):
    """One tool as an MCP server lists it; ``name`` is unique within its server alone."""

    name: str
    description: str
    inputSchema: JsonObject
    annotations: NotRequired[JsonObject]


class SampleServer(TypedDict):
    """An MCP ``tools/list`` result."""

    tools: list[SampleTool]


class SamplePreference(TypedDict):
    """One preference; ``value`` is a number for ``number``, a list for ``list``, else a string."""

    key: str
    value: str | float | list[str]
    type: NotRequired[Literal["text", "choice", "number", "list"]]


class SampleFunction(TypedDict):
    """What a call names; ``name`` is ``server/name``, ``arguments`` is a JSON text."""

    name: str
    arguments: str


class SampleToolCall(TypedDict):
    """One call of an assistant turn; ``id`` is unique in the whole history."""

    id: str
    type: Literal["function"]
    function: SampleFunction


class SampleTurn(TypedDict):
    """One message; a ``tool`` turn answers the call of its ``tool_call_id`` in the same session."""

    session: str
    id: str
    role: Literal["user", "assistant", "tool"]
    content: str
    tool_calls: NotRequired[list[SampleToolCall]]
    tool_call_id: NotRequired[str]


class SampleQuestion(TypedDict):
    """A message that the user may send next."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The parsed files.

    Attributes:
        agent: The agent's profile.
        servers: Tool listings by server name.
        preferences: The user's preferences, keys unique.
        history: The user's turns, oldest first, sessions one after another.
        questions: Messages that may come next.
    """

    agent: SampleAgent
    servers: dict[str, SampleServer]
    preferences: list[SamplePreference]
    history: list[SampleTurn]
    questions: list[SampleQuestion]


def load_sample() -> Sample:
    """Read the sample tenant; every call gives fresh objects that the caller may change.

    Raises:
        OSError: A file is missing from the installation.
        json.JSONDecodeError: A file is not JSON.
    """
    return Sample(
        agent=json.loads(_text("agent.json")),
        servers=json.loads(_text("tools.json"))["servers"],
        preferences=json.loads(_text("preferences.json")),
        history=[json.loads(line) for line in _lines("history.jsonl")],
        questions=[json.loads(line) for line in _lines("questions.jsonl")],
    )


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _lines(name: str) -> list[str]:
    # Not splitlines(): JSON strings may hold U+2028 and its like unescaped.
    return _text(name).rstrip("\n").split("\n")

"""Somebody's own tools and history in place of the sample's: read from files, refused by line and field.

Tools: an MCP `tools/list` result (bare, or inside a JSON-RPC response), OpenAI's or Anthropic's list of tools, or
`{"servers": {name: {"tools": [...]}}}`. History: one JSON object a line: a chat message, or `{"messages": [...]}`
for a whole conversation. System messages are left out: the agent has its own instructions.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infra.local.demo.tenant import Catalog, TenantData
from preheat.catalog import read_catalog
from preheat.errors import InvalidInputError
from preheat.history import ToolCall
from preheat.ports import NewTurn
from preheat.requests import MAX_BODY_BYTES, TurnPart, parse_value
from preheat.session import ID_PATTERN, SessionId

# A demo loads every turn once for each of its tenants; older turns than these are never looked at.
NEWEST_TURNS: Final = 240
_ID: Final = re.compile(ID_PATTERN)


class UserDataError(Exception):
    """A file cannot be used. The message is one line and names the file, the line where there is one, and the field."""


class _Function(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    name: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: str = "{}"


class _Call(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    id: Annotated[str, Field(min_length=1)]
    function: _Function


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    type: str
    text: str = ""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | tuple[_Part, ...] | None = None
    tool_calls: tuple[_Call, ...] | None = None
    tool_call_id: str | None = None
    session: str | None = None

    @property
    def text(self) -> str:
        """The content as one text; parts that are no text are left out."""
        if isinstance(self.content, tuple):
            return "\n".join(part.text for part in self.content if part.type == "text")
        return self.content or ""


class _Conversation(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    messages: tuple[_Message, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """One message of the file, where it stands, and the session that it belongs to."""

    where: str
    session: str
    message: _Message


def read_tools(path: Path) -> Catalog:
    """Return the catalogue in the file, in a shape that the API takes.

    Raises:
        UserDataError: the file is not readable, not JSON, too large, or a tool in it cannot be used.
    """
    try:
        document = json.loads(_read(path))
    except ValueError as error:
        raise UserDataError(f"{path}: is not JSON ({error})") from error
    if isinstance(document, dict) and isinstance(document.get("result"), dict):
        document = document["result"]
    catalog: Catalog = document if isinstance(document, dict) else {"tools": document}
    catalog = {name: value for name, value in catalog.items() if name in {"servers", "tools"}}
    if "servers" in catalog:
        catalog.pop("tools", None)
    if not catalog:
        raise UserDataError(f"{path}: tools: is missing; expected a list of tools, or an object that holds one")
    try:
        found = read_catalog(catalog)
    except InvalidInputError as error:
        raise UserDataError(f"{path}: {error.field}: {error}") from error
    if not found:
        raise UserDataError(f"{path}: tools: holds no tool")
    if len(json.dumps(catalog).encode()) > MAX_BODY_BYTES // 2:
        raise UserDataError(f"{path}: tools: are over {MAX_BODY_BYTES // 2} bytes together")
    return catalog


def read_history(path: Path, catalog: Catalog) -> tuple[NewTurn, ...]:
    """Return the file's newest turns, oldest first.

    Args:
        path: The file.
        catalog: Tools that the calls are matched with, see `matched_name`.

    Raises:
        UserDataError: the file is not readable, or a line is not a chat message.
    """
    names = [tool.name for tool in read_catalog(catalog)]
    turns = [
        _turn(line, f"own-{number:06d}", names)
        for number, line in enumerate(_lines(path), start=1)
        if line.message.role not in {"system", "developer"}
    ]
    if not turns:
        raise UserDataError(f"{path}: holds no message of a user or an assistant")
    return tuple(turns[-NEWEST_TURNS:])


def _turn(line: _Line, turn_id: str, names: Sequence[str]) -> NewTurn:
    """Return the message as a turn that the API takes: the API's own shape is asked."""
    message = line.message
    calls = [
        {"id": _id(one.id), "function": {**one.function.model_dump(), "name": matched_name(one.function.name, names)}}
        for one in message.tool_calls or ()
    ]
    shown = {"id": turn_id, "role": message.role, "content": message.text, "tool_calls": calls}
    if message.tool_call_id is not None:
        shown["tool_call_id"] = _id(message.tool_call_id)
    try:
        part = parse_value(TurnPart, shown)
    except InvalidInputError as error:
        raise UserDataError(f"{line.where}: {error.field}: {error}") from error
    return NewTurn(
        turn_id=part.id,
        session=SessionId(line.session),
        role=part.role,
        content=part.content,
        tool_calls=tuple(ToolCall(one.id, one.function.name, one.function.arguments) for one in part.tool_calls),
        tool_call_id=part.tool_call_id,
    )


def matched_name(called: str, names: Sequence[str]) -> str:
    """Return the catalogue's name for a called tool: as it is, as `server__name`, or by its bare name if only one fits.

    A name that fits nothing is kept, with `/` for the first `__`, as the catalogue would spell it.
    """
    spelled = called.replace("__", "/", 1)
    if called in names or "/" in called:
        return called
    if spelled in names:
        return spelled
    bare = [name for name in names if name.rpartition("/")[2] == called]
    return bare[0] if len(bare) == 1 else spelled


def with_own_data(data: TenantData, *, tools: Path | None, history: Path | None) -> TenantData:
    """Return the data with the files in place of the sample's. The last message of a user becomes the first question.

    Raises:
        UserDataError: a file cannot be used.
    """
    if tools is not None:
        catalog = read_tools(tools)
        known = {tool.name for tool in read_catalog(catalog)}
        data = replace(data, catalog=catalog, core_tools=tuple(name for name in data.core_tools if name in known))
    if history is not None:
        turns = read_history(history, data.catalog)
        asked = [turn.content for turn in turns if turn.role == "user" and turn.content.strip()]
        data = replace(data, turns=turns, questions=tuple(asked[:-4:-1]) or data.questions)
    return data


def _lines(path: Path) -> Iterator[_Line]:
    # Not splitlines(): JSON strings may hold U+2028 and its like unescaped.
    for number, line in enumerate(_read(path).split("\n"), start=1):
        where = f"{path}: line {number}"
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise UserDataError(f"{where}: is not JSON ({error})") from error
        try:
            if isinstance(value, Mapping) and "messages" in value:
                for message in _Conversation.model_validate(value).messages:
                    yield _Line(where, f"own-{number}", message)
                continue
            message = _Message.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            field = ".".join(str(step) for step in first["loc"]) or "message"
            raise UserDataError(f"{where}: {field}: {first['msg']}") from error
        session = message.session if message.session and _ID.fullmatch(message.session) else "own"
        yield _Line(where, session, message)


def _id(given: str) -> str:
    """Return an id that the API takes: what is not allowed in it becomes a dash."""
    cleaned = re.sub(r"[^A-Za-z0-9._@+-]", "-", given)[:120]
    return cleaned if _ID.fullmatch(cleaned) else f"call-{cleaned}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserDataError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserDataError(f"{path}: is not UTF-8 text") from error

"""Reads a tool catalogue in the shapes that the world publishes: MCP `tools/list`, OpenAI, Anthropic.

Bad input is refused whole, naming the tool: a catalogue that silently lost one would look complete.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from preheat.canonical import canonical_json
from preheat.errors import InvalidInputError
from preheat.tools import Tool

_PART: Final = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
DEFAULT_SERVER: Final = "tools"


def read_catalog(document: object) -> tuple[Tool, ...]:
    """Return the tools of `document`, sorted by name.

    Args:
        document: `{"servers": {server: {"tools": [...]}}}`, an MCP `tools/list` result `{"tools": [...]}`, or a plain
            list of OpenAI, Anthropic or MCP tools. A name may already hold its server as `server/name`.

    Raises:
        InvalidInputError: a shape, name or schema cannot be used, or two tools have one name.
    """
    tools: dict[str, Tool] = {}
    for server, position, entry in _entries(document):
        field = f"servers.{server}.tools[{position}]" if server else f"tools[{position}]"
        tool = _read_tool(entry, server=server or DEFAULT_SERVER, field=field)
        taken = next((other for other in tools.values() if other.wire_name == tool.wire_name), None)
        if taken is not None:
            raise InvalidInputError(f"the name {tool.name!r} is already taken by {taken.name!r}", field=field)
        tools[tool.name] = tool
    return tuple(tools[name] for name in sorted(tools))


def _entries(document: object) -> Iterator[tuple[str, int, object]]:
    if isinstance(document, Mapping) and isinstance(servers := document.get("servers"), Mapping):
        for server in sorted(servers):
            listed = servers[server]
            entries = listed.get("tools") if isinstance(listed, Mapping) else listed
            yield from ((str(server), position, entry) for position, entry in enumerate(_as_list(entries, server)))
        return
    entries = document.get("tools") if isinstance(document, Mapping) else document
    yield from (("", position, entry) for position, entry in enumerate(_as_list(entries, "")))


def _as_list(entries: object, server: str) -> list[object]:
    if not isinstance(entries, list):
        raise InvalidInputError("must be a list of tools", field=f"servers.{server}.tools" if server else "tools")
    return entries


def _read_tool(entry: object, *, server: str, field: str) -> Tool:
    if isinstance(entry, Mapping) and isinstance(entry.get("function"), Mapping):
        entry = entry["function"]
    if not isinstance(entry, Mapping):
        raise InvalidInputError("must be an object", field=field)
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidInputError("must have a name", field=f"{field}.name")
    server, _, bare = name.rpartition("/") if "/" in name else (server, "", name)
    for part in (server, bare):
        if not _PART.fullmatch(part):
            raise InvalidInputError(f"{part!r} is not a valid tool or server name", field=f"{field}.name")
    description = entry.get("description")
    if description is not None and not isinstance(description, str):
        raise InvalidInputError("must be text", field=f"{field}.description")
    schema = next(
        (entry[key] for key in ("inputSchema", "input_schema", "parameters") if entry.get(key) is not None),
        {"type": "object", "properties": {}},
    )
    if not isinstance(schema, Mapping):
        raise InvalidInputError("must be a JSON schema object", field=f"{field}.inputSchema")
    try:
        schema_json = canonical_json(schema)
    except ValueError as error:
        raise InvalidInputError("holds a number that JSON cannot say", field=f"{field}.inputSchema") from error
    return Tool(
        name=f"{server}/{bare}",
        description=description or "",
        schema_json=schema_json,
        schema_words=_parameter_names(schema),
    )


def _parameter_names(schema: Mapping[str, object]) -> tuple[str, ...]:
    properties = schema.get("properties")
    return tuple(sorted(map(str, properties))) if isinstance(properties, Mapping) else ()

"""Preference streams: sets, changes, deletions and noise, and what must hold at every start of a session.

Each stream is one user. Every event goes through the product's use cases; no event of the bus is ever delivered. At a
start the session is warmed and asked, and the preferences are read back from the very prompt that the engine got.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from preheat.change_preferences import delete_preference, set_preference
from preheat.ports import NewTurn
from preheat.requests import PreferenceCall, SessionCall
from preheat.session import Scope, SessionId, UserId
from preheat.start_session import start_session
from preheat.warm_session import warm_session
from tests.world import AGENT, SERVICE, TENANT, World, make_world

_HEADING: Final = "# Preferences of the user"
_LINE: Final = re.compile(r"- ([^:]+): (.+)")


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many session starts there were, and at how many the prompt held exactly what it must."""

    starts: int
    exact: int


def load_streams(path: Path) -> list[dict[str, Any]]:
    """Read the streams of a file, one user a line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def replay(streams: Iterable[dict[str, Any]]) -> Replayed:
    """Run every stream and count its session starts."""
    starts = exact = 0
    with make_world() as world:
        for stream in streams:
            for number, event in enumerate(stream["events"]):
                if event["type"] == "session_start":
                    starts += 1
                    exact += _start(world, stream["user"], number) == event["expect"]
                else:
                    _write(world, stream["user"], number, event)
    return Replayed(starts, exact)


def _write(world: World, user: str, number: int, event: dict[str, Any]) -> None:
    """Set, delete, or only say something; what is said counts as history, never as a preference."""
    match event["type"]:
        case "pref_set" | "pref_change":
            call = PreferenceCall(value=event["value"])
            set_preference(SERVICE, user, key=event["slot"], call=call, ports=world.ports)
        case "pref_delete":
            delete_preference(SERVICE, user, key=event["slot"], ports=world.ports)
        case "message":
            turn = NewTurn(f"said-{number}", SessionId("earlier"), "user", event["text"])
            world.records.append_turns(TENANT, UserId(user), turns=[turn])
        case other:
            raise ValueError(f"unknown event type {other!r}")


def _start(world: World, user: str, number: int) -> dict[str, object]:
    """Start, warm and ask a session; return the preferences in the prompt."""
    scope = Scope(TENANT, UserId(user), AGENT, SessionId(f"session-{number}"))
    call = SessionCall(agent=AGENT, session_id=scope.session)
    start_session(SERVICE, user, call=call, fresh_id=scope.session, ports=world.ports)
    warm_session(scope, world.ports)
    world.ask(scope, request_id=f"ask-{number}")
    return _preferences(json.loads(world.last_prompt()))


def _preferences(request: dict[str, Any]) -> dict[str, object]:
    """Read back the preferences section of a prompt; a line that is not `- key: JSON` stands for itself."""
    lines = request["messages"][0]["content"].split("\n")
    at = [number for number, line in enumerate(lines) if line.startswith(_HEADING)]
    if not at:
        return {}
    section = lines[at[0] + 1 :]
    section = section[: section.index("")] if "" in section else section
    read = [_LINE.fullmatch(line) for line in section]
    return {
        found.group(1) if found else line: json.loads(found.group(2)) if found else None
        for line, found in zip(section, read, strict=True)
    }

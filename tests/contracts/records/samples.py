"""What the contract suites of the records write and compare."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from preheat.agent import Profile
from preheat.budget import Budgets
from preheat.ports import NewTurn
from preheat.preferences import Preference
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId
from preheat.stamp import Frozen, Stamp
from preheat.tools import Tool

TENANT: Final = TenantId("acme")
USER: Final = UserId("ada")
AGENT: Final = AgentId("support")
SESSION: Final = SessionId("s-1")
SCOPE: Final = Scope(TENANT, USER, AGENT, SESSION)
NOW: Final = 1_764_560_000.123456
LATER: Final = NOW + 3600.0
PROFILE: Final = Profile("Be brief.", "Refunds take 5 days.", ("crm/find",), Budgets(max_tokens=2048))
TOOLS: Final = tuple(
    Tool(f"crm/{name}", f"{name} a record", '{"properties":{"id":{}},"type":"object"}', ("id",))
    for name in ("find", "merge", "delete")
)
STRANGE_TEXT: Final = 'naïve 日本語 🙂 \u0000 \r\n "quoted" \\ #{}:é'
WRITERS: Final = 8


def at_once(act: Callable[[int], object]) -> None:
    """Call `act` with the number of each writer, all at once."""
    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(act, range(WRITERS)))


def said(turn_id: str, content: str = "hello", session: SessionId = SESSION) -> NewTurn:
    """Return a user's turn."""
    return NewTurn(turn_id, session, "user", content)


def frozen(generation: int = 0, *, preferences: tuple[Preference, ...] = (), first_seq: int = 1) -> Frozen:
    """Return a frozen record."""
    stamp = Stamp(1, 1, 0, 2, 3, "model", "renderer")
    return Frozen(
        stamp=stamp,
        generation=generation,
        tools=("crm/find", "crm/merge"),
        tools_why="top 2",
        preferences=preferences,
        first_seq=first_seq,
        budgets=Budgets(max_tokens=512),
    )

"""What was written, by whom and when, and what a prompt may therefore hold.

Every value is a canary that names its owner, so a prompt tells by itself what it was built from. Of what a key shows,
the last one counts: corrections stand behind the prefix.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from preheat.preferences import Preference, PreferenceName, for_agent
from preheat.session import AgentId, TenantId, UserId

Owner = tuple[TenantId, UserId]
_CANARY: Final = re.compile(r"(pref|turn|text|tool)~([a-z]+)~([a-z]+)~([a-z]+)~(\d+)~")


@dataclass(frozen=True, slots=True)
class Canary:
    """A value found in a prompt. For instructions and tools, `user` is the agent and `key` says which."""

    kind: str
    tenant: str
    user: str
    key: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}~{self.tenant}~{self.user}~{self.key}~{self.number}~"


def canaries(text: str) -> list[Canary]:
    """Return every canary in a text, in order."""
    return [Canary(kind, tenant, user, key, int(number)) for kind, tenant, user, key, number in _CANARY.findall(text)]


@dataclass(slots=True)
class Rows:
    """What one user has said, over time.

    Attributes:
        sets: Every set of values that held for the agent, by key, the newest last.
        forgotten: The values that a deletion has covered and that were not set again, with the first set without them.
        turns_erased: Turns with lower numbers were erased, with the first set after that.
        said_late: Turns with lower numbers that were on their way and may still arrive.
    """

    sets: list[dict[str, Canary]] = field(default_factory=lambda: [{}])
    forgotten: dict[Canary, int] = field(default_factory=dict)
    turns_erased: tuple[int, int] = (0, 0)
    said_late: frozenset[int] = frozenset()
    _ever: defaultdict[PreferenceName, set[Canary]] = field(default_factory=lambda: defaultdict(set))
    _held: dict[PreferenceName, Canary] = field(default_factory=dict)

    @property
    def now(self) -> int:
        """The place of the newest set."""
        return len(self.sets) - 1

    def see(self, kept: Sequence[Preference], agent: AgentId) -> None:
        """Take note of what the records hold, after something may have changed it."""
        held = {one.name: _canary(one) for one in kept}
        if held == self._held:
            return
        for name in self._held.keys() - held.keys():
            self.forgotten |= {one: len(self.sets) for one in self._ever[name] if one not in self.forgotten}
        for name, canary in held.items():
            self._ever[name].add(canary)
            self.forgotten.pop(canary, None)
        self._held = held
        self.sets.append({one.key: _canary(one) for one in for_agent(kept, agent)})

    def erase_turns(self, below: int, *, said_late: Iterable[int]) -> None:
        """Take note of the end of an erasure that began before the turn of this number was said."""
        self.sets.append(self.sets[-1])
        self.turns_erased = (below, self.now)
        self.said_late = frozenset(said_late)

    def has_forgotten(self, canary: Canary, floor: int) -> bool:
        """Tell whether a value or a turn was forgotten before the set at `floor` held."""
        if canary.kind == "turn":
            below, since = self.turns_erased
            return canary.number < below and canary.number not in self.said_late and since <= floor
        return self.forgotten.get(canary, floor + 1) <= floor


@dataclass(frozen=True, slots=True)
class Floor:
    """What was acknowledged before a request began: the places of the newest preferences and agent versions."""

    rows: int
    agent: Mapping[str, int]


class Ledger:
    """Rows by owner and agent versions by tenant, and the faults that a prompt has by them."""

    def __init__(self) -> None:
        self.rows: defaultdict[Owner, Rows] = defaultdict(Rows)
        self.agents: defaultdict[TenantId, dict[str, int]] = defaultdict(dict)

    def floor(self, owner: Owner) -> Floor:
        """Return what a request that begins now must not fall behind."""
        return Floor(self.rows[owner].now, dict(self.agents[owner[0]]))

    def faults(self, text: str, owner: Owner, floor: Floor, *, whole: bool) -> list[str]:
        """Return what is wrong with a prompt that was sent now for a request that began at `floor`.

        Args:
            text: Everything that the model is shown, in its order.
            owner: Whose request it is.
            floor: When it began.
            whole: Whether preferences must be there; else they may have been left out, all of them.
        """
        shown = canaries(text)
        rows = self.rows[owner]
        found = [f"{one} is not this user's" for one in self.foreign(text, owner)]
        found += [f"{one} was forgotten" for one in shown if rows.has_forgotten(one, floor.rows)]
        last = {one.key: one for one in shown if one.kind == "pref" and _belongs(one, owner)}
        if whole or last:
            allowed = rows.sets[floor.rows :]
            for key in {key for values in rows.sets for key in values}:
                if last.get(key) not in [values.get(key) for values in allowed]:
                    found.append(f"{key} shows {last.get(key)}, was {allowed[0].get(key)} when the request began")
        for kind, version in floor.agent.items():
            found += [
                f"{one} is older than version {version}" for one in shown if one.kind == kind and one.number < version
            ]
            versions = {one.number for one in shown if one.kind == kind}
            if len(versions) > 1 or (whole and not versions):
                found.append(f"versions {sorted(versions)} of {kind} are shown")
        return found

    def foreign(self, text: str, owner: Owner) -> list[Canary]:
        """Return the canaries of other users and tenants."""
        return [one for one in canaries(text) if not _belongs(one, owner)]


def _canary(preference: Preference) -> Canary:
    return canaries(str(preference.value))[0]


def _belongs(canary: Canary, owner: Owner) -> bool:
    tenant, user = owner
    return canary.tenant == tenant and (canary.kind in {"text", "tool"} or canary.user == user)

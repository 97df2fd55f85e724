"""Lever history, the keyed part: the whole current preference set, latest value only.

A set of a hundred preferences costs less than missing the right one, so nothing is searched or dropped. Values are
rendered as JSON: quotes, line breaks and tags in a stored text stay data and cannot leave the section.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from preheat.canonical import canonical_json
from preheat.session import AgentId

PreferenceValue = str | int | float | bool | tuple[str, ...]
Source = Literal["stated", "imported", "inferred"]
Kind = Literal["text", "choice", "number", "list", "boolean"]
# A key, and the agent for which it holds; None for all of them.
PreferenceName = tuple[str, AgentId | None]

# What one user may have, over all agents.
MAX_PREFERENCES: Final = 100
# Contradictions in a row after which a preference counts as drifted.
DRIFT_AFTER: Final = 5


@dataclass(frozen=True, slots=True)
class NewPreference:
    """What is to be kept for a key.

    Attributes:
        key: What it is about.
        value: The latest value.
        agent: The agent for which it holds in the place of the user's general one; None is the general one.
        options: What a choice may be; empty for the other kinds.
        source: Stated by the user, imported from another system, or inferred from behaviour.
    """

    key: str
    value: PreferenceValue
    agent: AgentId | None = None
    options: tuple[str, ...] = ()
    source: Source = "stated"

    @property
    def name(self) -> PreferenceName:
        """Key and agent: the latest value for a name is the only one."""
        return self.key, self.agent


@dataclass(frozen=True, slots=True)
class Drift:
    """Behaviour against a stored value: what was observed last, and how many times in a row it was something else."""

    value: PreferenceValue
    count: int


@dataclass(frozen=True, slots=True)
class Preference:
    """One preference: its latest value, the user's `pref_ver` that set it, and when (epoch seconds).

    The rest is as in `NewPreference`; `drift` is None as long as behaviour agrees with the value.
    """

    key: str
    value: PreferenceValue
    version: int
    updated_at: float
    agent: AgentId | None = None
    options: tuple[str, ...] = ()
    source: Source = "stated"
    drift: Drift | None = None

    @property
    def name(self) -> PreferenceName:
        """Key and agent: the latest value for a name is the only one."""
        return self.key, self.agent

    @property
    def kind(self) -> Kind:
        """What kind of value it is."""
        return "choice" if self.options else kind_of(self.value)

    @property
    def has_drifted(self) -> bool:
        """Whether behaviour has contradicted the value often enough to ask the user again."""
        return self.drift is not None and self.drift.count >= DRIFT_AFTER


def kind_of(value: PreferenceValue) -> Kind:
    """Return the kind that a value has by itself."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, tuple) else "number"


def by_name(one: Preference | NewPreference) -> tuple[str, str]:
    """Return what preferences are sorted by: the key, the general one before those of agents."""
    return one.key, one.agent or ""


def for_agent(preferences: Iterable[Preference], agent: AgentId) -> tuple[Preference, ...]:
    """Return what holds for one agent, sorted by key: its own in the place of the general ones, without drift."""
    held = {one.key: one for one in sorted(preferences, key=by_name) if one.agent in {None, agent}}
    return tuple(replace(one, drift=None) if one.drift else one for one in held.values())


def render(preferences: Iterable[Preference]) -> str:
    """Return one line per preference, sorted by key; empty when there are none."""
    ordered = sorted(preferences, key=lambda one: one.key)
    return "\n".join(f"- {preference.key}: {_quoted(preference.value)}" for preference in ordered)


def corrections(frozen: Iterable[Preference], current: Iterable[Preference]) -> tuple[str, ...]:
    """Return one sentence per key whose value is not the one the session's prefix holds, sorted by key.

    Deleted keys have no sentence: a deletion moves the user's `forget_ver`, which makes the prefix itself be rebuilt.
    """
    before = {preference.key: _quoted(preference.value) for preference in frozen}
    now = {preference.key: _quoted(preference.value) for preference in current}
    return tuple(
        f"{key} is now {now[key]}" + ("; ignore the earlier value." if key in before else ".")
        for key in sorted(now)
        if before.get(key) != now[key]
    )


def _quoted(value: PreferenceValue) -> str:
    """Return the value as JSON; `<` is escaped, so that no tag and no token of a chat template can be spelled."""
    return canonical_json(list(value) if isinstance(value, tuple) else value).replace("<", "\\u003c")

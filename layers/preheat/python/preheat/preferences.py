"""Lever history, the keyed part: the whole current preference set, latest value only.

A set of a hundred preferences costs less than missing the right one, so nothing is searched or dropped. Values are
rendered as JSON: quotes, line breaks and tags in a stored text stay data and cannot leave the section.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from preheat.canonical import canonical_json

PreferenceValue = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preference:
    """One preference: its latest value, the user's `pref_ver` that set it, and when (epoch seconds)."""

    key: str
    value: PreferenceValue
    version: int
    updated_at: float


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

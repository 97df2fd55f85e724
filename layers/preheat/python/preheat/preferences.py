"""Lever history, the keyed part: the whole current preference set, latest value only.

A set of a hundred preferences costs less than missing the right one, so nothing is searched or dropped. Values are
rendered as JSON: quotes and line breaks in a stored text stay data and cannot leave the section.
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
    lines = sorted(f"- {preference.key}: {_quoted(preference.value)}" for preference in preferences)
    return "\n".join(lines)


def corrections(frozen: Iterable[Preference], current: Iterable[Preference]) -> tuple[str, ...]:
    """Return one sentence per key whose value is not the one the session's prefix holds, sorted by key.

    Deleted keys have no sentence: a deletion moves the user's `forget_ver`, which makes the prefix itself be rebuilt.
    """
    before = {preference.key: preference.value for preference in frozen}
    return tuple(
        f"{preference.key} is now {_quoted(preference.value)}"
        + ("; ignore the earlier value." if preference.key in before else ".")
        for preference in sorted(current, key=lambda one: one.key)
        if before.get(preference.key) != preference.value
    )


def _quoted(value: PreferenceValue) -> str:
    return canonical_json(list(value) if isinstance(value, tuple) else value)

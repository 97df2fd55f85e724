"""Lever tools: which schemas the session is likely to need, chosen before anyone asks.

The score of a tool is the sum of two z-scores: how well its name, description and parameter names match what the user
last said, and how often the user's recent turns called it. Ties go to the name, so the choice is deterministic.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from preheat.canonical import canonical_json, sha256_hex
from preheat.history import Turn
from preheat.lexical import bm25, words, z_scores

# How many of the user's newest messages tell what the next one may be about.
_QUERY_TURNS: Final = 6


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of an agent's catalogue.

    Attributes:
        name: `server/name`, unique in the catalogue.
        description: As published.
        schema_json: The input schema as canonical JSON.
        schema_words: Names of the parameters, for ranking.
    """

    name: str
    description: str
    schema_json: str
    schema_words: tuple[str, ...] = ()

    @property
    def wire_name(self) -> str:
        """The name in the form that engines accept: no slash."""
        return self.name.replace("/", "__")

    def line(self) -> str:
        """Return the tool as one line of canonical JSON: the bytes that the model reads."""
        return (
            f'{{"name":{canonical_json(self.wire_name)},"description":{canonical_json(self.description)},'
            f'"parameters":{self.schema_json}}}'
        )


@dataclass(frozen=True, slots=True)
class Selection:
    """The session tools chosen, best first, each with its score, and why they were ranked so."""

    names: tuple[str, ...]
    scores: tuple[float, ...]
    why: str


def select(catalog: Sequence[Tool], turns: Sequence[Turn], *, count: int, core: Iterable[str]) -> Selection:
    """Choose at most `count` tools beside the core ones for a session that has not spoken yet.

    Args:
        catalog: All permitted tools.
        turns: The user's newest turns, oldest first.
        count: How many tools to choose at most.
        core: Names that are loaded anyway.
    """
    always = set(core)
    candidates = sorted((tool for tool in catalog if tool.name not in always), key=lambda tool: tool.name)
    if not candidates or count <= 0:
        return Selection((), (), "no tools beside the core ones")
    asked = [turn.content for turn in turns if turn.role == "user"][-_QUERY_TURNS:]
    match = bm25(words(" ".join(asked)), [_document(tool) for tool in candidates])
    calls = Counter(call.name for turn in turns for call in turn.tool_calls)
    usage = np.array([math.log1p(calls[tool.name] + calls[tool.wire_name]) for tool in candidates])
    total = z_scores(match) + z_scores(usage)
    order = sorted(range(len(candidates)), key=lambda index: (-total[index], candidates[index].name))[:count]
    return Selection(
        names=tuple(candidates[index].name for index in order),
        scores=tuple(round(float(total[index]), 4) for index in order),
        why=f"top {len(order)} of {len(candidates)} by match with {len(asked)} messages and {calls.total()} past calls",
    )


def _document(tool: Tool) -> list[str]:
    return words(f"{tool.name} {tool.name} {tool.description} {' '.join(tool.schema_words)}")


def block(tools: Iterable[Tool]) -> str:
    """Return the tools as lines of canonical JSON sorted by name, whatever order they came in."""
    return "\n".join(tool.line() for tool in sorted(tools, key=lambda tool: tool.name))


def catalog_hash(tools: Iterable[Tool]) -> str:
    """Return one hash for the catalogue, equal for any order of its tools (64 hex digits)."""
    return sha256_hex(block(tools))

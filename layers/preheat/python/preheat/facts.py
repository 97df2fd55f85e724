"""Lever history, the compact part: facts that were taken from turns, and which of them still hold."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence that turns told about the user or their world.

    Attributes:
        fact_id: Unique for the user.
        text: The sentence, without line breaks that matter.
        sources: The `seq` of every turn that told it, ascending; empty when it came from elsewhere.
        retired: A later fact contradicts it. It is kept for the record and never shown.
    """

    fact_id: str
    text: str
    sources: tuple[int, ...] = ()
    retired: bool = False


def latest(facts: Iterable[Fact]) -> dict[str, Fact]:
    """Return the last word on each fact, by id. A fact that says nothing is left out unless it is retired."""
    return {fact.fact_id: fact for fact in facts if fact.retired or fact.text.strip()}

"""The warm bundle: an immutable list of sections, most stable first, with the stamp that it was built from.

It is a pure function of (agent, frozen record, preferences, turns): equal versions give equal bytes, however and
whenever it is built. `freezing` chooses what it holds, `building` builds it, `renewal` brings it to newer versions.
"""

from dataclasses import dataclass
from typing import Final

from preheat.budget import TOKENS_PER_MESSAGE
from preheat.sections import Section, SectionName
from preheat.stamp import Frozen, Stamp

# What the system message takes beside its sections.
SYSTEM_TOKENS: Final = TOKENS_PER_MESSAGE
# A running session's window may outgrow its budget by this factor before the session is frozen anew.
_OUTGROWN: Final = 2.0
# Tokens: a budget below this would freeze a session anew at every message.
_SMALLEST_WINDOW: Final = 400


@dataclass(frozen=True, slots=True)
class Missing:
    """A section that could not be built, and why."""

    name: SectionName
    reason: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """What is in place before the message: sections, corrections for the tail, and the versions of it all."""

    stamp: Stamp
    frozen: Frozen
    sections: tuple[Section, ...]
    corrections: tuple[str, ...]
    built_at: float
    missing: tuple[Missing, ...] = ()

    @property
    def tokens(self) -> int:
        """What the prefix takes, by the deployment's counter; the corrections are not part of it."""
        return SYSTEM_TOKENS + sum(section.tokens for section in self.sections)

    def section(self, name: SectionName) -> Section | None:
        """Return one section; None when there is none of this name."""
        return next((section for section in self.sections if section.name == name), None)


def outgrown(bundle: Bundle) -> bool:
    """Tell whether the session's recent turns have outgrown their budget, so that it must be frozen anew."""
    turns = bundle.section("recent_turns")
    used = turns.tokens if turns else 0
    return used > _OUTGROWN * max(bundle.frozen.budgets.history_tokens, _SMALLEST_WINDOW)

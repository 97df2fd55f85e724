"""The versions that a bundle was built from, and what a session keeps unchanged for its life."""

from dataclasses import dataclass

from preheat.agent import AgentState
from preheat.budget import Budgets
from preheat.preferences import Preference


@dataclass(frozen=True, slots=True)
class UserState:
    """The counters of a user. They only grow; a user never written has zeros.

    `forget_ver` moves on every deletion: what was deleted must leave the prefix, a correction would still show it.
    `erase_ver` moves, together with it, only when the whole user is erased. What is under way for a user is void when
    `erase_ver` has moved since, and an event that comes late is void when it is not later than `erased_at`.

    Attributes:
        forget_ver: Deletions, erasures of the whole user among them.
        pref_ver: Changes of the preference set.
        hist_seq: The newest turn's number, whether or not it is still there.
        erase_ver: Steps of erasures of the whole user.
        erased_at: When the last erasure began, in epoch seconds; 0 when there was none.
    """

    forget_ver: int = 0
    pref_ver: int = 0
    hist_seq: int = 0
    erase_ver: int = 0
    erased_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Stamp:
    """The versions of everything in a bundle. Two bundles of one session with equal stamps have equal bytes."""

    agent_ver: int
    catalog_ver: int
    forget_ver: int
    pref_ver: int
    hist_seq: int
    model: str
    renderer: str

    @property
    def order(self) -> int:
        """A number that never falls while versions grow.

        Every counter only grows, so of two comparable stamps the newer has the larger sum. Two that cannot be compared
        may go either way: harmless, since a reader serves equal stamps only.
        """
        return self.agent_ver + self.catalog_ver + self.forget_ver + self.pref_ver + self.hist_seq

    def __str__(self) -> str:
        return f"a{self.agent_ver}.c{self.catalog_ver}.f{self.forget_ver}.p{self.pref_ver}.h{self.hist_seq}"


def stamp_of(agent: AgentState, user: UserState, *, model: str, renderer: str) -> Stamp:
    """Return the stamp for counters that were read before the rows."""
    return Stamp(
        agent_ver=agent.agent_ver,
        catalog_ver=agent.catalog_ver,
        forget_ver=user.forget_ver,
        pref_ver=user.pref_ver,
        hist_seq=user.hist_seq,
        model=model,
        renderer=renderer,
    )


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a session keeps unchanged so that its prefix survives: written once, by whoever builds first.

    The warm path and the cold path both render from this record, which is why they give the same bytes. It is replaced
    (with the next `generation`) when an agent version or a deletion makes the prefix itself wrong, or when the session
    has outgrown its window.

    Attributes:
        stamp: The versions at freezing time.
        generation: Counts replacements; of two records with one generation the first written wins.
        tools: Names of the session tools, best first.
        tools_why: Why these tools, in words.
        preferences: The preference set that the prefix holds.
        first_seq: The first turn of the recent-turns window.
        budgets: The agent's at freezing time; a later profile replaces the record.
    """

    stamp: Stamp
    generation: int
    tools: tuple[str, ...]
    tools_why: str
    preferences: tuple[Preference, ...]
    first_seq: int
    budgets: Budgets

    def serves(self, stamp: Stamp) -> bool:
        """Tell whether a prefix rendered from this record may still be sent at `stamp`."""
        own = self.stamp
        return (own.agent_ver, own.catalog_ver, own.forget_ver, own.model, own.renderer) == (
            stamp.agent_ver,
            stamp.catalog_ver,
            stamp.forget_ver,
            stamp.model,
            stamp.renderer,
        )

    def is_newer_than(self, stamp: Stamp) -> bool:
        """Tell whether this record was written by a builder that has seen later versions than `stamp`."""
        own = self.stamp
        return (
            own.agent_ver > stamp.agent_ver or own.catalog_ver > stamp.catalog_ver or own.forget_ver > stamp.forget_ver
        )

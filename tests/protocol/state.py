"""The state of the modelled protocol: small tuples of numbers, so that equal states are one and can be sorted.

Values of the preference are named by their place in the history of its row; 0 is no value. Where something is not there,
or has not been read yet, a tuple of the same shape says so.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple


class Stamp(NamedTuple):
    """`preheat.stamp.Stamp`. -1: not read yet."""

    agent: int
    forget: int
    pref: int
    hist: int

    @property
    def order(self) -> int:
        return sum(self)

    @property
    def whole(self) -> bool:
        return self.agent >= 0 and self.pref >= 0

    def __str__(self) -> str:
        return f"a{self.agent}.f{self.forget}.p{self.pref}.h{self.hist}"


class Frozen(NamedTuple):
    """`preheat.stamp.Frozen`: what the prefix of the session holds. Generation -1: there is none; -2: not read yet."""

    generation: int
    agent: int
    forget: int
    value: int

    def serves(self, stamp: Stamp) -> bool:
        return self.agent == stamp.agent and self.forget == stamp.forget

    def is_newer_than(self, stamp: Stamp) -> bool:
        return self.agent > stamp.agent or self.forget > stamp.forget

    def __str__(self) -> str:
        if self.generation < 0:
            return "nothing"
        return f"generation {self.generation} at a{self.agent}.f{self.forget} with value {self.value}"


class Bundle(NamedTuple):
    """`preheat.bundle.Bundle`: what is sent is the prefix and, at the tail, the correction; 0 if there is none."""

    stamp: Stamp
    frozen: Frozen
    correction: int

    def __str__(self) -> str:
        if self == NO_BUNDLE:
            return "nothing"
        tail = {0: "", GONE: ", said to be gone"}.get(self.correction, f", corrected to {self.correction}")
        return f"a bundle at {self.stamp} with value {self.frozen.value}{tail}"


UNREAD_STAMP = Stamp(-1, -1, -1, -1)
NO_FROZEN, UNREAD_FROZEN = Frozen(-1, -1, -1, 0), Frozen(-2, -1, -1, 0)
NO_BUNDLE, UNREAD_BUNDLE = Bundle(UNREAD_STAMP, NO_FROZEN, 0), Bundle(UNREAD_STAMP, UNREAD_FROZEN, 0)
NO_VALUE, UNREAD_VALUE = 0, -1
# A correction that says that a value is gone: what the protocol never sends.
GONE = -2


class Act(IntEnum):
    """What a writer does."""

    SET = 0
    DELETE = 1
    REPLACE_AGENT = 2


class Writer(NamedTuple):
    """One write. `left` counts its steps to the acknowledgement; `row` is the place of the row that it has written."""

    act: Act
    left: int
    row: int = 0


class Phase(IntEnum):
    """What a builder or a reader does next."""

    IDLE = 0
    CHECK = 1
    EARLY_ROWS = 2
    VERSIONS = 3
    RENEW = 4
    ROWS = 5
    FREEZE = 6
    KEEP = 7
    APPEND = 8
    DONE = 9


class Run(NamedTuple):
    """A builder or a reader at work, and what it knows. What it needs no longer is forgotten.

    Attributes:
        phase: What it does next.
        floor: The place in the history of the last row acknowledged before it began; readers only.
        agent_floor: The same for the agent's version.
        found: What the cache held; once it is done, what it has built.
        stamp: The counters read.
        frozen: The session's frozen record as read.
        current: The row as read.
        lost: How often another's record was there when it froze.
        again: Whether it has met a conflict before.
    """

    phase: Phase
    floor: int = 0
    agent_floor: int = 0
    found: Bundle = NO_BUNDLE
    stamp: Stamp = UNREAD_STAMP
    frozen: Frozen = UNREAD_FROZEN
    current: int = UNREAD_VALUE
    lost: int = 0
    again: int = 0


class Shared(NamedTuple):
    """What the processes share: the records, the cache, the queue.

    Attributes:
        history: Every value that the row has had, the oldest first; 0 where it was deleted.
        pref: The user's counter.
        forget: The user's counter.
        hist: The user's counter.
        agent: The agent's version.
        acked: The place of the last acknowledged row in `history`.
        frozen: The session's frozen record.
        slot: The session's bundle in the cache.
        given: Every bundle that the weakest cache may return, `NO_BUNDLE` among them; empty where there is a slot.
        deliveries: How often a message can still start a builder.
        losses: How often the cache can still lose what it holds.
    """

    history: tuple[int, ...]
    pref: int
    forget: int
    hist: int
    agent: int
    acked: int
    frozen: Frozen
    slot: Bundle
    given: frozenset[Bundle]
    deliveries: int
    losses: int

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.agent, self.forget, self.pref, self.hist)


def of_use(shared: Shared, pending: Iterable[Stamp]) -> Shared:
    """Return the same without the bundles of the weakest cache that nobody can match or renew from now on.

    Counters only grow, so what is neither at the versions of now nor at those that a process has read is as good as
    nothing; and of what can only be renewed the tail does not matter, since renewing replaces it.

    Args:
        shared: As it is.
        pending: What the processes have read that are yet to look up, whole or in part.
    """
    stamps = [shared.stamp, *pending]
    agents = {stamp.agent for stamp in stamps}
    forgets = {stamp.forget for stamp in stamps}
    prefs = {stamp.pref for stamp in stamps}
    kept = {NO_BUNDLE}
    for stamp, frozen, correction in shared.given - kept:
        if frozen.agent in agents and frozen.forget in forgets:
            only_renewed = Bundle(stamp._replace(pref=0, hist=0), frozen, NO_VALUE)
            kept.add(Bundle(stamp, frozen, correction) if stamp.pref in prefs else only_renewed)
    return shared._replace(given=frozenset(kept))

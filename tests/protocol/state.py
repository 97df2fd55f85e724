"""The state of the modelled protocol: small tuples of numbers, so that equal states are one and can be sorted.

Values of the preference are named by their place in the history of its row; 0 is no value. Where something is not there
or has not been read yet, a tuple of the same shape says so.
"""

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


class Frozen(NamedTuple):
    """`preheat.stamp.Frozen`: the prefix of a session holds `value`."""

    generation: int
    agent: int
    forget: int
    value: int

    def serves(self, stamp: Stamp) -> bool:
        return self.agent == stamp.agent and self.forget == stamp.forget

    def is_newer_than(self, stamp: Stamp) -> bool:
        return self.agent > stamp.agent or self.forget > stamp.forget


class Bundle(NamedTuple):
    """`preheat.bundle.Bundle`: what is sent is the prefix and the correction at the tail, 0 if there is none."""

    stamp: Stamp
    frozen: Frozen
    correction: int


UNREAD_STAMP = Stamp(-1, -1, -1, -1)
NO_FROZEN, UNREAD_FROZEN = Frozen(-1, -1, -1, 0), Frozen(-2, -1, -1, 0)
NO_BUNDLE, UNREAD_BUNDLE = Bundle(UNREAD_STAMP, NO_FROZEN, 0), Bundle(UNREAD_STAMP, UNREAD_FROZEN, 0)
NO_VALUE, UNREAD_VALUE = 0, -1
# A correction that says that a value is gone: what the protocol must not send.
GONE = -2


class Act(IntEnum):
    """What a writer does."""

    SET = 0
    DELETE = 1
    REPLACE_AGENT = 2


class Writer(NamedTuple):
    """One write. `left` is the number of steps to its acknowledgement; `row` the place of the row it has written."""

    act: Act
    left: int
    row: int = 0


class Phase(IntEnum):
    """Where a builder or a reader stands: what it does next."""

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
    """A builder or a reader at work, and what it knows; what it no longer needs is forgotten.

    Attributes:
        phase: What it does next.
        floor: The place in the history of the last row acknowledged before it began; readers only.
        agent_floor: The same for the agent's version.
        found: What the cache held; when it is done, what it has built.
        stamp: The counters read.
        frozen: The session's frozen record as read.
        current: The row as read.
        again: Whether it has met a conflict before.
    """

    phase: Phase
    floor: int = 0
    agent_floor: int = 0
    found: Bundle = NO_BUNDLE
    stamp: Stamp = UNREAD_STAMP
    frozen: Frozen = UNREAD_FROZEN
    current: int = UNREAD_VALUE
    again: int = 0


class State(NamedTuple):
    """All that there is.

    Attributes:
        history: Every value that the row has had, the oldest first; 0 where it was deleted.
        pref, forget, hist: The user's counters.
        agent: The agent's.
        acked: The place of the last acknowledged row in `history`.
        frozen: The session's frozen record.
        slot: The session's bundle in the cache.
        given: Every bundle that the cache was ever given, where it may return them late.
        writers: Their writes.
        builders: Warm-ups.
        readers: Requests.
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
    writers: tuple[Writer, ...]
    builders: tuple[Run, ...]
    readers: tuple[Run, ...]
    deliveries: int
    losses: int


def canonical(state: State) -> State:
    """Return the same state with equal processes in one order."""
    builders, readers = tuple(sorted(state.builders)), tuple(sorted(state.readers))
    if builders == state.builders and readers == state.readers:
        return state
    return state._replace(builders=builders, readers=readers)

"""The steps of the freshness protocol, one function per real one: two writers, two builders, two readers.

The world is one user with one preference and one session with one agent: freshness is promised for each alone, so one of
each shows every way to lose it.

- A message may be lost, come twice or come late: a builder may start at any moment, or never, while deliveries are left.
- A crash may come before every step: the process is gone with all that it knew. A builder is started again by the next
  delivery; a request that crashes is one that takes no further step, which every search looks at anyway.
- The cache may lose what it holds at any moment and, where it lags, return whatever it has ever been given.
- Reads that the code makes side by side happen here in every order. The agent's and the user's counters are read by one
  call but at two moments: the table promises no more.

Two reductions keep the search small; neither hides a way to break a promise. A write is acknowledged as it commits and
a request begins with its first read: the strictest moments of both. And when no write can come any more, reads of
counters and rows, whose outcome nothing can change, are made before anything else.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.protocol.checker import Machine, Move
from tests.protocol.rules import Rules
from tests.protocol.state import (
    GONE,
    NO_BUNDLE,
    NO_FROZEN,
    NO_VALUE,
    UNREAD_BUNDLE,
    UNREAD_FROZEN,
    UNREAD_STAMP,
    UNREAD_VALUE,
    Act,
    Bundle,
    Frozen,
    Phase,
    Run,
    Stamp,
    State,
    Writer,
    canonical,
)

IDLE = Run(Phase.IDLE)
DONE = Run(Phase.DONE)
Moves = Iterator[Move[State]]

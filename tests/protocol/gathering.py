"""The steps of builders and readers: `warm_session` and `answer`, and `preheat.gather` that both go through.

Each function is named after the real one whose read or write it makes, and goes on to the next read or write: what is
computed between two of them nobody else can see.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.protocol.checker import Move
from tests.protocol.rules import Rules
from tests.protocol.state import (
    GONE,
    NO_BUNDLE,
    NO_VALUE,
    UNREAD_BUNDLE,
    UNREAD_FROZEN,
    UNREAD_VALUE,
    Act,
    Bundle,
    Frozen,
    Phase,
    Run,
    Stamp,
    State,
)
from tests.protocol.writing import put

Moves = Iterator[Move[State]]
_FREEZE_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Process:
    """One builder or reader in one state.

    Attributes:
        state: Before its step.
        number: Which one.
        run: What it knows.
        builds: Whether it is a builder.
        rules: What holds.
        saves: Whether a reader appends its turns and keeps the grown bundle.
    """

    state: State
    number: int
    run: Run
    builds: bool
    rules: Rules
    saves: bool

    def moves(self) -> Moves:
        """Return its next steps."""
        phase = self.run.phase
        if phase is Phase.IDLE or phase is Phase.CHECK:
            yield from self._check()
        elif phase is Phase.VERSIONS:
            yield from self._read_versions()
        elif phase is Phase.EARLY_ROWS or phase is Phase.RENEW:
            yield from self._list_preferences()
        elif phase is Phase.ROWS:
            yield from self._read_rows()
        elif phase is Phase.FREEZE:
            yield self._put_frozen()
        elif phase is Phase.KEEP:
            yield self._keep_bundle()
        elif phase is Phase.APPEND:
            yield self._append_turns()
        if self.builds and phase is not Phase.IDLE:
            yield Move(f"{self._name} crashes", self.state.with_builder(self.number, Run(Phase.IDLE)))

    def certain(self) -> "Moves | None":
        """Return its next read of counters or rows, if it has one: when all is written, nothing can change it."""
        phase, run = self.run.phase, self.run
        if phase is Phase.IDLE and not self.builds:
            return self._begun()._read_versions()
        if phase is Phase.VERSIONS or (phase is Phase.CHECK and not run.stamp.whole and not self.builds):
            return self._read_versions()
        if phase is Phase.EARLY_ROWS or phase is Phase.RENEW:
            return self._list_preferences()
        if phase is Phase.ROWS and run.current == UNREAD_VALUE:
            return self._list_preferences()
        return None

    def _begun(self) -> "Process":
        run = Run(Phase.CHECK, self.state.acked, self.state.agent, found=UNREAD_BUNDLE)
        return self._with(run)

    def _check(self) -> Moves:
        """Start: a builder looks up and then reads the counters, a reader does both side by side."""
        state = self.state
        if self.builds:
            if state.deliveries:
                started = state._replace(deliveries=state.deliveries - 1)
                run = Run(Phase.CHECK, found=UNREAD_BUNDLE)
                early = Phase.EARLY_ROWS if self.rules.reads_first == "rows" else Phase.VERSIONS
                ...
            return

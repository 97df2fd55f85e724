"""The freshness protocol as something to search: two writers, two builders, two readers around one session.

The world is one user with one preference and one session with one agent: freshness is promised for each alone, so one of
each shows every way to lose it.

- A message may be lost, come twice or come late: a builder may start at any moment, or never, while deliveries are left.
- A crash may come before every step: the process is gone with all that it knew. A builder is started again by the next
  delivery; without one, and for a request, to crash is to take no further step, which every search looks at anyway.
- The cache is a slot that may lose what it holds at any moment; or it is the weakest there can be, which may return
  whatever it was ever given, or nothing, however late.
- Reads that the code makes side by side happen here in every order. The agent's and the user's counters are read by one
  call but at two moments: the table promises no more.

Two reductions keep the search small; neither hides a way to break a promise. A write is acknowledged as it commits and
a request begins with its first read: the strictest moments of both. And when no write can come any more, reads of
counters and rows, whose outcome nothing can change, are made before anything else.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product, starmap
from typing import Final, Generic, NamedTuple, TypeVar

from tests.protocol.checker import Machine, Move
from tests.protocol.gathering import Process
from tests.protocol.rules import PROTOCOL, Rules
from tests.protocol.state import NO_BUNDLE, NO_FROZEN, NO_VALUE, Act, Phase, Run, Shared, Writer, of_use
from tests.protocol.writing import steps_of, write

Value = TypeVar("Value", bound=Hashable)
# What is shared, the writers, and builders and readers: each by its number in a table.
State = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
_WRITER: Final = "writer"
# The words that faults begin with.
PROMISES: Final = ("forgotten", "frozen", "put", "stale", "unverified")


class Table(Generic[Value]):
    """Numbers values, so that states are small and their steps are worked out once."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


@dataclass(frozen=True, slots=True)
class Scene:
    """Who takes part.

    Attributes:
        acts: What the writers do.
        builders: How many warm-ups can be at work at once.
        readers: How many requests there are.
        deliveries: How often a message can start a builder.
        losses: How often the slot can lose what it holds.
        weakest: Whether the cache is the weakest instead of a slot.
        saves: Whether requests append their turns and keep the grown bundle.
    """

    acts: tuple[Act, ...]
    builders: int = 2
    readers: int = 2
    deliveries: int = 2
    losses: int = 1
    weakest: bool = False
    saves: bool = False


class Protocol:
    """The search space of one scene under one set of rules. Steps are worked out once for equal circumstances."""

    def __init__(self, scene: Scene, rules: Rules = PROTOCOL, promises: tuple[str, ...] = PROMISES) -> None:
        self._scene = scene
        self._rules = rules
        self._promises = promises
        self._shared: Table[Shared] = Table()
        self._writers: Table[Writer] = Table()
        self._runs: Table[Run] = Table()
        # Runs that have read counters, or a part of them, and have yet to look up.
        self._looking: set[int] = set()
        self._writes = cache(self._write)
        self._standing = cache(self._stand)
        self._useful = cache(self._of_use)
        self._steps: dict[_Kind, Callable[[int, int], tuple[_Step, ...]]] = {
            kind: cache(partial(self._step, kind)) for kind in starmap(_Kind, product((False, True), repeat=3))
        }

    def machine(self) -> Machine[State]:
        """Return what the checker needs."""
        scene = self._scene
        shared = Shared(
            history=(NO_VALUE, 1),
            pref=1,
            forget=0,
            hist=0,
            agent=1,
            acked=1,
            frozen=NO_FROZEN,
            slot=NO_BUNDLE,
            given=frozenset({NO_BUNDLE}) if scene.weakest else frozenset(),
            deliveries=scene.deliveries,
            losses=0 if scene.weakest else scene.losses,
        )
        idle = self._runs.number(Run(Phase.IDLE))
        writers = tuple(self._writers.number(Writer(act, steps_of(act, self._rules))) for act in scene.acts)
        start = (self._shared.number(shared), writers, (idle,) * scene.builders, (idle,) * scene.readers)
        return Machine(start, self._moves, self._canonical)

    def _moves(self, state: State) -> Iterator[Move[State]]:
        shared, writers, builders, readers = state
        all_written, apart = self._standing(writers)
        if all_written:
            certain = self._certain_moves(state)
            if certain:
                return iter(certain)
        moves = [
            Move(
                (_WRITER, number, label), (after, (*writers[:number], left, *writers[number + 1 :]), builders, readers)
            )
            for number, writer in enumerate(writers)
            for label, after, left in self._writes(shared, writer)
        ]
        for builds, runs in ((False, readers), (True, builders)):
            steps = self._steps[_Kind(builds, apart, certain=False)]
            for number, run in enumerate(runs):
                moves += _moves_of(state, number, steps(shared, run), builds=builds)
        there = self._shared.values[shared]
        if there.losses and there.slot != NO_BUNDLE:
            lost = self._shared.number(there._replace(slot=NO_BUNDLE, losses=there.losses - 1))
            moves.append(Move(("cache", 0, "loses the bundle"), (lost, writers, builders, readers)))
        return iter(moves)

    def _certain_moves(self, state: State) -> list[Move[State]]:
        """Return one process's next read of counters or rows: the same one's for equal states, in whatever order."""
        shared, _, builders, readers = state
        for builds, runs in ((False, readers), (True, builders)):
            steps = self._steps[_Kind(builds, apart=False, certain=True)]
            ready = [run for run in runs if steps(shared, run)]
            if ready:
                run = min(ready)
                return _moves_of(state, runs.index(run), steps(shared, run), builds=builds)
        return []

    def _canonical(self, state: State) -> State:
        """Return one state for all that no step can tell apart."""
        shared, writers, builders, readers = state
        if self._scene.weakest:
            shared = self._useful(shared, tuple(sorted(self._looking.intersection(builders + readers))))
        return shared, writers, tuple(sorted(builders)), tuple(sorted(readers))

    def _stand(self, writers: tuple[int, ...]) -> tuple[bool, bool]:
        """Tell whether all is written, and whether counters may be read at two moments."""
        left = [writer for writer in map(self._writers.values.__getitem__, writers) if writer.left]
        return not left, any(writer.act is Act.REPLACE_AGENT for writer in left)

    def _of_use(self, shared: int, looking: tuple[int, ...]) -> int:
        stamps = [self._runs.values[run].stamp for run in looking]
        return self._shared.number(of_use(self._shared.values[shared], stamps))

    def _write(self, shared: int, writer: int) -> tuple[tuple[str, int, int], ...]:
        value = self._writers.values[writer]
        wrote = write(self._shared.values[shared], value, self._rules) if value.left else ()
        return tuple((one.label, self._shared.number(one.shared), self._writers.number(one.writer)) for one in wrote)

    def _step(self, kind: "_Kind", shared: int, run: int) -> tuple["_Step", ...]:
        there, standing = self._shared.values[shared], self._runs.values[run]
        process = Process(there, standing, self._rules, kind.builds, kind.apart, self._scene.saves)
        steps = []
        for went in process.certain_steps() if kind.certain else process.steps():
            after = self._runs.number(went.run)
            if went.run.phase in {Phase.CHECK, Phase.VERSIONS}:
                self._looking.add(after)
            fault = went.fault if went.fault.startswith(self._promises) else ""
            steps.append(_Step(went.label, self._shared.number(went.shared), after, fault))
        return tuple(steps)


class _Kind(NamedTuple):
    """Which steps: a builder's or a reader's, whether counters are read at two moments, only the certain ones or all."""

    builds: bool
    apart: bool
    certain: bool


class _Step(NamedTuple):
    """A step of a process in numbers."""

    label: str
    shared: int
    run: int
    fault: str


def _moves_of(state: State, number: int, steps: Iterable[_Step], *, builds: bool) -> list[Move[State]]:
    _, writers, builders, readers = state
    if builds:
        before, behind = builders[:number], builders[number + 1 :]
        return [
            Move(("builder", number, label), (shared, writers, (*before, run, *behind), readers), fault)
            for label, shared, run, fault in steps
        ]
    before, behind = readers[:number], readers[number + 1 :]
    return [
        Move(("reader", number, label), (shared, writers, builders, (*before, run, *behind)), fault)
        for label, shared, run, fault in steps
    ]

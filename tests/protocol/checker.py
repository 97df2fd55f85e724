"""An explicit-state model checker: every state that any interleaving of steps can reach, the nearest first."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State")


class Move(NamedTuple, Generic[State]):
    """One step of one process.

    Attributes:
        label: Who (a kind and a number, from 0) does what, in words.
        after: The state that it leaves.
        fault: Which promise the step breaks; empty when it breaks none.
    """

    label: tuple[str, int, str]
    after: State
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a search has found.

    Attributes:
        states: Different states met.
        moves: Steps tried.
        took_s: Seconds of the search.
        fault: The promise that was broken first; empty when none was.
        trace: The steps that lead there; the last one breaks it. No other way there takes fewer.
    """

    states: int
    moves: int
    took_s: float
    fault: str = ""
    trace: tuple[str, ...] = ()

    def __str__(self) -> str:
        counted = f"{self.states:,} states, {self.moves:,} steps, {self.took_s:.1f} s"
        if not self.fault:
            return f"holds ({counted})"
        steps = "\n".join(f"  {number:2}. {label}" for number, label in enumerate(self.trace, start=1))
        return f"{self.fault} ({counted})\n{steps}"


@dataclass(frozen=True, slots=True)
class Machine(Generic[State]):
    """What is searched.

    Attributes:
        start: Before any step.
        moves: Returns every step that some process can take next; the same state always gives the same steps.
        canonical: Returns one state for all those that differ only in which of two equal processes is which.
    """

    start: State
    moves: Callable[[State], Iterable[Move[State]]]
    canonical: Callable[[State], State]


def explore(machine: Machine[State]) -> Verdict:
    """Search until a step breaks a promise or no new state is left."""
    began = time.perf_counter()
    moves, canonical = machine.moves, machine.canonical
    parents: dict[State, State | None] = {canonical(machine.start): None}
    frontier = list(parents)
    tried = 0
    while frontier:
        reached: list[State] = []
        for state in frontier:
            for move in moves(state):
                tried += 1
                if move.fault:
                    trace = _trace(machine, [*_path(state, parents)], move.fault)
                    return Verdict(len(parents), tried, time.perf_counter() - began, move.fault, trace)
                after = canonical(move.after)
                if after not in parents:
                    parents[after] = state
                    reached.append(after)
        frontier = reached
    return Verdict(len(parents), tried, time.perf_counter() - began)


def _path(state: State, parents: dict[State, State | None]) -> list[State]:
    """Return the states from the start to `state`."""
    path = [state]
    while (parent := parents[path[-1]]) is not None:
        path.append(parent)
    return path[::-1]


def _told(label: tuple[str, int, str]) -> str:
    who, number, what = label
    return f"{who} {number + 1}: {what}"


def _trace(machine: Machine[State], path: list[State], fault: str) -> tuple[str, ...]:
    """Walk the path again with every process under its own name; labels are not kept during the search."""
    state = machine.start
    labels: list[str] = []
    for wanted in path[1:]:
        move = next(one for one in machine.moves(state) if not one.fault and machine.canonical(one.after) == wanted)
        labels.append(_told(move.label))
        state = move.after
    last = next(one for one in machine.moves(state) if one.fault == fault)
    return (*labels, _told(last.label))

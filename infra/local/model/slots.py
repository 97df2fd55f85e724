"""Which of llama.cpp's slots a session uses, and what is kept when there are more sessions than slots.

Left alone, llama.cpp takes the slot whose content is most like the prompt. Two sessions of one agent are alike, so the
second one takes the slot of the first and cuts off the first one's own tokens, with other slots empty (ran: 154 of 267
tokens left of a warm session, three of four slots unused). So the slot is chosen here: a session's own, else an empty
one, else the least recently used, whose content is first saved to a file. A new session starts from a copy of the
state that shares the longest beginning with it, as it would on vLLM, where equal blocks are shared.

This is the decision only; `parking` moves the bytes.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

# About a hundred tokens. Reading fewer anew costs little more than the 20 ms of a copy.
MIN_SHARED_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class Move:
    """One step before a call: save a slot to a file, or load a slot from it."""

    kind: Literal["save", "restore"]
    slot: int
    file: str


@dataclass(frozen=True, slots=True)
class Lease:
    """A slot that is held for one call, and what to do before it."""

    slot: int
    moves: tuple[Move, ...] = ()


@dataclass(slots=True)
class _Slot:
    index: int
    session: str | None = None
    text: str = ""
    used: int = 0
    leased: bool = False
    saved: bool = False  # the session's file holds what the slot holds


@dataclass(slots=True)
class _Parked:
    text: str
    file: str
    size_bytes: int = 0


@dataclass(slots=True)
class SlotTable:
    """The slots of one engine and the files beside them, by session; a session is any string.

    Args:
        count: Slots of the engine.
        limit_bytes: Most bytes of files; the least recently used go first.
    """

    count: int
    limit_bytes: int
    _slots: list[_Slot] = field(init=False)
    _parked: dict[str, _Parked] = field(default_factory=dict)  # least recently used first
    _clock: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self._slots = [_Slot(index) for index in range(self.count)]

    def lease(self, session: str, text: str) -> Lease | None:
        """Take a slot for a call whose prompt is `text`; None while all are taken."""
        own = next((slot for slot in self._slots if slot.session == session), None)
        if own is not None and not own.leased:
            return self._take(own, session)
        idle = [slot for slot in self._slots if not slot.leased]
        if not idle:
            return None
        target = min(idle, key=lambda slot: (bool(slot.text), slot.used))
        moves = [*self._save(target), *self._source(target, session, text)]
        # A second call of a session runs beside the first, in a slot that is nobody's.
        return self._take(target, None if own is not None else session, moves)

    def release(self, lease: Lease, text: str) -> None:
        """Give the slot back; it now holds the prompt `text`, or a beginning of it."""
        slot = self._slots[lease.slot]
        slot.leased, slot.saved, slot.used, slot.text = False, False, next(self._clock) + 1, text

    def saved(self, file: str, size_bytes: int) -> tuple[str, ...]:
        """Note the size of a file that was written; return the files to delete to stay under the limit."""
        for session, parked in list(self._parked.items()):
            if parked.file == file:
                parked.size_bytes = size_bytes
                self._parked[session] = self._parked.pop(session)
        dropped = []
        while self._parked and sum(parked.size_bytes for parked in self._parked.values()) > self.limit_bytes:
            session = next(iter(self._parked))
            dropped.append(self._parked.pop(session).file)
            self._mark_unsaved({session})
        return tuple(dropped)

    def lost(self, file: str) -> None:
        """Forget a file that could not be written or read."""
        sessions = {session for session, parked in self._parked.items() if parked.file == file}
        for session in sessions:
            del self._parked[session]
        self._mark_unsaved(sessions)

    def _mark_unsaved(self, sessions: Iterable[str | None]) -> None:
        for slot in self._slots:
            slot.saved = slot.saved and slot.session not in sessions

    def _take(self, slot: _Slot, session: str | None, moves: Iterable[Move] = ()) -> Lease:
        steps = tuple(moves)
        if steps or slot.session != session:
            slot.text, slot.saved = "", False
        slot.session, slot.leased = session, True
        return Lease(slot.index, steps)

    def _save(self, slot: _Slot) -> list[Move]:
        if slot.session is None or slot.saved or len(slot.text) < MIN_SHARED_CHARS:
            return []
        parked = self._parked.setdefault(slot.session, _Parked("", f"{next(self._clock)}.kv"))
        parked.text, slot.saved = slot.text, True
        return [Move("save", slot.index, parked.file)]

    def _source(self, target: _Slot, session: str, text: str) -> list[Move]:
        """Return the moves that bring the best beginning of `text` into the target; none when it is there."""
        parked = self._parked.get(session)
        if parked is not None:
            self._parked[session] = self._parked.pop(session)
            return [Move("restore", target.index, parked.file)]
        donors = [(common_chars(one.text, text), -1, one.file) for one in self._parked.values()]
        donors += [(common_chars(slot.text, text), slot.index, "") for slot in self._slots if not slot.leased]
        shared, index, file = max(donors, key=lambda donor: (donor[0], donor[1] < 0))  # a file before a slot
        if shared < MIN_SHARED_CHARS or shared <= common_chars(target.text, text):
            return []
        if index < 0:
            return [Move("restore", target.index, file)]
        donor = self._slots[index]
        saves = self._save(donor)
        if donor.session is None or donor.session not in self._parked:
            return []
        return [*saves, Move("restore", target.index, self._parked[donor.session].file)]


def common_chars(one: str, other: str) -> int:
    """Return the length of the longest common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low

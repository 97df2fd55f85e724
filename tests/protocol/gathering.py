"""The steps of builders and readers: `warm_session` and `answer`, and `preheat.gather`, which both go through.

Each method is named after the real function whose read or write it makes and goes on to the next read or write: what is
computed between two of them nobody else can see.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tests.protocol.rules import Rules
from tests.protocol.state import (
    GONE,
    NO_BUNDLE,
    NO_FROZEN,
    NO_VALUE,
    UNREAD_BUNDLE,
    UNREAD_FROZEN,
    UNREAD_VALUE,
    Bundle,
    Frozen,
    Phase,
    Run,
    Shared,
    Stamp,
)
from tests.protocol.writing import put

_FREEZE_TRIES: Final = 3


class Went(NamedTuple):
    """One step: what is done in words, what is shared after it, where the process stands, which promise is broken."""

    label: str
    shared: Shared
    run: Run
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Process:
    """One builder or reader before its next step.

    Attributes:
        shared: What it shares with the others.
        run: Where it stands.
        rules: What holds.
        builds: Whether it is a builder.
        apart: Whether the agent's and the user's counters may be read at two moments.
        saves: Whether a reader appends its turns and keeps the grown bundle.
    """

    shared: Shared
    run: Run
    rules: Rules
    builds: bool
    apart: bool
    saves: bool

    def steps(self) -> Iterator[Went]:
        """Return its next steps."""
        phase = self.run.phase
        if phase is Phase.IDLE:
            yield from self._start()
        elif phase is Phase.CHECK:
            yield from self._check()
        elif phase is Phase.VERSIONS:
            yield from self._read_versions()
        elif phase in {Phase.EARLY_ROWS, Phase.RENEW}:
            yield self._list_preferences()
        elif phase is Phase.ROWS:
            yield from self._read_rows()
        elif phase is Phase.FREEZE:
            yield self._put_frozen()
        elif phase is Phase.KEEP:
            yield self._keep_bundle(self.run.found)
        elif phase is Phase.APPEND:
            yield self._append_turns()
        if self.builds and phase is not Phase.IDLE and self.shared.deliveries:
            yield Went("crashes", self.shared, Run(Phase.IDLE))

    def certain_steps(self) -> Iterator[Went]:
        """Return its next read of counters or rows, if it has one: once all is written, any moment is as good."""
        phase, run = self.run.phase, self.run
        if phase is Phase.IDLE and not self.builds:
            yield from self._begun()._read_versions()
        elif phase is Phase.VERSIONS or (phase is Phase.CHECK and not run.stamp.whole):
            yield from self._read_versions()
        elif phase in {Phase.EARLY_ROWS, Phase.RENEW} or (phase is Phase.ROWS and run.current == UNREAD_VALUE):
            yield self._list_preferences()

    # --- warm_session and answer ---

    def _start(self) -> Iterator[Went]:
        if not self.builds:
            yield from self._begun()._check()
        elif self.shared.deliveries:
            shared = self.shared._replace(deliveries=self.shared.deliveries - 1)
            yield from replace(self, shared=shared, run=Run(Phase.CHECK, found=UNREAD_BUNDLE))._check()

    def _begun(self) -> "Process":
        return replace(self, run=Run(Phase.CHECK, self.shared.acked, self.shared.agent, found=UNREAD_BUNDLE))

    def _check(self) -> Iterator[Went]:
        """Look up and read the counters: a builder in this order, a reader side by side.

        The weakest cache only ever gains what it may return, so there the look-up is made as late as can be.
        """
        weakest = bool(self.shared.given)
        if not self.run.stamp.whole and (weakest or not self.builds):
            yield from self._read_versions()
        if self.run.found == UNREAD_BUNDLE and (self.run.stamp.whole or not weakest):
            yield from self._look_up()

    def _look_up(self) -> Iterator[Went]:
        for found in sorted(self.shared.given) or [self.shared.slot]:
            known = replace(self, run=self.run._replace(found=found))
            label = f"look_up finds {found}"
            if self.shared.given and known._renews():
                renews = replace(known, run=known.run._replace(phase=Phase.RENEW))
                yield renews._list_preferences(f"{label}; ")
            elif known.run.stamp.whole:
                yield known._bring_up_to_date(label)
            elif self.builds:
                early = self.rules.reads_first == "rows"
                yield self._at(known.run._replace(phase=Phase.EARLY_ROWS if early else Phase.VERSIONS), label)
            else:
                yield self._at(known.run, label)

    def _append_turns(self) -> Went:
        """The end of `answer`: append the turns, and keep the grown bundle unless anything else has moved."""
        shared, bundle = self.shared._replace(hist=self.shared.hist + 1), self.run.found
        then = replace(self, shared=shared)
        grown = bundle._replace(stamp=bundle.stamp._replace(hist=bundle.stamp.hist + 1))
        if grown.stamp != shared.stamp._replace(agent=grown.stamp.agent):
            return then._at(Run(Phase.DONE), "append_turns, something else has moved")
        if shared.given:
            return then._keep_bundle(grown, "append_turns; ")
        return then._at(Run(Phase.KEEP, found=grown), "append_turns")

    def _keep_bundle(self, bundle: Bundle, before: str = "") -> Went:
        after = put(self.shared, bundle, rules=self.rules)
        older = after.slot.stamp.order < self.shared.slot.stamp.order
        return Went(
            f"{before}keep_bundle of {bundle}",
            after,
            Run(Phase.IDLE if self.builds else Phase.DONE),
            "put: an older bundle took the place of a newer one" if older else "",
        )

    # --- gather ---

    def _read_versions(self) -> Iterator[Went]:
        """One call for two items: while an agent can still be replaced, two moments."""
        shared, stamp = self.shared, self.run.stamp
        if self.apart and stamp.agent < 0:
            yield self._read(stamp._replace(agent=shared.agent))
        agent = stamp.agent if stamp.agent >= 0 or self.apart else shared.agent
        if stamp.pref < 0:
            for forget, pref in self._counters():
                yield self._read(Stamp(agent, forget, pref, shared.hist))
        elif not self.apart:
            yield self._read(stamp._replace(agent=agent))

    def _counters(self) -> list[tuple[int, int]]:
        shared = self.shared
        if self.rules.reads_versions == "strongly":
            return [(shared.forget, shared.pref)]
        return [(shared.history[1 : pref + 1].count(NO_VALUE), pref) for pref in range(1, shared.pref + 1)]

    def _read(self, stamp: Stamp) -> Went:
        known = replace(self, run=self.run._replace(stamp=stamp))
        label = f"read_versions: {stamp}"
        if stamp.whole and self.run.found != UNREAD_BUNDLE:
            return known._bring_up_to_date(label)
        return self._at(known.run, label)

    def _renews(self) -> bool:
        found, stamp = self.run.found, self.run.stamp
        return found.stamp.pref != stamp.pref and found.frozen.serves(stamp)

    def _bring_up_to_date(self, label: str) -> Went:
        run, rules = self.run, self.rules
        found, stamp = run.found, run.stamp
        trusts = rules.builds == "when_expired" if self.builds else rules.serves == "anything"
        if found.stamp == stamp or (trusts and found != NO_BUNDLE):
            return self._finish(found, label)
        if self._renews():
            if run.current == UNREAD_VALUE:
                return self._at(run._replace(phase=Phase.RENEW), label)
            return self._compose(found.frozen, label)
        if found.frozen.serves(stamp):
            return self._finish(found._replace(stamp=stamp), label)
        return replace(self, run=run._replace(phase=Phase.ROWS, found=NO_BUNDLE))._build(label)

    def _list_preferences(self, before: str = "") -> Went:
        run = self.run._replace(current=self.shared.history[-1])
        label = f"{before}list_preferences: value {run.current}"
        known = replace(self, run=run)
        if run.phase is Phase.EARLY_ROWS:
            return self._at(run._replace(phase=Phase.VERSIONS), label)
        return known._compose(run.found.frozen, label) if run.phase is Phase.RENEW else known._build(label)

    def _read_rows(self) -> Iterator[Went]:
        if self.run.current == UNREAD_VALUE:
            yield self._list_preferences()
        if self.run.frozen == UNREAD_FROZEN:
            frozen = self.shared.frozen
            yield replace(self, run=self.run._replace(frozen=frozen))._build(f"read_frozen: {frozen}")

    def _build(self, label: str) -> Went:
        """Go on once all rows are read."""
        run, frozen = self.run, self.run.frozen
        if run.current == UNREAD_VALUE or frozen == UNREAD_FROZEN:
            return self._at(run, label)
        if frozen.serves(run.stamp) or (frozen != NO_FROZEN and not self.rules.replaces_frozen):
            return self._compose(frozen, label)
        return self._freeze(label)

    def _freeze(self, label: str) -> Went:
        """Write a record next, unless the one there is newer or every try is used up."""
        run = self.run
        if run.lost == _FREEZE_TRIES or (run.frozen.is_newer_than(run.stamp) and self.rules.respects_newer):
            return self._conflict(label)
        return self._at(run._replace(phase=Phase.FREEZE), label)

    def _put_frozen(self) -> Went:
        there, stamp = self.shared.frozen, self.run.stamp
        candidate = Frozen(self.run.frozen.generation + 1, stamp.agent, stamp.forget, self.run.current)
        wins = there.generation < candidate.generation or self.rules.put_frozen == "last_wins"
        winner = candidate if wins else there
        label = f"put_frozen of {candidate}" + ("" if wins else f"; there is {there}")
        run = self.run._replace(frozen=winner, lost=self.run.lost + 1)
        then = replace(self, shared=self.shared._replace(frozen=winner), run=run)
        went = then._compose(winner, label) if winner.serves(stamp) else then._freeze(label)
        return went if went.fault else went._replace(fault=_frozen_fault(there, winner))

    def _compose(self, frozen: Frozen, label: str) -> Went:
        """`with_corrections` and `assemble`: the prefix as frozen, at the tail what differs now."""
        current = self.run.current
        correction = NO_VALUE
        if frozen.value != current and self.rules.corrects:
            correction = current or (GONE if self.rules.deletion == "corrects" else NO_VALUE)
            if not correction and self.rules.refuses_deleted:
                return self._conflict(f"{label}, so it was deleted after the counters were read")
        return self._finish(Bundle(self.run.stamp, frozen, correction), label)

    def _conflict(self, label: str) -> Went:
        """Read the counters again, once. After that a builder fails, and a reader sends what needs no check: nothing."""
        run = self.run
        if not run.again:
            early = self.builds and self.rules.reads_first == "rows"
            again = Run(Phase.EARLY_ROWS if early else Phase.VERSIONS, run.floor, run.agent_floor, again=1)
            return self._at(again, f"{label}: a conflict, once more")
        late = not self.builds and run.floor == len(self.shared.history) - 1 and run.agent_floor == self.shared.agent
        return Went(
            f"{label}: a conflict, gives up",
            self.shared,
            Run(Phase.IDLE if self.builds else Phase.DONE),
            "unverified: an answer went without context, though all was written before its request began"
            if late
            else "",
        )

    def _finish(self, bundle: Bundle, label: str) -> Went:
        if self.builds:
            if self.shared.given:
                return self._keep_bundle(bundle, f"{label}; ")
            return self._at(Run(Phase.KEEP, found=bundle), label)
        then = Run(Phase.APPEND, found=bundle) if self.saves else Run(Phase.DONE)
        return Went(f"{label}; generate from {bundle}", self.shared, then, _served_fault(self.shared, self.run, bundle))

    def _at(self, run: Run, label: str) -> Went:
        return Went(label, self.shared, run)


def _served_fault(shared: Shared, run: Run, bundle: Bundle) -> str:
    """Return the promise that an answer breaks: by a value that it shows, or by the one that holds in the end."""
    history, prefix, correction = shared.history, bundle.frozen.value, bundle.correction
    deletions = [at for at in range(1, run.floor + 1) if history[at] == NO_VALUE]
    forgotten = {value for value in history[: max(deletions, default=0)] if value}
    if forgotten.intersection((prefix, correction)):
        return "forgotten: a value deleted before the request began was shown"
    holds = NO_VALUE if correction == GONE else correction or prefix
    if holds not in history[run.floor :]:
        return "stale: a value older than the last write acknowledged before the request began was served"
    if bundle.stamp.agent < run.agent_floor:
        return "stale: instructions older than the last write acknowledged before the request began were served"
    return ""


def _frozen_fault(there: Frozen, winner: Frozen) -> str:
    if winner != there and winner.generation <= there.generation:
        return "frozen: the first record of a generation was overwritten"
    if winner.agent < there.agent or winner.forget < there.forget:
        return "frozen: a record was replaced by an older builder"
    return ""

"""Brings a session's bundle to given versions, reading only the rows that differ.

Rows are read after the counters, so a bundle can hold newer rows than its stamp says, never older ones: the next reader
sees a newer counter and comes back here. One newer thing cannot be held: a deletion. The prefix may show a value of the
deleted key that was old even before, and no correction can speak of what is gone, so the counters are read again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from preheat.agent import Agent, AgentState
from preheat.building import assemble
from preheat.bundle import Bundle, outgrown
from preheat.errors import ConflictError
from preheat.freezing import freeze
from preheat.history import Turn
from preheat.ports import Ports
from preheat.preferences import Preference, for_agent
from preheat.prefill import RENDERER
from preheat.renewal import with_corrections, with_turns
from preheat.session import Scope
from preheat.stamp import Frozen, Stamp, UserState, stamp_of

# How many of the user's newest turns tell what the next session may need.
LOOK_BACK_TURNS: Final = 60
# How often an older record may take the place of ours while a session is frozen.
_FREEZE_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Spent:
    """Where the time of gathering went, in milliseconds."""

    retrieval_ms: float = 0.0
    tools_ms: float = 0.0
    assembly_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Gathered:
    """A bundle at the versions asked for, and what it took."""

    bundle: Bundle
    spent: Spent


@dataclass(frozen=True, slots=True)
class _Rows:
    agent: Agent
    frozen: Frozen | None
    current: Sequence[Preference]
    turns: Sequence[Turn]


def current_stamp(agent: AgentState, user: UserState, ports: Ports) -> Stamp:
    """Return the stamp that a bundle must carry to be served now."""
    return stamp_of(agent, user, model=ports.model, renderer=RENDERER)


def bring_up_to_date(scope: Scope, agent: AgentState, stamp: Stamp, *, found: Bundle | None, ports: Ports) -> Gathered:
    """Return the session's bundle at `stamp`.

    Args:
        scope: The session.
        agent: The state that `stamp` was made from.
        stamp: Made from counters read before this call.
        found: What the cache held, at any versions.
        ports: To the outside.

    Raises:
        ConflictError: another builder has seen later versions; read the counters again.
        SourceUnavailableError: rows could not be read.
    """
    if found is not None and found.stamp == stamp:
        return Gathered(found, Spent())
    if found is not None and found.frozen.serves(stamp):
        renewed = _renew_what_differs(scope, stamp, found=found, ports=ports)
        if renewed is not None:
            return renewed
    return _build(scope, agent, stamp, ports=ports)


def _renew_what_differs(scope: Scope, stamp: Stamp, *, found: Bundle, ports: Ports) -> Gathered | None:
    """Read only the rows whose counters moved; None when the session has outgrown its window."""
    records, clock = ports.records, ports.clock
    started = clock.monotonic_ms()
    turns = (
        ports.executor.submit(records.turns_from, scope.tenant, scope.user, first_seq=found.frozen.first_seq)
        if found.stamp.hist_seq != stamp.hist_seq
        else None
    )
    current = _preferences(scope, ports) if found.stamp.pref_ver != stamp.pref_ver else None
    rows = _up_to(turns.result(), stamp) if turns else None
    read = clock.monotonic_ms()
    renewed = found
    if current is not None:
        _refuse_if_deleted(found.frozen, current)
        renewed = with_corrections(renewed, stamp, current=current)
    if rows is not None:
        renewed = with_turns(renewed, stamp, session=scope.session, turns=rows, count=ports.count, now=clock.now())
    if outgrown(renewed):
        return None
    return Gathered(renewed, Spent(retrieval_ms=read - started, assembly_ms=clock.monotonic_ms() - read))


def _build(scope: Scope, agent: AgentState, stamp: Stamp, *, ports: Ports) -> Gathered:
    clock = ports.clock
    started = clock.monotonic_ms()
    rows = _read_rows(scope, agent, ports)
    read = clock.monotonic_ms()
    frozen = rows.frozen
    if frozen is None or not frozen.serves(stamp):
        frozen = _freeze(scope, rows, stamp, ports=ports)
    froze = clock.monotonic_ms()
    built = _assemble(scope, rows, frozen, stamp, ports=ports)
    if outgrown(built):
        frozen = _freeze(scope, rows, stamp, ports=ports)
        built = _assemble(scope, rows, frozen, stamp, ports=ports)
    done = clock.monotonic_ms()
    return Gathered(built, Spent(retrieval_ms=read - started, tools_ms=froze - read, assembly_ms=done - froze))


def _read_rows(scope: Scope, agent: AgentState, ports: Ports) -> _Rows:
    records = ports.records
    profile = ports.executor.submit(records.load_agent, scope.tenant, scope.agent, state=agent)
    frozen = ports.executor.submit(records.read_frozen, scope)
    current = ports.executor.submit(_preferences, scope, ports)
    turns = records.newest_turns(scope.tenant, scope.user, limit=LOOK_BACK_TURNS)
    return _Rows(profile.result(), frozen.result(), current.result(), turns)


def _preferences(scope: Scope, ports: Ports) -> tuple[Preference, ...]:
    """Read what the user wants of this agent; what is kept for other agents does not show here."""
    return for_agent(ports.records.list_preferences(scope.tenant, scope.user), scope.agent)


def _freeze(scope: Scope, rows: _Rows, stamp: Stamp, *, ports: Ports) -> Frozen:
    """Replace the session's record by one that serves `stamp`; a newer one is never replaced."""
    turns = _up_to(rows.turns, stamp)
    candidate = freeze(rows.agent, stamp, current=rows.current, turns=turns, count=ports.count)
    expires_at = ports.clock.now() + ports.limits.session_ttl_s
    there = rows.frozen
    for _ in range(_FREEZE_TRIES):
        if there is not None and there.is_newer_than(stamp):
            break
        candidate = replace(candidate, generation=there.generation + 1 if there else 0)
        there = ports.records.put_frozen(scope, candidate, expires_at=expires_at)
        if there.serves(stamp):
            return there
    raise ConflictError("another builder froze the session at other versions than those read")


def _assemble(scope: Scope, rows: _Rows, frozen: Frozen, stamp: Stamp, *, ports: Ports) -> Bundle:
    _refuse_if_deleted(frozen, rows.current)
    turns: Sequence[Turn] = rows.turns
    if turns and turns[0].seq > max(frozen.first_seq, 1):
        turns = ports.records.turns_from(scope.tenant, scope.user, first_seq=frozen.first_seq)
    return assemble(
        rows.agent,
        frozen,
        stamp,
        session=scope.session,
        current=rows.current,
        turns=_up_to(turns, stamp),
        count=ports.count,
        now=ports.clock.now(),
    )


def _refuse_if_deleted(frozen: Frozen, current: Sequence[Preference]) -> None:
    """Raise `ConflictError` when a key of the prefix is gone: it was deleted after the counters were read."""
    gone = {one.key for one in frozen.preferences}.difference(one.key for one in current)
    if gone:
        raise ConflictError("a preference was deleted after the versions were read")


def _up_to(turns: Sequence[Turn], stamp: Stamp) -> list[Turn]:
    return [turn for turn in turns if turn.seq <= stamp.hist_seq]

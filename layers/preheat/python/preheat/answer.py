"""Use case: answer a message from what is warm, never from what is old.

The versions and the cache are read side by side. Equal versions are served as they are; otherwise only what differs is
read again; what cannot be verified is left out and named. Only the engine itself can make an answer fail.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from preheat import keys, prefill
from preheat.bundle import Bundle, outgrown
from preheat.errors import (
    ConflictError,
    EntryTooLargeError,
    InvalidInputError,
    NotFoundError,
    SourceUnavailableError,
    StoreUnavailableError,
    UserErasedError,
)
from preheat.gather import Gathered, Spent, bring_up_to_date, current_stamp
from preheat.history import ToolCall, Turn
from preheat.ports import Delta, Finished, NewTurn, Ports, Versions
from preheat.prefill import NewMessage, Sampling
from preheat.renewal import with_appended, without_unverified
from preheat.report import AnswerItem, AnswerReport, CallsMade, Phases, section_lines
from preheat.session import Scope
from preheat.stamp import UserState
from preheat.tool_calls import ToolCallReader
from preheat.verdict import Served, judge, next_receipt
from preheat.warm_state import SETTLE_S, WarmState, drop, is_void, keep_bundle, keep_receipt, look_up


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """One message to answer.

    Attributes:
        scope: The session; its tenant and user are the verified caller's.
        new: The messages since the last answer, oldest first, at least one.
        sampling: How to generate.
        request_id: Makes saving the turns idempotent.
        repeatable: The caller chose the id and may send it again, so its turns may be on record already.
        accepted_ms: When the request came in, on the clock's monotonic scale.
    """

    scope: Scope
    new: tuple[NewMessage, ...]
    sampling: Sampling
    request_id: str
    accepted_ms: float
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """A whole answer: its text, the calls taken out of it, and the engine's word on it."""

    text: str
    calls: tuple[ToolCall, ...]
    finished: Finished


def answer(request: AnswerRequest, ports: Ports) -> Iterator[AnswerItem]:
    """Stream the answer; the last item is the report. Errors come before the first item, or break the stream.

    An answer that breaks off, on either side, is not saved: its turns are saved once it is whole.

    Raises:
        NotFoundError: no such agent, or no such live session of this user.
        InvalidInputError: the session belongs to another agent.
        EndpointUnavailableError: the model cannot answer now.
        EndpointRefusedError: the engine refuses this prompt.
    """
    clock = ports.clock
    versions, warm, faults = _check(request.scope, ports)
    checked_ms = clock.monotonic_ms()
    gathered = _gather(request.scope, versions, warm, ports)
    spent = gathered.spent if gathered else Spent()
    served = Served(warm.bundle, gathered.bundle if gathered else None, warm.receipt, faults)
    rendering_ms = clock.monotonic_ms()
    engine_request = prefill.answer_request(
        served.bundle,
        request.new,
        salt=keys.tenant_salt(request.scope.tenant),
        prefix_id=request.scope.session,
        sampling=request.sampling,
    )
    started_at = clock.now()
    handed_ms = clock.monotonic_ms()
    first_ms: float | None = None
    reader = ToolCallReader(id_prefix=f"call-{request.request_id}")
    text: list[str] = []
    for item in ports.endpoint.generate(engine_request):
        if isinstance(item, Delta):
            first_ms = first_ms or clock.monotonic_ms()
        shown = reader.feed(item.text) if isinstance(item, Delta) else reader.finish()
        if shown:
            text.append(shown)
            yield Delta(shown)
        if isinstance(item, Delta):
            continue
        done_ms = clock.monotonic_ms()
        first_ms = first_ms or done_ms
        phases = Phases(
            check=checked_ms - request.accepted_ms,
            retrieval=spent.retrieval_ms,
            tools=spent.tools_ms,
            assembly=spent.assembly_ms + handed_ms - rendering_ms,
            prefill=first_ms - handed_ms,
            decode=done_ms - first_ms,
        )
        if reader.calls:
            yield CallsMade(tuple(reader.calls))
        said = Said("".join(text), tuple(reader.calls), item)
        saved, unsaved = _save(request, said, served=served, known=versions, started_at=started_at, ports=ports)
        state, reasons = judge(served, item.usage, engine_id=item.engine_id)
        yield AnswerReport(
            state=state,
            stamp=str(served.bundle.stamp) if served.bundle else "",
            ttft_ms=first_ms - request.accepted_ms,
            ms=phases,
            warmed_tokens=warm.receipt.warmed_tokens if warm.receipt else 0,
            reused_tokens=item.usage.cached_tokens,
            usage=item.usage,
            engine_id=item.engine_id,
            finish_reason="tool_calls" if reader.calls else item.finish_reason,
            hist_seq=saved,
            reasons=(*reasons, *unsaved),
            missing=served.bundle.missing if served.bundle else (),
            sections=section_lines(served.bundle, now=clock.now()),
        )


def _check(scope: Scope, ports: Ports) -> tuple[Versions | None, WarmState, tuple[str, ...]]:
    """Read versions and cache side by side, and refuse what does not exist. None: the versions cannot be read."""
    cached = ports.executor.submit(look_up, scope, ports)
    try:
        versions: Versions | None = ports.records.read_versions(scope)
    except SourceUnavailableError:
        versions = None
    faults: tuple[str, ...] = ()
    try:
        warm = cached.result()
    except StoreUnavailableError:
        warm = WarmState()
        faults = ("store_unavailable",)
    faults = tuple(f"{tier}_unavailable" for tier in ports.store.faults(now=ports.clock.now())) or faults
    if versions is None:
        return None, warm, (*faults, "versions_unreadable")
    _refuse_unknown(scope, versions, ports)
    return versions, warm, faults


def _refuse_unknown(scope: Scope, versions: Versions, ports: Ports) -> None:
    if versions.agent is None:
        raise NotFoundError(f"agent {scope.agent!r} is not registered")
    if versions.session is None or versions.session.expires_at <= ports.clock.now():
        raise NotFoundError(f"session {scope.session!r} is not known, or has expired")
    if versions.session.agent != scope.agent:
        raise InvalidInputError("the session was started with another agent", field="model")


def _gather(scope: Scope, versions: Versions | None, warm: WarmState, ports: Ports) -> Gathered | None:
    """Bring the bundle to the versions read. What cannot be verified is left out; None: all of it."""
    if versions is None or versions.agent is None:
        return None
    stamp = current_stamp(versions.agent, versions.user, ports)
    try:
        return bring_up_to_date(scope, versions.agent, stamp, found=warm.bundle, ports=ports)
    except ConflictError:
        return _gather_again(scope, ports)
    except SourceUnavailableError:
        if warm.bundle is not None and warm.bundle.frozen.serves(stamp):
            return Gathered(without_unverified(warm.bundle, stamp), Spent())
        return None


def _gather_again(scope: Scope, ports: Ports) -> Gathered | None:
    """Versions moved while we were reading: read them again, once, and build from the rows."""
    try:
        versions = ports.records.read_versions(scope)
        _refuse_unknown(scope, versions, ports)
        if versions.agent is None:
            return None
        stamp = current_stamp(versions.agent, versions.user, ports)
        return bring_up_to_date(scope, versions.agent, stamp, found=None, ports=ports)
    except (ConflictError, SourceUnavailableError):
        return None


def _save(
    request: AnswerRequest, said: Said, *, served: Served, known: Versions | None, started_at: float, ports: Ports
) -> tuple[int, tuple[str, ...]]:
    """Append the exchange and keep what the next message can start from; return `hist_seq` and what failed.

    Nothing is written for a user who was erased since the answer began.
    """
    scope, saving_ms = request.scope, ports.clock.monotonic_ms()
    new = [
        NewTurn(f"{request.request_id}-{n}", scope.session, one.role, one.content, tool_call_id=one.tool_call_id)
        for n, one in enumerate(request.new)
    ]
    if said.text or said.calls:
        turn_id = f"{request.request_id}-answer"
        new.append(NewTurn(turn_id, scope.session, "assistant", said.text, tool_calls=said.calls))
    try:
        erase_ver = _erase_ver(scope, known, started_at, ports)
        state = ports.records.append_turns(scope.tenant, scope.user, turns=new, erase_ver=erase_ver)
    except (ConflictError, InvalidInputError, SourceUnavailableError):
        return 0, ("turns_not_saved",)
    except UserErasedError as error:
        return 0, ("turns_not_saved", error.code)
    before = served.bundle
    plain = said.text and not said.calls and all(one.role == "user" for one in request.new)
    if before is None or not plain or _moved_otherwise(before, state, added=len(new)):
        return state.hist_seq, ()
    if request.repeatable and not _are_newest(new, scope, before, ports):
        return state.hist_seq, ()
    stamp = replace(before.stamp, hist_seq=state.hist_seq)
    turns = [
        Turn(before.stamp.hist_seq + 1 + n, one.turn_id, one.session, one.role, one.content)
        for n, one in enumerate(new)
    ]
    grown = with_appended(before, stamp, turns=turns, count=ports.count, now=ports.clock.now())
    if outgrown(grown) or before.missing:
        return state.hist_seq, ()
    receipt = next_receipt(
        served,
        grown,
        said.finished.usage,
        engine_id=said.finished.engine_id,
        started_at=started_at,
        ttl_s=ports.limits.prefill.ttl_s,
    )
    unkept: tuple[str, ...] = ()
    try:
        keep_bundle(scope, grown, ports)
        keep_receipt(scope, grown, receipt, ports)
    except (StoreUnavailableError, EntryTooLargeError):
        unkept = ("bundle_not_kept",)
    if ports.clock.monotonic_ms() - saving_ms >= SETTLE_S * 1000:
        _take_back_if_void(scope, grown, ports)
    return state.hist_seq, unkept


def _erase_ver(scope: Scope, known: Versions | None, started_at: float, ports: Ports) -> int:
    """Return the user's `erase_ver` as it was when the answer began.

    Raises:
        UserErasedError: it could not be read then, and the session is not that of then.
        SourceUnavailableError: it still cannot be read.
    """
    if known is not None:
        return known.user.erase_ver
    versions = ports.records.read_versions(scope)
    if versions.session is None or versions.session.created_at > started_at:
        raise UserErasedError("the session is gone")
    return versions.user.erase_ver


def _take_back_if_void(scope: Scope, bundle: Bundle, ports: Ports) -> None:
    """Do not leave behind what came so late that somebody may have forgotten it, and cleared the store, before it."""
    try:
        if is_void(scope, bundle, ports):
            drop(scope, bundle, ports)
    except (SourceUnavailableError, StoreUnavailableError):
        return


def _moved_otherwise(before: Bundle, state: UserState, *, added: int) -> bool:
    """Tell whether anything but our own turns was written since the bundle's versions were read."""
    stamp = before.stamp
    return (state.forget_ver, state.pref_ver, state.hist_seq) != (
        stamp.forget_ver,
        stamp.pref_ver,
        stamp.hist_seq + added,
    )


def _are_newest(new: Sequence[NewTurn], scope: Scope, before: Bundle, ports: Ports) -> bool:
    """Tell whether exactly these turns follow the bundle's: a repeated request adds none, others may have."""
    try:
        rows = ports.records.turns_from(scope.tenant, scope.user, first_seq=before.stamp.hist_seq + 1)
    except SourceUnavailableError:
        return False
    return [turn.turn_id for turn in rows] == [turn.turn_id for turn in new]

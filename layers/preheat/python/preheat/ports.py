"""What the use cases need from the outside, as protocols. The fakes ship too, in `preheat.adapters.memory_*`.

Errors are those of `preheat.errors`; an adapter lets no vendor error through. Times named `now` are epoch seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Protocol

from preheat.agent import Agent, AgentState, Profile
from preheat.history import Role, ToolCall, Turn
from preheat.keys import WarmKey
from preheat.policy import PrefillPolicy
from preheat.preferences import Preference, PreferenceValue
from preheat.prefill import EngineRequest, Usage
from preheat.session import AgentId, Scope, SessionId, SessionRecord, TenantId, UserId
from preheat.stamp import Frozen, UserState
from preheat.tools import Tool


@dataclass(frozen=True, slots=True)
class Versions:
    """One strongly consistent look at the counters. None where the item does not exist."""

    agent: AgentState | None
    user: UserState
    session: SessionRecord | None


@dataclass(frozen=True, slots=True)
class NewTurn:
    """One turn to append. `turn_id` is the client's: the same id is appended once."""

    turn_id: str
    session: SessionId
    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


class Records(Protocol):
    """The source of truth. Every read is strongly consistent; a write returns after it has committed.

    Every method raises `SourceUnavailableError` when the records cannot be reached.
    """

    def read_versions(self, scope: Scope) -> Versions:
        """Read the agent's, the user's and the session's item in one round trip."""
        ...

    def load_agent(self, tenant: TenantId, agent: AgentId, *, state: AgentState) -> Agent:
        """Return the agent's documents that `state` names. They are immutable, so they may be kept in memory."""
        ...

    def read_agent_state(self, tenant: TenantId, agent: AgentId) -> AgentState | None:
        """Return the agent's counters; None when it was never registered."""
        ...

    def put_agent(self, tenant: TenantId, agent: AgentId, *, profile: Profile, catalog: Sequence[Tool]) -> AgentState:
        """Register or replace an agent. Equal documents are a no-op; each changed one moves its counter by one.

        Raises:
            ConflictError: another writer won every retry.
        """
        ...

    def list_preferences(self, tenant: TenantId, user: UserId) -> tuple[Preference, ...]:
        """Return the user's whole preference set, sorted by key."""
        ...

    def read_user_state(self, tenant: TenantId, user: UserId) -> UserState:
        """Return the user's counters; zeros when nothing was ever written."""
        ...

    def set_preference(
        self, tenant: TenantId, user: UserId, *, key: str, value: PreferenceValue, now: float
    ) -> UserState:
        """Set one preference with its counter, in one transaction. The same value again is a no-op."""
        ...

    def delete_preference(self, tenant: TenantId, user: UserId, *, key: str, now: float) -> UserState:
        """Delete one preference; moves `pref_ver` and `forget_ver`. A key that is not there is a no-op."""
        ...

    def append_turns(self, tenant: TenantId, user: UserId, *, turns: Sequence[NewTurn]) -> UserState:
        """Append turns in order with their counter, at most 40, all or none. Known turn ids are skipped."""
        ...

    def newest_turns(self, tenant: TenantId, user: UserId, *, limit: int) -> tuple[Turn, ...]:
        """Return the user's newest turns, oldest first."""
        ...

    def turns_from(self, tenant: TenantId, user: UserId, *, first_seq: int) -> tuple[Turn, ...]:
        """Return the user's turns from `first_seq` on, oldest first."""
        ...

    def create_session(self, scope: Scope, *, warm: bool, now: float, expires_at: float) -> SessionRecord:
        """Record a session; return the one already there when the id is known.

        Raises:
            SessionTakenError: the id belongs to a session with another agent.
        """
        ...

    def list_sessions(self, tenant: TenantId, user: UserId, *, now: float) -> tuple[SessionRecord, ...]:
        """Return the user's sessions that have not expired, sorted by id."""
        ...

    def read_frozen(self, scope: Scope) -> Frozen | None:
        """Return what the session keeps for its life; None when nothing was frozen yet."""
        ...

    def put_frozen(self, scope: Scope, frozen: Frozen, *, expires_at: float) -> Frozen:
        """Write the record unless one of its generation or a later one is there; return the one that is there now."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One warm entry. `order` grows with its versions; `expires_at` is in epoch seconds."""

    key: WarmKey
    order: int
    body: bytes
    expires_at: float


class WarmStore(Protocol):
    """One tier, or several, of what can be built again.

    Every method raises `StoreUnavailableError` when the tier cannot be reached.
    """

    def get_many(self, keys: Sequence[WarmKey], *, now: float) -> Mapping[WarmKey, Entry]:
        """Return the entries that are there, whole and not expired, in one round trip."""
        ...

    def put(self, entry: Entry, *, now: float) -> bool:
        """Store the entry unless a newer, live one is there; tell whether it was stored.

        Raises:
            EntryTooLargeError: the body is over `preheat.envelope.MAX_BODY_BYTES`.
        """
        ...

    def add(self, entry: Entry, *, now: float) -> bool:
        """Store the entry only when no live one is there; tell whether it was stored."""
        ...

    def delete(self, keys: Sequence[WarmKey]) -> None:
        """Remove the entries; keys that are not there are no error."""
        ...

    def faults(self, *, now: float) -> tuple[str, ...]:
        """Return the names of the tiers that are out of service now; empty when all serve."""
        ...


@dataclass(frozen=True, slots=True)
class Prefilled:
    """The engine's answer to a warm-up."""

    usage: Usage
    engine_id: str


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer's text as it comes out."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of an answer: the engine's count, the replica that gave it, and why it stopped."""

    usage: Usage
    engine_id: str
    finish_reason: str


class ModelEndpoint(Protocol):
    """The engine. Raises `EndpointUnavailableError` or `EndpointRefusedError`, also in the middle of a stream."""

    def prefill(self, request: EngineRequest) -> Prefilled:
        """Make the engine read the request's messages."""
        ...

    def generate(self, request: EngineRequest) -> Iterator[Delta | Finished]:
        """Stream the answer; the last item is `Finished`. The call is made when the first item is asked for."""
        ...


class EventBus(Protocol):
    """Where events are published. Correctness never depends on one arriving."""

    def publish(self, detail_type: str, detail: Mapping[str, object]) -> None:
        """Publish one event of ours.

        Raises:
            SourceUnavailableError: the bus did not take it.
        """
        ...


class DeadLetters(Protocol):
    """Where a record goes that no retry can help."""

    def reject(self, body: str, *, message_id: str, source_queue: str, code: str, reason: str) -> None:
        """Keep the record with its reason.

        Raises:
            SourceUnavailableError: the queue did not take it; the record must be retried.
        """
        ...


class Clock(Protocol):
    """Time from outside."""

    def now(self) -> float:
        """Return epoch seconds."""
        ...

    def monotonic_ms(self) -> float:
        """Return milliseconds that only grow, for durations."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """The deployment's own numbers. Lifetimes in seconds."""

    model: str
    bundle_ttl_s: float
    session_ttl_s: float
    claim_ttl_s: float
    prefill: PrefillPolicy


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything that a use case may touch, built once by `preheat.runtime`. `executor` overlaps waiting calls."""

    records: Records
    store: WarmStore
    endpoint: ModelEndpoint
    bus: EventBus
    clock: Clock
    executor: Executor
    limits: Limits

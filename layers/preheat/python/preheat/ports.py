"""What the use cases need from the outside, as protocols. The fakes ship too, in `preheat.adapters.memory_*`.

Errors are those of `preheat.errors`; an adapter lets no vendor error through. Times named `now` are epoch seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from preheat.agent import Agent, AgentState, Profile
from preheat.canonical import as_data
from preheat.history import Role, ToolCall, Turn
from preheat.keys import WarmKey
from preheat.policy import PrefillPolicy
from preheat.preference_set import Mark
from preheat.preferences import NewPreference, Preference, PreferenceValue, Source
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


@dataclass(frozen=True, slots=True)
class TurnPage:
    """A part of a user's log, oldest first. `next_after` is where the next part begins; None: there is no more."""

    turns: tuple[Turn, ...]
    next_after: int | None


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
        """Return the user's whole set, of all agents, sorted by key, the general one before those of agents.

        It is one moment's, and not older than counters that were read before the call.
        """
        ...

    def read_user_state(self, tenant: TenantId, user: UserId) -> UserState:
        """Return the user's counters; zeros when nothing was ever written."""
        ...

    def set_preference(  # noqa: PLR0913  # what makes up a preference, one by one
        self,
        tenant: TenantId,
        user: UserId,
        *,
        key: str,
        value: PreferenceValue,
        now: float,
        agent: AgentId | None = None,
        options: tuple[str, ...] = (),
        source: Source = "stated",
        mark: Mark | None = None,
    ) -> UserState:
        """Set one preference with its counter, in one transaction. The same again is a no-op that ends its drift.

        With `mark` the change was made elsewhere: it is a no-op too when it is not newer than what is known of the
        key, its deletion included.

        Raises:
            InvalidInputError: the value cannot be kept, or the user has as many preferences as one may have.
        """
        ...

    def delete_preference(
        self,
        tenant: TenantId,
        user: UserId,
        *,
        key: str,
        now: float,
        agent: AgentId | None = None,
        mark: Mark | None = None,
    ) -> UserState:
        """Delete one preference; moves `pref_ver` and `forget_ver`. A key that is not there is a no-op.

        `mark` is that of a deletion made elsewhere, as in `set_preference`.
        """
        ...

    def replace_preferences(
        self, tenant: TenantId, user: UserId, *, wanted: Sequence[NewPreference], now: float
    ) -> UserState:
        """Make the whole set exactly `wanted`, with the counters, in one transaction.

        What says the same keeps its version and its drift; what is gone counts as deleted.

        Raises:
            InvalidInputError: a value cannot be kept, a name is there twice, or there are too many.
        """
        ...

    def observe_preference(
        self, tenant: TenantId, user: UserId, *, key: str, value: PreferenceValue, agent: AgentId | None = None
    ) -> Preference:
        """Count behaviour that contradicts the stored value; moves no counter. Return what it was held against.

        Where the agent has no preference of its own it is held against the general one.

        Raises:
            NotFoundError: there is no such preference.
            InvalidInputError: the value could not be kept.
        """
        ...

    def append_turns(
        self, tenant: TenantId, user: UserId, *, turns: Sequence[NewTurn], erase_ver: int | None = None
    ) -> UserState:
        """Append turns in order with their counter, at most 40, all or none. Known turn ids are skipped.

        Raises:
            UserErasedError: `erase_ver` is given and has moved.
        """
        ...

    def newest_turns(self, tenant: TenantId, user: UserId, *, limit: int) -> tuple[Turn, ...]:
        """Return the user's newest turns, oldest first."""
        ...

    def turns_from(self, tenant: TenantId, user: UserId, *, first_seq: int) -> tuple[Turn, ...]:
        """Return the user's turns from `first_seq` on, oldest first."""
        ...

    def turn_page(self, tenant: TenantId, user: UserId, *, after: int, limit: int) -> TurnPage:
        """Return at most `limit` of the user's turns after the one numbered `after`, oldest first, by one bounded read.

        Large turns make a page shorter; it is empty only where the log has nothing more.
        """
        ...

    def create_session(
        self, scope: Scope, *, warm: bool, now: float, expires_at: float, asked_at: float | None = None
    ) -> SessionRecord:
        """Record a session; return the one already there when the id is known.

        Args:
            scope: The session.
            warm: Whether it is to be warmed.
            now: Epoch seconds.
            expires_at: Epoch seconds.
            asked_at: When the session was asked for, in epoch seconds, if that may be a while ago.

        Raises:
            SessionTakenError: the id belongs to a session with another agent.
            UserErasedError: there is no such session, and the user was erased at `asked_at` or later.
        """
        ...

    def list_sessions(self, tenant: TenantId, user: UserId, *, now: float) -> tuple[SessionRecord, ...]:
        """Return the user's sessions that have not expired, sorted by id."""
        ...

    def read_frozen(self, scope: Scope) -> Frozen | None:
        """Return what the session keeps for its life; None when nothing was frozen yet."""
        ...

    def put_frozen(self, scope: Scope, frozen: Frozen, *, expires_at: float) -> Frozen:
        """Write the record unless one of its generation or a later one is there; return the one that is there now.

        Raises:
            ConflictError: what the record was made of has been forgotten since.
        """
        ...

    def erase_user(self, tenant: TenantId, user: UserId, *, now: float, settle_s: float, kept_until: float) -> "Erased":
        """Remove all rows of a user. What stays is the counters, so that nothing older can ever pass for current.

        `forget_ver` and `erase_ver` move before rows go, and again until nothing is left to go. Again after an end in
        the middle, it removes the rest.

        Args:
            tenant: Of the user.
            user: Who is erased; it need not be known.
            now: Epoch seconds.
            settle_s: How long after their last move it looks for rows once more, and returns. What was begun on
                counters of before and takes longer must look at them again.
            kept_until: When counters of a user who has not come back may go too, in epoch seconds: later than anything
                lives that was built at counters before.

        Raises:
            ConflictError: others write to the user again and again.
        """
        ...


@dataclass(frozen=True, slots=True)
class Erased:
    """What was removed of a user's rows: their sort keys, sorted. Not `complete`: rows are left, call again."""

    rows: tuple[str, ...]
    complete: bool


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

    def erase_user(self, tenant: TenantId, user: UserId) -> Mapping[str, frozenset[WarmKey]]:
        """Remove all entries of a user, whichever they are, from every tier; return the keys removed, by tier.

        Raises:
            StoreUnavailableError: a tier, named, may still hold entries. The others were asked all the same.
        """
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


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how alike they are. Vectors of different models cannot be compared.

    Attributes:
        model: Names weights and pooling; whatever holds vectors holds this too.
        dims: Numbers in a vector.
    """

    model: str
    dims: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 for each text, shape (len(texts), dims).

        Raises:
            InvalidInputError: a text is blank, so that it has no direction; `field` says which.
            EmbedderUnavailableError: no embedding can be made now.
        """
        ...


class TokenCounter(Protocol):
    """Counts tokens as the model's tokenizer does, or too many; never too few."""

    @property
    def name(self) -> str:
        """Says how tokens are counted. What was chosen by one counter is never mixed with what another one chose.

        Raises:
            SettingsError: the tokenizer cannot be used.
        """
        ...

    def count(self, text: str) -> int:
        """Return the tokens of a text; marks of a chat template in it count as plain text.

        Raises:
            SettingsError: the tokenizer cannot be used.
        """
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
    """The deployment's own numbers. Lifetimes in seconds; `model` is what the engine serves."""

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
    counter: TokenCounter
    bus: EventBus
    clock: Clock
    executor: Executor
    limits: Limits

    @property
    def model(self) -> str:
        """Model and tokenizer, as stamps and keys name them: another counter chooses other tools and turns."""
        return f"{self.limits.model}+{self.counter.name}"

    def count(self, text: str) -> int:
        """Return the tokens of a text as the engine gets it. A `preheat.budget.TextCount`."""
        return self.counter.count(as_data(text))

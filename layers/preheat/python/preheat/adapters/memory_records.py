"""The source of truth in memory: the shipped fake, with the table's semantics under the same contract suite."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock

from preheat.adapters.memory_rows import UserRows, numbered
from preheat.agent import Agent, AgentState, Profile
from preheat.errors import ConflictError, SessionTakenError, SourceUnavailableError, UserErasedError
from preheat.history import Turn
from preheat.ports import Erased, NewTurn, TurnPage, Versions
from preheat.preference_set import (
    Mark,
    observable,
    with_observation,
    with_only,
    with_preference,
    without_preference,
)
from preheat.preferences import NewPreference, Preference, PreferenceValue, Source
from preheat.rows import (
    catalog_document,
    checked_preferences,
    checked_turns,
    checked_value,
    is_void,
    profile_document,
    unless_erased,
)
from preheat.session import AgentId, Scope, SessionRecord, TenantId, UserId
from preheat.stamp import Frozen, UserState
from preheat.tools import Tool


class MemoryRecords:
    """`preheat.ports.Records` in dictionaries. May be shared by threads; `sleep` waits for the given seconds.

    Attributes:
        calls: Round trips made, by method name; documents of an agent that were loaded before cost none.
        unavailable: Names of methods that shall raise `SourceUnavailableError`.
    """

    def __init__(self, *, sleep: Callable[[float], None] = lambda _: None) -> None:
        self._sleep = sleep
        self.calls: Counter[str] = Counter()
        self.unavailable: set[str] = set()
        self._lock = Lock()
        self._states: dict[tuple[TenantId, AgentId], AgentState] = {}
        self._documents: dict[tuple[TenantId, AgentId, str, str], Agent] = {}
        self._loaded: set[tuple[TenantId, AgentId, str, str]] = set()
        self._users: defaultdict[tuple[TenantId, UserId], UserRows] = defaultdict(UserRows)

    @contextmanager
    def _round_trip(self, method: str) -> Iterator[None]:
        with self._lock:
            self.calls[method] += 1
            if method in self.unavailable:
                raise SourceUnavailableError("the records were made unavailable")
            yield

    def read_versions(self, scope: Scope) -> Versions:
        """Read the agent's, the user's and the session's item in one round trip."""
        with self._round_trip("read_versions"):
            user = self._users[scope.tenant, scope.user]
            return Versions(self._states.get((scope.tenant, scope.agent)), user.state, user.sessions.get(scope.session))

    def load_agent(self, tenant: TenantId, agent: AgentId, *, state: AgentState) -> Agent:
        """Return the agent's documents that `state` names; a second time they cost no round trip."""
        name = (tenant, agent, state.profile_sha, state.catalog_sha)
        with self._lock:
            if name in self._loaded:
                return replace(self._documents[name], state=state)
        with self._round_trip("load_agent"):
            if name not in self._documents:
                raise SourceUnavailableError("a stored document is not whole")
            self._loaded.add(name)
            return replace(self._documents[name], state=state)

    def read_agent_state(self, tenant: TenantId, agent: AgentId) -> AgentState | None:
        """Return the agent's counters; None when it was never registered."""
        with self._round_trip("read_agent_state"):
            return self._states.get((tenant, agent))

    def put_agent(self, tenant: TenantId, agent: AgentId, *, profile: Profile, catalog: Sequence[Tool]) -> AgentState:
        """Register or replace an agent. Equal documents are a no-op; each changed one moves its counter by one."""
        profile_sha = hashlib.sha256(profile_document(profile)).hexdigest()
        catalog_sha = hashlib.sha256(catalog_document(catalog)).hexdigest()
        with self._round_trip("put_agent"):
            before = self._states.get((tenant, agent), AgentState(0, 0, "", ""))
            state = AgentState(
                agent_ver=before.agent_ver + (profile_sha != before.profile_sha),
                catalog_ver=before.catalog_ver + (catalog_sha != before.catalog_sha),
                profile_sha=profile_sha,
                catalog_sha=catalog_sha,
            )
            ordered = tuple(sorted(catalog, key=lambda tool: tool.name))
            self._documents[tenant, agent, profile_sha, catalog_sha] = Agent(agent, state, profile, ordered)
            self._states[tenant, agent] = state
            return state

    def list_preferences(self, tenant: TenantId, user: UserId) -> tuple[Preference, ...]:
        """Return the user's whole set, of all agents, sorted by key, the general one before those of agents."""
        with self._round_trip("list_preferences"):
            return self._users[tenant, user].preferences.preferences

    def read_user_state(self, tenant: TenantId, user: UserId) -> UserState:
        """Return the user's counters; zeros when nothing was ever written."""
        with self._round_trip("read_user_state"):
            return self._users[tenant, user].state

    def set_preference(  # noqa: PLR0913  # the port's
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
        """Set one preference with its counter. The same again, or an outside change that is not newer, is a no-op."""
        new = NewPreference(key, checked_value(value), agent, options, source)
        with self._round_trip("set_preference"):
            rows = self._users[tenant, user]
            if is_void(rows.state, mark):
                return rows.state
            version = rows.state.pref_ver + 1
            return rows.keep(with_preference(rows.preferences, new, version=version, now=now, mark=mark))

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
        """Delete one preference; moves `pref_ver` and `forget_ver`. A key that is not there is a no-op."""
        with self._round_trip("delete_preference"):
            rows = self._users[tenant, user]
            if is_void(rows.state, mark):
                return rows.state
            return rows.keep(without_preference(rows.preferences, (key, agent), now=now, mark=mark))

    def replace_preferences(
        self, tenant: TenantId, user: UserId, *, wanted: Sequence[NewPreference], now: float
    ) -> UserState:
        """Make the whole set exactly `wanted`, with the counters; what says the same keeps its version."""
        checked = checked_preferences(wanted)
        with self._round_trip("replace_preferences"):
            rows = self._users[tenant, user]
            return rows.keep(with_only(rows.preferences, checked, version=rows.state.pref_ver + 1, now=now))

    def observe_preference(
        self, tenant: TenantId, user: UserId, *, key: str, value: PreferenceValue, agent: AgentId | None = None
    ) -> Preference:
        """Count behaviour that contradicts the stored value. Return what it was held against."""
        checked = checked_value(value)
        with self._round_trip("observe_preference"):
            rows = self._users[tenant, user]
            rows.keep(with_observation(rows.preferences, (key, agent), checked))
            return observable(rows.preferences, (key, agent)).preference

    def append_turns(
        self, tenant: TenantId, user: UserId, *, turns: Sequence[NewTurn], erase_ver: int | None = None
    ) -> UserState:
        """Append turns in order with their counter, all or none. Known turn ids are skipped.

        Raises:
            InvalidInputError: the turns are over the limits of `preheat.rows`.
            UserErasedError: `erase_ver` is given and has moved.
        """
        by_id = checked_turns(turns)
        with self._round_trip("append_turns"):
            rows = self._users[tenant, user]
            before = unless_erased(rows.state, erase_ver).hist_seq
            new = [turn for turn_id, turn in by_id.items() if turn_id not in rows.turn_ids]
            rows.turns += [numbered(seq, turn) for seq, turn in enumerate(new, start=before + 1)]
            rows.turn_ids |= by_id.keys()
            rows.state = replace(rows.state, hist_seq=before + len(new))
            return rows.state

    def newest_turns(self, tenant: TenantId, user: UserId, *, limit: int) -> tuple[Turn, ...]:
        """Return the user's newest turns, oldest first."""
        with self._round_trip("newest_turns"):
            return tuple(self._users[tenant, user].turns[-limit:]) if limit > 0 else ()

    def turns_from(self, tenant: TenantId, user: UserId, *, first_seq: int) -> tuple[Turn, ...]:
        """Return the user's turns from `first_seq` on, oldest first."""
        with self._round_trip("turns_from"):
            return tuple(turn for turn in self._users[tenant, user].turns if turn.seq >= first_seq)

    def turn_page(self, tenant: TenantId, user: UserId, *, after: int, limit: int) -> TurnPage:
        """Return at most `limit` of the user's turns after the one numbered `after`, oldest first."""
        with self._round_trip("turn_page"):
            return self._users[tenant, user].page(after=after, limit=limit)

    def create_session(
        self, scope: Scope, *, warm: bool, now: float, expires_at: float, asked_at: float | None = None
    ) -> SessionRecord:
        """Record a session; return the one already there when the id is known and it has not expired.

        A new session starts without a frozen record: the id may have been another agent's before.
        """
        with self._round_trip("create_session"):
            rows = self._users[scope.tenant, scope.user]
            there = rows.sessions.get(scope.session)
            if there is None or there.expires_at <= now:
                if asked_at is not None and rows.state.erased_at >= asked_at:
                    raise UserErasedError("the user was erased after this session was asked for")
                there = SessionRecord(scope.session, scope.agent, warm, now, expires_at)
                rows.sessions[scope.session] = there
                rows.frozen.pop(scope.session, None)
            if there.agent != scope.agent:
                raise SessionTakenError("the session id belongs to a session with another agent")
            return there

    def list_sessions(self, tenant: TenantId, user: UserId, *, now: float) -> tuple[SessionRecord, ...]:
        """Return the user's sessions that have not expired, sorted by id."""
        with self._round_trip("list_sessions"):
            sessions = self._users[tenant, user].sessions
            return tuple(sessions[name] for name in sorted(sessions) if sessions[name].expires_at > now)

    def read_frozen(self, scope: Scope) -> Frozen | None:
        """Return what the session keeps for its life; None when nothing was frozen yet."""
        with self._round_trip("read_frozen"):
            return self._users[scope.tenant, scope.user].frozen.get(scope.session)

    def put_frozen(
        self,
        scope: Scope,
        frozen: Frozen,
        *,
        expires_at: float,  # noqa: ARG002  # the port's; generations decide, and nothing is removed here
    ) -> Frozen:
        """Write the record unless one of its generation or a later one is there; return the one that is there now."""
        with self._round_trip("put_frozen"):
            rows = self._users[scope.tenant, scope.user]
            there = rows.frozen
            if scope.session not in there or there[scope.session].generation < frozen.generation:
                if rows.state.forget_ver != frozen.stamp.forget_ver:
                    raise ConflictError("what the record was made of has been forgotten")
                there[scope.session] = frozen
            return there[scope.session]

    def erase_user(
        self,
        tenant: TenantId,
        user: UserId,
        *,
        now: float,
        settle_s: float,
        kept_until: float,  # noqa: ARG002  # the port's; nothing expires here
    ) -> Erased:
        """Remove all rows of a user but the counters, which move."""
        with self._round_trip("erase_user"):
            before = self._users[tenant, user]
            state = before.state
            after = replace(state, forget_ver=state.forget_ver + 1, erase_ver=state.erase_ver + 1, erased_at=float(now))
            self._users[tenant, user] = UserRows(state=after)
        self._sleep(settle_s)
        return Erased(tuple(sorted(before.sort_keys())), complete=True)

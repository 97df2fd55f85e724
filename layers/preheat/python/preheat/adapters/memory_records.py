"""The source of truth in memory: the shipped fake, with the table's semantics under the same contract suite."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock

from preheat.agent import Agent, AgentState, Profile
from preheat.errors import SessionTakenError, SourceUnavailableError
from preheat.history import Turn
from preheat.ports import NewTurn, Versions
from preheat.preferences import Preference, PreferenceValue
from preheat.rows import catalog_document, checked_turns, profile_document, value_json
from preheat.session import AgentId, Scope, SessionId, SessionRecord, TenantId, UserId
from preheat.stamp import Frozen, UserState
from preheat.tools import Tool


@dataclass(slots=True)
class _User:
    state: UserState = field(default_factory=UserState)
    preferences: dict[str, Preference] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    turn_ids: set[str] = field(default_factory=set)
    sessions: dict[SessionId, SessionRecord] = field(default_factory=dict)
    frozen: dict[SessionId, Frozen] = field(default_factory=dict)


class MemoryRecords:
    """`preheat.ports.Records` in dictionaries. May be shared by threads.

    Attributes:
        calls: Round trips made, by method name; documents of an agent that were loaded before cost none.
        unavailable: Names of methods that shall raise `SourceUnavailableError`.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.unavailable: set[str] = set()
        self._lock = Lock()
        self._states: dict[tuple[TenantId, AgentId], AgentState] = {}
        self._documents: dict[tuple[TenantId, AgentId, str, str], Agent] = {}
        self._loaded: set[tuple[TenantId, AgentId, str, str]] = set()
        self._users: defaultdict[tuple[TenantId, UserId], _User] = defaultdict(_User)

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
        """Return the user's whole preference set, sorted by key."""
        with self._round_trip("list_preferences"):
            preferences = self._users[tenant, user].preferences
            return tuple(preferences[key] for key in sorted(preferences))

    def read_user_state(self, tenant: TenantId, user: UserId) -> UserState:
        """Return the user's counters; zeros when nothing was ever written."""
        with self._round_trip("read_user_state"):
            return self._users[tenant, user].state

    def set_preference(
        self, tenant: TenantId, user: UserId, *, key: str, value: PreferenceValue, now: float
    ) -> UserState:
        """Set one preference with its counter. The same value again is a no-op."""
        text = value_json(value)
        with self._round_trip("set_preference"):
            rows = self._users[tenant, user]
            there = rows.preferences.get(key)
            if there is None or value_json(there.value) != text:
                rows.state = replace(rows.state, pref_ver=rows.state.pref_ver + 1)
                rows.preferences[key] = Preference(key, value, rows.state.pref_ver, now)
            return rows.state

    def delete_preference(
        self,
        tenant: TenantId,
        user: UserId,
        *,
        key: str,
        now: float,  # noqa: ARG002  # the port's; nothing of a deleted preference is kept
    ) -> UserState:
        """Delete one preference; moves `pref_ver` and `forget_ver`. A key that is not there is a no-op."""
        with self._round_trip("delete_preference"):
            rows = self._users[tenant, user]
            if rows.preferences.pop(key, None) is not None:
                state = rows.state
                rows.state = replace(state, pref_ver=state.pref_ver + 1, forget_ver=state.forget_ver + 1)
            return rows.state

    def append_turns(self, tenant: TenantId, user: UserId, *, turns: Sequence[NewTurn]) -> UserState:
        """Append turns in order with their counter, all or none. Known turn ids are skipped.

        Raises:
            InvalidInputError: the turns are over the limits of `preheat.rows`.
        """
        by_id = checked_turns(turns)
        with self._round_trip("append_turns"):
            rows = self._users[tenant, user]
            new = [turn for turn_id, turn in by_id.items() if turn_id not in rows.turn_ids]
            rows.turns += [_turn(seq, turn) for seq, turn in enumerate(new, start=len(rows.turns) + 1)]
            rows.turn_ids |= by_id.keys()
            rows.state = replace(rows.state, hist_seq=len(rows.turns))
            return rows.state

    def newest_turns(self, tenant: TenantId, user: UserId, *, limit: int) -> tuple[Turn, ...]:
        """Return the user's newest turns, oldest first."""
        with self._round_trip("newest_turns"):
            return tuple(self._users[tenant, user].turns[-limit:]) if limit > 0 else ()

    def turns_from(self, tenant: TenantId, user: UserId, *, first_seq: int) -> tuple[Turn, ...]:
        """Return the user's turns from `first_seq` on, oldest first."""
        with self._round_trip("turns_from"):
            return tuple(turn for turn in self._users[tenant, user].turns if turn.seq >= first_seq)

    def create_session(self, scope: Scope, *, warm: bool, now: float, expires_at: float) -> SessionRecord:
        """Record a session; return the one already there when the id is known and it has not expired.

        A new session starts without a frozen record: the id may have been another agent's before.

        Raises:
            SessionTakenError: the id belongs to a live session with another agent.
        """
        with self._round_trip("create_session"):
            rows = self._users[scope.tenant, scope.user]
            there = rows.sessions.get(scope.session)
            if there is None or there.expires_at <= now:
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
            there = self._users[scope.tenant, scope.user].frozen
            if scope.session not in there or there[scope.session].generation < frozen.generation:
                there[scope.session] = frozen
            return there[scope.session]


def _turn(seq: int, turn: NewTurn) -> Turn:
    return Turn(seq, turn.turn_id, turn.session, turn.role, turn.content, turn.tool_calls, turn.tool_call_id)

"""The source of truth in one DynamoDB table: a partition per agent and one per user (`preheat.keys`)."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from preheat import keys
from preheat.adapters.dynamodb_agents import AgentRows
from preheat.adapters.dynamodb_erase import UserRows
from preheat.adapters.dynamodb_items import agent_state, user_state, user_state_key
from preheat.adapters.dynamodb_preferences import PreferenceRows
from preheat.adapters.dynamodb_sessions import SessionRows, session_key, session_record
from preheat.adapters.dynamodb_table import Table
from preheat.adapters.dynamodb_turns import TurnRows
from preheat.agent import Agent, AgentState, Profile
from preheat.history import Turn
from preheat.ports import Erased, NewTurn, TurnPage, Versions
from preheat.preference_set import Mark
from preheat.preferences import NewPreference, Preference, PreferenceValue, Source
from preheat.session import AgentId, Scope, SessionRecord, TenantId, UserId
from preheat.stamp import Frozen, UserState
from preheat.tools import Tool

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoDBRecords:
    """`preheat.ports.Records` on one table. May be shared by threads; `sleep` waits for the given seconds."""

    def __init__(self, client: "DynamoDBClient", *, table: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._table = Table(client, name=table, sleep=sleep)
        self._agents = AgentRows(self._table)
        self._preferences = PreferenceRows(self._table)
        self._turns = TurnRows(self._table)
        self._sessions = SessionRows(self._table)
        self._users = UserRows(self._table, sleep=sleep)

    def read_versions(self, scope: Scope) -> Versions:
        """Read the agent's, the user's and the session's item in one round trip.

        A session past its life may still be there: the table removes it late.
        """
        agent_row, user_row, session_row = self._table.get(
            (keys.agent_partition(scope.tenant, scope.agent), keys.STATE),
            user_state_key(scope.tenant, scope.user),
            session_key(scope),
        )
        return Versions(agent_state(agent_row), user_state(user_row), session_record(session_row))

    def load_agent(self, tenant: TenantId, agent: AgentId, *, state: AgentState) -> Agent:
        """Return the agent's documents that `state` names, from memory when they were read before."""
        return self._agents.load(tenant, agent, state=state)

    def read_agent_state(self, tenant: TenantId, agent: AgentId) -> AgentState | None:
        """Return the agent's counters; None when it was never registered."""
        return self._agents.read_state(tenant, agent)

    def put_agent(self, tenant: TenantId, agent: AgentId, *, profile: Profile, catalog: Sequence[Tool]) -> AgentState:
        """Register or replace an agent. Equal documents are a no-op; each changed one moves its counter by one."""
        return self._agents.put(tenant, agent, profile=profile, catalog=catalog)

    def list_preferences(self, tenant: TenantId, user: UserId) -> tuple[Preference, ...]:
        """Return the user's whole set, of all agents, sorted by key, the general one before those of agents."""
        return self._preferences.list(tenant, user)

    def read_user_state(self, tenant: TenantId, user: UserId) -> UserState:
        """Return the user's counters; zeros when nothing was ever written."""
        (row,) = self._table.get(user_state_key(tenant, user))
        return user_state(row)

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
        """Set one preference with its counter, in one transaction.

        The same again, or an outside change that is not newer, is a no-op.
        """
        new = NewPreference(key, value, agent, options, source)
        return self._preferences.set(tenant, user, new=new, now=now, mark=mark)

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
        return self._preferences.delete(tenant, user, name=(key, agent), now=now, mark=mark)

    def replace_preferences(
        self, tenant: TenantId, user: UserId, *, wanted: Sequence[NewPreference], now: float
    ) -> UserState:
        """Make the whole set exactly `wanted`, with the counters, in one transaction."""
        return self._preferences.replace(tenant, user, wanted=wanted, now=now)

    def observe_preference(
        self, tenant: TenantId, user: UserId, *, key: str, value: PreferenceValue, agent: AgentId | None = None
    ) -> Preference:
        """Count behaviour that contradicts the stored value. Return what it was held against."""
        return self._preferences.observe(tenant, user, name=(key, agent), value=value)

    def append_turns(
        self, tenant: TenantId, user: UserId, *, turns: Sequence[NewTurn], erase_ver: int | None = None
    ) -> UserState:
        """Append turns in order with their counter, all or none. Known turn ids are skipped.

        Raises:
            InvalidInputError: the turns are over the limits of `preheat.rows`.
            UserErasedError: `erase_ver` is given and has moved.
        """
        return self._turns.append(tenant, user, turns=turns, erase_ver=erase_ver)

    def newest_turns(self, tenant: TenantId, user: UserId, *, limit: int) -> tuple[Turn, ...]:
        """Return the user's newest turns, oldest first."""
        return self._turns.newest(tenant, user, limit=limit)

    def turns_from(self, tenant: TenantId, user: UserId, *, first_seq: int) -> tuple[Turn, ...]:
        """Return the user's turns from `first_seq` on, oldest first."""
        return self._turns.since(tenant, user, first_seq=first_seq)

    def turn_page(self, tenant: TenantId, user: UserId, *, after: int, limit: int) -> TurnPage:
        """Return at most `limit` of the user's turns after the one numbered `after`, oldest first, by one query."""
        return self._turns.page(tenant, user, after=after, limit=limit)

    def create_session(
        self, scope: Scope, *, warm: bool, now: float, expires_at: float, asked_at: float | None = None
    ) -> SessionRecord:
        """Record a session; return the one already there when the id is known and it has not expired.

        Raises:
            SessionTakenError: the id belongs to a live session with another agent.
            UserErasedError: there is none, and the user was erased at `asked_at` or later.
        """
        return self._sessions.create(scope, warm=warm, now=now, expires_at=expires_at, asked_at=asked_at)

    def list_sessions(self, tenant: TenantId, user: UserId, *, now: float) -> tuple[SessionRecord, ...]:
        """Return the user's sessions that have not expired, sorted by id."""
        return self._sessions.list(tenant, user, now=now)

    def read_frozen(self, scope: Scope) -> Frozen | None:
        """Return what the session keeps for its life; None when nothing was frozen yet."""
        return self._sessions.read_frozen(scope)

    def put_frozen(self, scope: Scope, frozen: Frozen, *, expires_at: float) -> Frozen:
        """Write the record unless one of its generation or a later one is there; return the one that is there now."""
        return self._sessions.put_frozen(scope, frozen, expires_at=expires_at)

    def erase_user(self, tenant: TenantId, user: UserId, *, now: float, settle_s: float, kept_until: float) -> Erased:
        """Remove all rows of a user but the counters, which move."""
        return self._users.erase(tenant, user, now=now, settle_s=settle_s, kept_until=kept_until)

"""Sessions in the records table, and what each keeps unchanged for its life."""

import gzip
import math
import zlib
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from preheat import keys, names
from preheat.adapters.dynamodb_items import Fields, Key, checked, user_state, user_state_key
from preheat.adapters.dynamodb_table import ABSENT, Table
from preheat.errors import ConflictError, SessionTakenError, SourceUnavailableError, UserErasedError
from preheat.session import Scope, SessionRecord, TenantId, UserId
from preheat.stamp import Frozen

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

_SESSION: Final = TypeAdapter(SessionRecord)
_FROZEN: Final = TypeAdapter(Frozen)
# An item holds 400 KB with its key, names and the other fields.
_MAX_BODY_BYTES: Final = 390_000
# The table's TTL wants whole seconds, and deletes late; `ends_at` is exact and decides.
_ENDS_AT: Final = "ends_at"


class SessionRows:
    """Reads and writes sessions and their frozen records."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def create(
        self, scope: Scope, *, warm: bool, now: float, expires_at: float, asked_at: float | None = None
    ) -> SessionRecord:
        """Record a session unless a live one is there; return the one that is there now.

        A new session starts without a frozen record: the id may have been another agent's before.

        Raises:
            SessionTakenError: the id belongs to a live session with another agent.
            UserErasedError: none is there, and the user was erased at `asked_at` or later.
        """
        record = SessionRecord(scope.session, scope.agent, warm, float(now), float(expires_at))

        def attempt() -> SessionRecord:
            (row,) = self._table.get(session_key(scope))
            found = session_record(row)
            if found is not None and found.expires_at > now:
                return found
            writes = [
                self._table.putting(
                    session_key(scope),
                    _fields(record),
                    condition=f"{ABSENT} OR {_ENDS_AT} <= :now",
                    values={"now": float(now)},
                ),
                self._table.deleting(_frozen_key(scope)),
            ]
            if asked_at is not None:
                writes.append(self._still_asked_for(scope, asked_at))
            self._table.commit(writes)
            return record

        there = self._table.until_committed(attempt)
        if there.agent != scope.agent:
            raise SessionTakenError("the session id belongs to a session with another agent")
        return there

    def _still_asked_for(self, scope: Scope, asked_at: float) -> "TransactWriteItemTypeDef":
        """Return the part of a commit that holds while the user is not erased after `asked_at`."""
        state_key = user_state_key(scope.tenant, scope.user)
        (row,) = self._table.get(state_key)
        state = user_state(row)
        if state.erased_at >= asked_at:
            raise UserErasedError("the user was erased after this session was asked for")
        return self._table.checking(state_key, seen={"erase_ver": state.erase_ver})

    def list(self, tenant: TenantId, user: UserId, *, now: float) -> tuple[SessionRecord, ...]:
        """Return the sessions that have not expired, sorted by id."""
        rows = self._table.query(keys.user_partition(tenant, user), prefix=keys.SESSION_PREFIX)
        records = (session_record(row) for row in rows)
        return tuple(record for record in records if record is not None and record.expires_at > now)

    def read_frozen(self, scope: Scope) -> Frozen | None:
        """Return the session's frozen record; None when there is none.

        Its own life is not looked at: it follows the session's, and `SessionRecord.expires_at` decides on that.
        """
        (row,) = self._table.get(_frozen_key(scope))
        return _frozen(row) if row else None

    def put_frozen(self, scope: Scope, frozen: Frozen, *, expires_at: float) -> Frozen:
        """Write the record unless one of its generation or a later one is there; return the one that is there now.

        Generations alone decide. A record past its life that the table has not removed yet was read by whoever made
        this one, so this one has the next generation.

        Raises:
            ConflictError: what the record was made of has been forgotten since, so it is not written.
        """
        fields: Fields = {
            "generation": frozen.generation,
            "forget_ver": frozen.stamp.forget_ver,
            "body": _frozen_body(frozen),
            names.TTL_ATTRIBUTE: math.ceil(expires_at),
        }

        putting = self._table.putting(
            _frozen_key(scope),
            fields,
            condition=f"{ABSENT} OR generation < :generation",
            values={"generation": frozen.generation},
        )
        state_key, seen = user_state_key(scope.tenant, scope.user), {"forget_ver": frozen.stamp.forget_ver}
        # Counters that may expire after an erasure must outlive what is built on them.
        remembered = (
            self._table.moving(state_key, seen=seen, to=seen)
            if frozen.stamp.forget_ver
            else self._table.checking(state_key, seen=seen)
        )

        def attempt() -> Frozen | None:
            try:
                self._table.commit([putting, remembered])
            except ConflictError:
                row, state_row = self._table.get(_frozen_key(scope), state_key)
                there = _frozen(row) if row else None
                if there is not None and there.generation >= frozen.generation:
                    return there
                if user_state(state_row).forget_ver != frozen.stamp.forget_ver:
                    return None
                raise
            return frozen

        kept = self._table.until_committed(attempt)
        if kept is None:
            raise ConflictError("what the record was made of has been forgotten")
        return kept


def session_key(scope: Scope) -> Key:
    """Key of a session's row."""
    return keys.user_partition(scope.tenant, scope.user), keys.session_sort(scope.session)


def session_record(fields: Fields | None) -> SessionRecord | None:
    """Return the session that a row holds; None when there is no row."""
    return checked(_SESSION, {**fields, "expires_at": fields.get(_ENDS_AT)}) if fields else None


def _fields(record: SessionRecord) -> Fields:
    return {
        "session": record.session,
        "agent": record.agent,
        "warm": record.warm,
        "created_at": record.created_at,
        _ENDS_AT: record.expires_at,
        names.TTL_ATTRIBUTE: math.ceil(record.expires_at),
    }


def _frozen_key(scope: Scope) -> Key:
    return keys.user_partition(scope.tenant, scope.user), keys.frozen_sort(scope.session)


def _frozen_body(frozen: Frozen) -> bytes:
    body = gzip.compress(_FROZEN.dump_json(frozen), mtime=0)
    if len(body) > _MAX_BODY_BYTES:
        raise SourceUnavailableError(f"the frozen record has {len(body)} bytes, a row holds {_MAX_BODY_BYTES}")
    return body


def _frozen(fields: Fields) -> Frozen:
    body = fields.get("body")
    try:
        return _FROZEN.validate_json(gzip.decompress(body if isinstance(body, bytes) else b""))
    except (gzip.BadGzipFile, zlib.error, EOFError, ValidationError) as error:
        raise SourceUnavailableError("a stored row is not of this schema") from error

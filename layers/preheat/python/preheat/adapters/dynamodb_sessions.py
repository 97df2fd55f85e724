"""Sessions in the records table, and what each keeps unchanged for its life."""

import gzip
import math
import zlib
from typing import Final

from pydantic import TypeAdapter, ValidationError

from preheat import keys, names
from preheat.adapters.dynamodb_items import Fields, Key, checked
from preheat.adapters.dynamodb_table import ABSENT, Table
from preheat.errors import ConflictError, SessionTakenError, SourceUnavailableError
from preheat.session import Scope, SessionRecord, TenantId, UserId
from preheat.stamp import Frozen

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

    def create(self, scope: Scope, *, warm: bool, now: float, expires_at: float) -> SessionRecord:
        """Record a session unless a live one is there; return the one that is there now.

        A new session starts without a frozen record: the id may have been another agent's before.

        Raises:
            SessionTakenError: the id belongs to a live session with another agent.
        """
        record = SessionRecord(scope.session, scope.agent, warm, float(now), float(expires_at))

        def attempt() -> SessionRecord:
            (row,) = self._table.get(session_key(scope))
            found = session_record(row)
            if found is not None and found.expires_at > now:
                return found
            self._table.commit(
                [
                    self._table.putting(
                        session_key(scope),
                        _fields(record),
                        condition=f"{ABSENT} OR {_ENDS_AT} <= :now",
                        values={"now": float(now)},
                    ),
                    self._table.deleting(_frozen_key(scope)),
                ]
            )
            return record

        there = self._table.until_committed(attempt)
        if there.agent != scope.agent:
            raise SessionTakenError("the session id belongs to a session with another agent")
        return there

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
        """
        fields: Fields = {
            "generation": frozen.generation,
            "body": _frozen_body(frozen),
            names.TTL_ATTRIBUTE: math.ceil(expires_at),
        }

        def attempt() -> Frozen:
            try:
                self._table.put(
                    _frozen_key(scope),
                    fields,
                    condition=f"{ABSENT} OR generation < :generation",
                    values={"generation": frozen.generation},
                )
            except ConflictError:
                there = self.read_frozen(scope)
                if there is None or there.generation < frozen.generation:
                    raise
                return there
            return frozen

        return self._table.until_committed(attempt)


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

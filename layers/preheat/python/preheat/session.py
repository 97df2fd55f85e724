"""Who is asking, and in which session: ids, the scope of one session, the caller."""

import re
from dataclasses import dataclass
from typing import Final, NewType

from preheat.errors import ForbiddenError, InvalidInputError

TenantId = NewType("TenantId", str)
UserId = NewType("UserId", str)
AgentId = NewType("AgentId", str)
SessionId = NewType("SessionId", str)

# Ids are parts of keys: `#`, `{`, `}` and `:` separate there, so they are not allowed here.
ID_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$"
_ID: Final = re.compile(ID_PATTERN)


def checked_id(value: str, *, field: str) -> str:
    """Return `value` when it may be part of a key.

    Raises:
        InvalidInputError: `value` is not 1-128 characters of letters, digits and `. _ @ + -`, first a letter or digit.
    """
    if not _ID.fullmatch(value):
        raise InvalidInputError(
            "must be 1-128 characters of letters, digits and . _ @ + -, first a letter or digit", field=field
        )
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """One session of one user with one agent of one tenant: the unit that is warmed."""

    tenant: TenantId
    user: UserId
    agent: AgentId
    session: SessionId


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What the records hold of a session.

    `warm` is False when the caller started it without a warm-up. Times are epoch seconds.
    """

    session: SessionId
    agent: AgentId
    warm: bool
    created_at: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller. `user` is None and `service` is True for a tenant's own backend."""

    tenant: TenantId
    user: UserId | None
    service: bool

    def may_act_for(self, user: str) -> UserId:
        """Return `user` as an id when this caller may act for them.

        Raises:
            ForbiddenError: the token carries another user and is not a service's.
            InvalidInputError: `user` cannot be an id.
        """
        checked = UserId(checked_id(user, field="user"))
        if not self.service and checked != self.user:
            raise ForbiddenError("the token does not carry this user")
        return checked

    def must_be_service(self) -> None:
        """Pass when the caller is the tenant's backend.

        Raises:
            ForbiddenError: the token is a user's.
        """
        if not self.service:
            raise ForbiddenError("only a token with the service role may do this")

"""One tree of errors; every one says whether trying again can help.

PreheatError
├── InvalidInputError         the caller's data is wrong; `field` names where
├── BodyTooLargeError         the request's body is over the limit
├── NotFoundError             the agent or session named does not exist
├── ForbiddenError            the caller's token does not carry what it names
├── ConflictError             somebody else wrote first (retryable)
├── SessionTakenError         the session id belongs to a session with another agent
├── UserErasedError           the user was erased while this was under way
├── SourceUnavailableError    the records could not be read or written (retryable)
├── StoreUnavailableError     a warm-store tier could not be reached (retryable)
│   └── EraseIncompleteError  something of a user is left; `erased` says what is gone (retryable)
├── EntryTooLargeError        a warm entry is over what every tier can hold
├── EntryCorruptError         a warm entry is not what was written; it is a miss
├── EmbedderUnavailableError  no embedding can be made now (retryable)
├── EndpointError             the model endpoint did not serve
│   ├── EndpointUnavailableError  down, cold, throttled or timed out (retryable)
│   └── EndpointRefusedError      the engine refuses this request as it is
└── SettingsError             the environment is not usable

`code` is stable and meant for machines; the message is meant for people and never holds user text.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class PreheatError(Exception):
    """Base of the tree: a stable `code`, and `retryable` when the same call may succeed later."""

    code: ClassVar[str] = "preheat_error"
    retryable: ClassVar[bool] = False


class InvalidInputError(PreheatError):
    """The caller's data is wrong.

    Attributes:
        field: Path of the offending field, dotted, as the caller wrote it.
    """

    code = "invalid_input"

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


class BodyTooLargeError(PreheatError):
    """The request's body is over the limit."""

    code = "body_too_large"


class NotFoundError(PreheatError):
    """The thing named does not exist for this tenant and user."""

    code = "not_found"


class ForbiddenError(PreheatError):
    """The caller's token does not carry the tenant, user or role that the request names."""

    code = "forbidden"


class ConflictError(PreheatError):
    """A concurrent write won; the state read before is no longer the latest."""

    code = "conflict"
    retryable = True


class SessionTakenError(PreheatError):
    """The session id belongs to a live session of the same user with another agent."""

    code = "session_taken"


class UserErasedError(PreheatError):
    """The user was erased after this began: it is void, and trying again cannot help."""

    code = "user_erased"


class SourceUnavailableError(PreheatError):
    """The records (the source of truth) could not be read or written."""

    code = "source_unavailable"
    retryable = True


class StoreUnavailableError(PreheatError):
    """A tier of the warm store could not be reached, or throttled."""

    code = "store_unavailable"
    retryable = True


class EraseIncompleteError(StoreUnavailableError):
    """Something of a user is left; the same call again goes on where this one ended.

    Attributes:
        left: Names of the tiers that still hold something, or may.
        erased: How much this call has erased, by tier, and in the records by kind.
    """

    code = "erase_incomplete"

    def __init__(self, message: str, *, left: Sequence[str], erased: Mapping[str, object]) -> None:
        super().__init__(message)
        self.left = tuple(left)
        self.erased = erased


class EntryTooLargeError(PreheatError):
    """A warm entry is larger than every tier can hold."""

    code = "entry_too_large"


class EntryCorruptError(PreheatError):
    """A warm entry's bytes are not what was written, or were written by another schema."""

    code = "entry_corrupt"


class EmbedderUnavailableError(PreheatError):
    """The embedder's weights are not there or not readable, or its service does not answer."""

    code = "embedder_unavailable"
    retryable = True


class EndpointError(PreheatError):
    """The model endpoint did not serve a call."""

    code = "endpoint_error"


class EndpointUnavailableError(EndpointError):
    """The endpoint is down, cold, throttled, superseding or timed out."""

    code = "endpoint_unavailable"
    retryable = True


class EndpointRefusedError(EndpointError):
    """The engine refuses the request as it is (for example, a prompt over its context)."""

    code = "endpoint_refused"


class SettingsError(PreheatError):
    """The environment lacks a variable or holds one that cannot be used."""

    code = "settings_invalid"

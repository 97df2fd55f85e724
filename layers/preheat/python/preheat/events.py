"""The events that Preheat takes and publishes, checked at the door."""

import re
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from preheat import names
from preheat.errors import InvalidInputError
from preheat.preference_set import Mark
from preheat.preferences import PreferenceValue
from preheat.requests import AnyValue, Id, PreferenceKey, PreferenceTerms, fitting, one_fault, parse, parse_value
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId

# EventBridge takes 256 KB; an event of ours is a few ids.
MAX_EVENT_CHARACTERS: Final = 262_144
_RFC_3339: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})")
_LAST_MOMENT: Final = 253_402_300_799  # 9999-12-31T23:59:59Z


def _epoch_seconds(value: object) -> float | None:
    """Return a moment in epoch seconds; a number is one already, a text is a time by RFC 3339."""
    if value is None:
        return None
    moment = value
    if isinstance(value, str) and _RFC_3339.fullmatch(value):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value.upper()).timestamp()
    if isinstance(moment, bool) or not isinstance(moment, int | float) or not 0 <= moment <= _LAST_MOMENT:
        raise ValueError("must be epoch seconds, or a time with its offset by RFC 3339")
    return float(moment)


_Written = Annotated[float, Field(ge=0, le=_LAST_MOMENT)] | AwareDatetime | None
Moment = Annotated[float | None, PlainValidator(_epoch_seconds, json_schema_input_type=_Written)]


class SessionStarted(BaseModel):
    """`session.started`: a user has shown up (login, focus, first keystroke); a message may follow.

    `time` is when that was (epoch seconds, or RFC 3339); without it, it was when the event was sent. A user who was
    erased since then stays so.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    tenant: Id
    user: Id
    agent: Id
    session_id: Id
    time: Moment = None

    def scope(self) -> Scope:
        """Return the session that is to be warmed."""
        return Scope(TenantId(self.tenant), UserId(self.user), AgentId(self.agent), SessionId(self.session_id))


class PreferenceChanged(PreferenceTerms):
    """`preference.changed`: a user's preferences were written here, or elsewhere: then it may carry the change.

    A change has a `key`, a `value` or `deleted: true`, and a `version` or `time` (epoch seconds, or RFC 3339) that its
    source gives it: each later one of a key is larger. One without a time was made when its event was sent.
    """

    model_config = ConfigDict(extra="ignore")

    tenant: Id
    user: Id
    key: PreferenceKey | None = None
    value: AnyValue | None = None
    deleted: Annotated[bool, Field(strict=True)] = False
    version: Annotated[int, Field(strict=True, ge=0, lt=2**63)] | None = None
    time: Moment = None

    @field_validator("value", mode="wrap")
    @classmethod
    def _fits(cls, value: object, check: ValidatorFunctionWrapHandler, said: ValidationInfo) -> PreferenceValue | None:
        return None if value is None else fitting(one_fault(value, check), said.data)

    @property
    def mark(self) -> Mark:
        """Where the change stands among those of its key."""
        return Mark(self.version, self.time)


class Envelope(BaseModel):
    """What EventBridge delivers: the parts that matter here."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    detail_type: Annotated[str, Field(alias="detail-type")]
    source: str
    time: Moment = None
    detail: dict[str, Any]


def read_session_started(body: str) -> SessionStarted:
    """Return the event in a queue record's body.

    Raises:
        InvalidInputError: not this event; `field` names the first fault.
    """
    envelope = _opened(body, names.SESSION_STARTED)
    started = parse_value(SessionStarted, envelope.detail)
    return started if started.time is not None else started.model_copy(update={"time": envelope.time})


def read_preference_changed(body: str) -> PreferenceChanged:
    """Return the event in a queue record's body: without any change, or with a whole one.

    Raises:
        InvalidInputError: not this event; `field` names the first fault.
    """
    envelope = _opened(body, names.PREFERENCE_CHANGED)
    changed = parse_value(PreferenceChanged, envelope.detail)
    if changed.key is None and changed.value is None and not changed.deleted:
        return changed
    if changed.key is None:
        raise InvalidInputError("is missing from the change", field="key")
    if changed.deleted == (changed.value is not None):
        raise InvalidInputError("a change has a value, or is a deletion", field="value")
    if changed.mark == Mark():
        raise InvalidInputError("a change has its source's version or time", field="version")
    return changed if changed.time is not None else changed.model_copy(update={"time": envelope.time})


def _opened(body: str, detail_type: str) -> Envelope:
    if len(body) > MAX_EVENT_CHARACTERS:
        raise InvalidInputError("is larger than an event can be", field="body")
    envelope = parse(Envelope, body)
    if envelope.detail_type != detail_type:
        raise InvalidInputError(f"must be {detail_type}", field="detail-type")
    return envelope

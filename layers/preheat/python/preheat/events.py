"""The events that Preheat takes and publishes, checked at the door."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from preheat import names
from preheat.errors import InvalidInputError
from preheat.requests import Id, parse, parse_value
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId

# EventBridge takes 256 KB; an event of ours is a few ids.
MAX_EVENT_CHARACTERS: Final = 262_144


class SessionStarted(BaseModel):
    """`session.started`: a user has shown up (login, focus, first keystroke); a message may follow."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tenant: Id
    user: Id
    agent: Id
    session_id: Id

    def scope(self) -> Scope:
        """Return the session that is to be warmed."""
        return Scope(TenantId(self.tenant), UserId(self.user), AgentId(self.agent), SessionId(self.session_id))


class PreferenceChanged(BaseModel):
    """`preference.changed`: a write to a user's preferences has been acknowledged."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    tenant: Id
    user: Id


class Envelope(BaseModel):
    """What EventBridge delivers: the parts that matter here."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    detail_type: Annotated[str, Field(alias="detail-type")]
    source: str
    detail: dict[str, Any]


def read_session_started(body: str) -> SessionStarted:
    """Return the event in a queue record's body.

    Raises:
        InvalidInputError: not this event; `field` names the first fault.
    """
    return parse_value(SessionStarted, _detail(body, names.SESSION_STARTED))


def read_preference_changed(body: str) -> PreferenceChanged:
    """Return the event in a queue record's body.

    Raises:
        InvalidInputError: not this event; `field` names the first fault.
    """
    return parse_value(PreferenceChanged, _detail(body, names.PREFERENCE_CHANGED))


def _detail(body: str, detail_type: str) -> dict[str, Any]:
    if len(body) > MAX_EVENT_CHARACTERS:
        raise InvalidInputError("is larger than an event can be", field="body")
    envelope = parse(Envelope, body)
    if envelope.detail_type != detail_type:
        raise InvalidInputError(f"must be {detail_type}", field="detail-type")
    return envelope.detail

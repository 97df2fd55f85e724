"""Events as EventBridge delivers them; whatever else comes through the queue is refused by the name of its field."""

import json
from typing import Any

import pytest

from preheat import names
from preheat.errors import InvalidInputError
from preheat.events import MAX_EVENT_CHARACTERS, read_preference_changed, read_session_started
from preheat.session import Scope

DETAIL = {"tenant": "acme", "user": "ana", "agent": "desk", "session_id": "s1"}


def envelope(detail: object = None, **changed: object) -> str:
    body: dict[str, Any] = {
        "version": "0",
        "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
        "detail-type": names.SESSION_STARTED,
        "source": names.EVENT_SOURCE,
        "account": "111122223333",
        "time": "2026-12-01T09:00:00Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": DETAIL if detail is None else detail,
    }
    return json.dumps(body | changed)


def test_read_session_started__names_the_session() -> None:
    assert read_session_started(envelope()).scope() == Scope("acme", "ana", "desk", "s1")  # type: ignore[arg-type]  # ids


def test_read_session_started__fields_of_a_later_version_are_ignored() -> None:
    assert read_session_started(envelope({**DETAIL, "device": "phone", "odds": float("nan")})).session_id == "s1"


def test_read_preference_changed__names_the_user() -> None:
    body = envelope({"tenant": "acme", "user": "ana", "pref_ver": 3}, **{"detail-type": names.PREFERENCE_CHANGED})

    changed = read_preference_changed(body)

    assert (changed.tenant, changed.user) == ("acme", "ana")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("", "body"),
        ("hello", "body"),
        ("[]", "body"),
        ("x" * (MAX_EVENT_CHARACTERS + 1), "body"),
        (json.dumps({"detail": DETAIL}), "detail-type"),
        (envelope("text"), "detail"),
        (envelope({}), "tenant"),
        (envelope({**DETAIL, "user": 7}), "user"),
        (envelope({**DETAIL, "user": ""}), "user"),
        (envelope({**DETAIL, "user": "ana}#U#bob"}), "user"),
        (envelope({**DETAIL, "session_id": "x" * 129}), "session_id"),
        (envelope(**{"detail-type": names.PREFERENCE_CHANGED}), "detail-type"),
    ],
    ids=[
        "empty",
        "no json",
        "a list",
        "too large",
        "no envelope",
        "detail is text",
        "detail is empty",
        "user is a number",
        "user is empty",
        "user spells another key",
        "session id too long",
        "another event",
    ],
)
def test_read_session_started__malformed_event_is_refused_by_field(body: str, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_session_started(body)

    assert caught.value.field == field


def test_read_preference_changed__another_event_is_refused() -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_preference_changed(envelope())

    assert caught.value.field == "detail-type"

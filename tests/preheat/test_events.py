"""Events as EventBridge delivers them; whatever else comes through the queue is refused by the name of its field."""

import json
from typing import Any

import pytest

from preheat import names
from preheat.errors import InvalidInputError
from preheat.events import MAX_EVENT_CHARACTERS, read_preference_changed, read_session_started
from preheat.preference_set import Mark
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

    assert (changed.tenant, changed.user, changed.key) == ("acme", "ana", None)


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


def preference_changed(**detail: object) -> str:
    named = {"tenant": "acme", "user": "ana", **detail}
    return envelope(named, **{"detail-type": names.PREFERENCE_CHANGED})


@pytest.mark.parametrize(
    ("detail", "mark"),
    [
        ({"version": 7}, Mark(7, 1_796_115_600.0)),
        ({"version": 0, "time": 12.5}, Mark(0, 12.5)),
        ({"time": 1_796_115_600}, Mark(None, 1_796_115_600.0)),
        ({"time": "2026-12-01T10:00:00.25+01:00"}, Mark(None, 1_796_115_600.25)),
        ({"time": "2026-12-01t09:00:00z"}, Mark(None, 1_796_115_600.0)),
    ],
    ids=str,
)
def test_read_preference_changed__change_stands_where_its_source_or_its_event_says(
    detail: dict[str, object], mark: Mark
) -> None:
    changed = read_preference_changed(preference_changed(key="seat", value="aisle", **detail))

    assert (changed.key, changed.value, changed.mark) == ("seat", "aisle", mark)


def test_read_preference_changed__deletion_and_terms_are_read() -> None:
    deleted = read_preference_changed(preference_changed(key="seat", deleted=True, agent="desk", version=1))
    choice = read_preference_changed(
        preference_changed(key="seat", value="aisle", type="choice", options=["aisle"], source="inferred", version=1)
    )

    assert (deleted.value, deleted.deleted, deleted.agent) == (None, True, "desk")
    assert (choice.options, choice.source) == (("aisle",), "inferred")


@pytest.mark.parametrize(
    ("detail", "field"),
    [
        ({"key": "k", "value": "v"}, "version"),
        ({"value": "v", "version": 1}, "key"),
        ({"deleted": True, "version": 1}, "key"),
        ({"key": "k", "version": 1}, "value"),
        ({"key": "k", "value": None, "version": 1}, "value"),
        ({"key": "k", "value": "v", "deleted": True, "version": 1}, "value"),
        ({"key": "k", "value": {}, "version": 1}, "value"),
        ({"key": "k", "value": "v", "type": "number", "version": 1}, "value"),
        ({"key": "k", "value": "v", "type": "choice", "options": ["w"], "version": 1}, "value"),
        ({"key": "k", "value": "v", "type": "choice", "version": 1}, "options"),
        ({"key": "k", "deleted": "yes", "version": 1}, "deleted"),
        ({"key": "k b", "value": "v", "version": 1}, "key"),
        ({"key": "k", "value": "v", "agent": "a#", "version": 1}, "agent"),
        ({"key": "k", "value": "v", "source": "guessed", "version": 1}, "source"),
        ({"key": "k", "value": "v", "version": "1"}, "version"),
        ({"key": "k", "value": "v", "version": True}, "version"),
        ({"key": "k", "value": "v", "version": 1.5}, "version"),
        ({"key": "k", "value": "v", "version": -1}, "version"),
        ({"key": "k", "value": "v", "version": 2**63}, "version"),
        ({"key": "k", "value": "v", "time": "yesterday"}, "time"),
        ({"key": "k", "value": "v", "time": "2026-12-01T09:00:00"}, "time"),
        ({"key": "k", "value": "v", "time": "2026-13-01T09:00:00Z"}, "time"),
        ({"key": "k", "value": "v", "time": "1796115600"}, "time"),
        ({"key": "k", "value": "v", "time": True}, "time"),
        ({"key": "k", "value": "v", "time": -1}, "time"),
        ({"key": "k", "value": "v", "time": 10**400}, "time"),
        ({"key": "k", "value": "v", "time": float("nan")}, "time"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_read_preference_changed__change_that_is_not_whole_is_refused_by_field(
    detail: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_preference_changed(preference_changed(**detail))

    assert caught.value.field == field

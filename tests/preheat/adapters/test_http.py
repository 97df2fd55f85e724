"""Our errors as problem+json, and the caller whom the gateway verified."""

from collections.abc import Mapping
from typing import Any

import pytest

from preheat import names
from preheat.adapters.http import principal, problem
from preheat.errors import (
    BodyTooLargeError,
    ConflictError,
    EndpointRefusedError,
    EndpointUnavailableError,
    EntryCorruptError,
    EntryTooLargeError,
    EraseIncompleteError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    PreheatError,
    SettingsError,
    SourceUnavailableError,
    StoreUnavailableError,
    UserErasedError,
)
from preheat.session import Principal, TenantId, UserId


def context(**claims: str) -> dict[str, Any]:
    shown = {"tenant": names.CLAIM_TENANT, "user": names.CLAIM_USER, "role": names.CLAIM_ROLE}
    return {"authorizer": {"claims": {shown[name]: value for name, value in claims.items()}}}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInputError("must be text", field="messages.0.content"), 400),
        (ForbiddenError("the token does not carry this user"), 403),
        (NotFoundError("no such session"), 404),
        (ConflictError("moved"), 409),
        (BodyTooLargeError("too large"), 413),
        (EndpointRefusedError("prompt too long"), 422),
        (EndpointUnavailableError("cold"), 503),
        (SourceUnavailableError("down"), 503),
        (StoreUnavailableError("down"), 503),
        (EntryTooLargeError("large"), 503),
        (EntryCorruptError("harmed"), 503),
        (SettingsError("unset"), 503),
        (EraseIncompleteError("left", left=("valkey",), erased={}), 503),
        (UserErasedError("erased"), 404),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, PreheatError) else str(value),
)
def test_problem__says_what_is_wrong_in_a_form_for_machines(error: PreheatError, status: int) -> None:
    answered, body = problem(error)

    assert answered == body["status"] == status
    assert (body["code"], body["type"], body["detail"]) == (error.code, f"urn:preheat:{error.code}", str(error))
    assert body["title"]


def test_problem__says_what_an_erasure_has_left_and_what_is_gone() -> None:
    error = EraseIncompleteError("call again", left=("valkey",), erased={"records": {"turns": 3}, "dynamodb": 1})

    body = problem(error)[1]

    assert (body["left"], body["erased"]) == (["valkey"], {"records": {"turns": 3}, "dynamodb": 1})


def test_problem__names_the_field_of_invalid_input_only() -> None:
    assert problem(InvalidInputError("must be text", field="value"))[1]["field"] == "value"
    assert "field" not in problem(NotFoundError("no"))[1]


def test_problem__more_special_error_takes_the_status_of_its_kind() -> None:
    class LateConflictError(ConflictError):
        """A conflict of a kind that is not listed."""

    assert problem(LateConflictError("moved"))[0] == 409


def test_principal__of_a_users_token() -> None:
    assert principal(context(tenant="acme", user="ana")) == Principal(TenantId("acme"), UserId("ana"), service=False)


@pytest.mark.parametrize("user", [None, "robot"])
def test_principal__of_the_backends_token(user: str | None) -> None:
    claims = {"tenant": "acme", "role": names.ROLE_SERVICE} | ({"user": user} if user else {})

    assert principal(context(**claims)) == Principal(TenantId("acme"), UserId(user) if user else None, service=True)


@pytest.mark.parametrize(
    "unverified",
    [
        {},
        {"authorizer": None},
        {"authorizer": {}},
        {"authorizer": {"claims": None}},
        context(),
        context(user="ana"),
        context(tenant="", user="ana"),
        context(tenant="acme"),
        context(tenant="acme", role="admin"),
    ],
    ids=[
        "no authorizer",
        "null authorizer",
        "empty authorizer",
        "null claims",
        "no claims",
        "no tenant",
        "empty tenant",
        "no user",
        "unknown role, no user",
    ],
)
def test_principal__token_that_names_nobody_is_refused_never_a_default_user(unverified: Mapping[str, Any]) -> None:
    with pytest.raises(ForbiddenError):
        principal(unverified)


def test_principal__unknown_role_makes_no_service() -> None:
    assert principal(context(tenant="acme", user="ana", role="Service")).service is False


@pytest.mark.parametrize(
    ("claims", "field"),
    [({"tenant": "a#b", "user": "ana"}, names.CLAIM_TENANT), ({"tenant": "acme", "user": "a}b"}, names.CLAIM_USER)],
)
def test_principal__claim_that_could_spell_another_key_is_refused(claims: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        principal(context(**claims))

    assert caught.value.field == field

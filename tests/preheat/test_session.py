"""Ids are parts of keys; a caller acts for themselves, or as the tenant's backend for anyone of the tenant."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.errors import ForbiddenError, InvalidInputError
from preheat.session import ID_PATTERN, Principal, TenantId, UserId, checked_id

TENANT = TenantId("acme")
ANA = Principal(TENANT, UserId("ana"), service=False)
BACKEND = Principal(TENANT, None, service=True)


@pytest.mark.parametrize("value", ["a", "7", "ana@example.com", "A-b_c.d+e", "x" * 128])
def test_checked_id__id_is_returned_as_it_is(value: str) -> None:
    assert checked_id(value, field="user") == value


@pytest.mark.parametrize("value", ["", "-a", ".a", "a#b", "a:b", "a{b", "a}b", "a/b", "a b", "ä", "a\n", "x" * 129])
def test_checked_id__what_could_spell_another_key_is_refused(value: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        checked_id(value, field="session")

    assert caught.value.field == "session"


@given(st.from_regex(ID_PATTERN, fullmatch=True))
def test_checked_id__accepts_exactly_its_pattern(value: str) -> None:
    assert checked_id(value, field="user") == value
    assert re.search(r"[#:{}\s]", value) is None


def test_may_act_for__a_user_for_themselves() -> None:
    assert ANA.may_act_for("ana") == "ana"


def test_may_act_for__a_user_for_another_is_forbidden() -> None:
    with pytest.raises(ForbiddenError):
        ANA.may_act_for("bob")


def test_may_act_for__token_without_a_user_is_forbidden() -> None:
    with pytest.raises(ForbiddenError):
        Principal(TENANT, None, service=False).may_act_for("ana")


def test_may_act_for__the_backend_for_anyone() -> None:
    assert BACKEND.may_act_for("bob") == "bob"


def test_may_act_for__a_name_that_is_no_id_is_refused_for_the_backend_too() -> None:
    with pytest.raises(InvalidInputError) as caught:
        BACKEND.may_act_for("ana}#U#bob")

    assert caught.value.field == "user"


def test_must_be_service__only_the_backend_passes() -> None:
    BACKEND.must_be_service()
    with pytest.raises(ForbiddenError):
        ANA.must_be_service()

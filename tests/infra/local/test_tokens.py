"""Which tokens the gateway accepts."""

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from infra.local.tokens import TokenVerifier, UnauthorizedError, mint_token
from preheat import names

SECRET = "a-secret-of-this-stack-0123456789abcdef"
NOW = 1_800_000_000.0


def mint(*, service: bool = False, secret: str = SECRET) -> str:
    return mint_token(secret, tenant="acme", user="ada", service=service, now=NOW, ttl_s=60.0)


def refusal(authorization: str | None, *, now: float = NOW) -> str:
    with pytest.raises(UnauthorizedError) as refused:
        TokenVerifier(SECRET).verify(authorization, now=now)
    return str(refused.value)


def sign(claims: dict[str, object], *, algorithm: str = "HS256") -> str:
    return jwt.encode({"alg": algorithm}, claims, OctKey.import_key(SECRET), algorithms=[algorithm])


def test_verify__claims_come_back_as_strings() -> None:
    assert TokenVerifier(SECRET).verify(f"Bearer {mint()}", now=NOW) == {
        names.CLAIM_TENANT: "acme",
        names.CLAIM_USER: "ada",
        "iat": "1800000000",
        "exp": "1800000060",
    }


def test_verify__a_service_has_its_role() -> None:
    claims = TokenVerifier(SECRET).verify(f"bearer {mint(service=True)}", now=NOW)
    assert claims[names.CLAIM_ROLE] == names.ROLE_SERVICE


def test_verify__expired_is_refused_at_its_second() -> None:
    assert TokenVerifier(SECRET).verify(f"Bearer {mint()}", now=NOW + 59)
    assert refusal(f"Bearer {mint()}", now=NOW + 60) == "the token has expired"


def test_verify__another_stacks_token_is_refused() -> None:
    assert "not valid" in refusal(f"Bearer {mint(secret='another-stacks-secret-0123456789abcd')}")


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Basic abc", "token"])
def test_verify__another_scheme_or_no_token_is_refused(authorization: str) -> None:
    assert "must be 'Bearer <token>'" in refusal(authorization)


def test_verify__no_header_is_refused() -> None:
    assert "missing" in refusal(None)


@pytest.mark.parametrize("token", ["x", "a.b", "a.b.c", "..", "a.b.c.d.e", "é.é.é"])
def test_verify__what_is_no_token_is_refused(token: str) -> None:
    assert "not valid" in refusal(f"Bearer {token}")


@pytest.mark.parametrize("missing", [names.CLAIM_TENANT, names.CLAIM_USER, "exp"])
def test_verify__a_token_without_a_needed_claim_is_refused(missing: str) -> None:
    claims: dict[str, object] = {names.CLAIM_TENANT: "acme", names.CLAIM_USER: "ada", "exp": int(NOW) + 60}
    del claims[missing]
    assert "not valid" in refusal(f"Bearer {sign(claims)}")


def test_verify__another_algorithm_is_refused() -> None:
    claims: dict[str, object] = {names.CLAIM_TENANT: "acme", names.CLAIM_USER: "ada", "exp": int(NOW) + 60}
    assert "not valid" in refusal(f"Bearer {sign(claims, algorithm='HS512')}")


def test_verify__an_unsigned_token_is_refused() -> None:
    head, _, _ = mint().partition(".")
    assert "not valid" in refusal(f"Bearer {head}.{mint().split('.')[1]}.")

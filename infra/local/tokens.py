"""Bearer tokens of one stack: JSON Web Tokens with the claims that the deployed user pool puts into its own.

Signed with HMAC-SHA256 and a secret made at the stack's start, so that a token of another stack is refused.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from joserfc import jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.jwk import OctKey

from infra.local.problem import RefusedError
from preheat import names

_ALGORITHM: Final = "HS256"
_SCHEME: Final = "bearer"
_REQUIRED: Final[Mapping[str, jwt.ClaimsOption]] = {
    name: {"essential": True} for name in (names.CLAIM_TENANT, names.CLAIM_USER, "exp")
}


class UnauthorizedError(RefusedError):
    """The request carries no token that this stack accepts. The message says why and never holds the token."""

    status = HTTPStatus.UNAUTHORIZED

    @property
    def headers(self) -> Mapping[str, str]:
        """The scheme that would be accepted."""
        return {"WWW-Authenticate": "Bearer"}


def mint_token(secret: str, *, tenant: str, user: str, service: bool, now: float, ttl_s: float) -> str:
    """Return a token for a user of a tenant, or for a service that may act for any user of it."""
    claims: dict[str, object] = {
        names.CLAIM_TENANT: tenant,
        names.CLAIM_USER: user,
        "iat": int(now),
        "exp": int(now + ttl_s),
    }
    if service:
        claims[names.CLAIM_ROLE] = names.ROLE_SERVICE
    return jwt.encode({"alg": _ALGORITHM}, claims, OctKey.import_key(secret))


class TokenVerifier:
    """Checks the `Authorization` header of a request."""

    def __init__(self, secret: str) -> None:
        self._key = OctKey.import_key(secret)

    def verify(self, authorization: str | None, *, now: float) -> Mapping[str, str]:
        """Return the claims of the header's token, every value a string as API Gateway hands them on.

        Args:
            authorization: The header's value, `Bearer <token>`; None when it was not sent.
            now: Epoch seconds.

        Raises:
            UnauthorizedError: there is no token, or it is not of this stack, incomplete or expired.
        """
        if authorization is None:
            raise UnauthorizedError("the Authorization header is missing")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != _SCHEME or not token.strip():
            raise UnauthorizedError("the Authorization header must be 'Bearer <token>'")
        try:
            claims = jwt.decode(token.strip(), self._key, algorithms=[_ALGORITHM]).claims
            jwt.JWTClaimsRegistry(int(now), 0, **_REQUIRED).validate(claims)
        except ExpiredTokenError as error:
            raise UnauthorizedError("the token has expired") from error
        except (JoseError, ValueError) as error:
            raise UnauthorizedError("the token is not valid for this stack") from error
        return {name: str(value) for name, value in claims.items()}

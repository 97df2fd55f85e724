"""Passwords for ElastiCache users who authenticate with IAM: a presigned request, made anew for every connection."""

from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from botocore.exceptions import BotoCoreError
from botocore.hooks import HierarchicalEmitter
from botocore.model import ServiceId
from botocore.signers import RequestSigner

from preheat.errors import StoreUnavailableError

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_SERVICE: Final = "elasticache"
_SCHEME: Final = "https://"
# The service takes no longer-lived token. It is checked when a connection authenticates, not afterwards.
TOKEN_TTL_S: Final = 900


class ElastiCacheIamCredentials:
    """Credential provider for `preheat.adapters.valkey_store`: the user's name and a token for one cache.

    The form of the token is ElastiCache's own: docs.aws.amazon.com/AmazonElastiCache/latest/dg/auth-iam.html
    """

    def __init__(
        self, credentials: "Credentials", *, user: str, cache: str, region: str, serverless: bool = True
    ) -> None:
        """Keep what tokens are made of; nothing is signed yet.

        Args:
            credentials: The caller's AWS credentials; refreshable ones are refreshed when a token is signed.
            user: The ElastiCache user; its id and its name are the same.
            cache: Name of the cache (not its address); the service keeps names in lower case.
            region: Of the cache.
            serverless: Whether it is a serverless cache or one made of nodes.
        """
        query = {"Action": "connect", "User": user} | ({"ResourceType": "ServerlessCache"} if serverless else {})
        self._user = user
        self._url = f"{_SCHEME}{cache.lower()}/?{urlencode(query)}"
        # The signer holds its event emitter by a weak reference only.
        self._events = HierarchicalEmitter()
        self._signer = RequestSigner(ServiceId(_SERVICE), region, _SERVICE, "v4", credentials, self._events)

    def get_credentials(self) -> tuple[str, str]:
        """Return the user's name and a token that is valid for `TOKEN_TTL_S` seconds.

        Raises:
            StoreUnavailableError: the AWS credentials cannot be read or refreshed.
        """
        request = {"method": "GET", "url": self._url, "body": {}, "headers": {}, "context": {}}
        try:
            signed = self._signer.generate_presigned_url(request, operation_name="connect", expires_in=TOKEN_TTL_S)
        except BotoCoreError as error:
            raise StoreUnavailableError(f"no token for the cache could be signed ({type(error).__name__})") from error
        return self._user, signed.removeprefix(_SCHEME)

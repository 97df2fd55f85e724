"""The token's form is the service's: a presigned request without its scheme."""

from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.credentials import Credentials, RefreshableCredentials
from botocore.exceptions import CredentialRetrievalError

from preheat.adapters.valkey_iam import ElastiCacheIamCredentials
from preheat.errors import StoreUnavailableError

KEYS: Final = Credentials("AKIDEXAMPLE", "not-a-secret", "session-token")


def _provider(*, serverless: bool = True, cache: str = "Preheat-Cache") -> ElastiCacheIamCredentials:
    return ElastiCacheIamCredentials(
        KEYS, user="preheat+app", cache=cache, region="eu-central-1", serverless=serverless
    )


def _query(token: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(f"https://{token}").query, strict_parsing=True)


def test_get_credentials__token_is_a_presigned_connect_without_its_scheme() -> None:
    user, token = _provider().get_credentials()
    assert user == "preheat+app"
    assert token.startswith("preheat-cache/?Action=connect&User=preheat%2Bapp&ResourceType=ServerlessCache&")
    query = _query(token)
    assert query["X-Amz-Expires"] == ["900"]
    assert query["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]
    assert query["X-Amz-Credential"][0].startswith("AKIDEXAMPLE/")
    assert query["X-Amz-Credential"][0].endswith("/eu-central-1/elasticache/aws4_request")
    assert query["X-Amz-Security-Token"] == ["session-token"]
    assert query["X-Amz-SignedHeaders"] == ["host"]
    assert len(query["X-Amz-Signature"][0]) == 64


def test_get_credentials__cache_of_nodes_has_no_resource_type() -> None:
    _, token = _provider(serverless=False).get_credentials()
    assert "ResourceType" not in _query(token)


def test_get_credentials__signature_covers_the_cache() -> None:
    tokens = [_provider(cache=name).get_credentials()[1] for name in ("one", "two")]
    assert _query(tokens[0])["X-Amz-Signature"] != _query(tokens[1])["X-Amz-Signature"]


def test_get_credentials__credentials_that_cannot_be_refreshed_are_a_fault_of_the_store() -> None:
    def refuse() -> dict[str, str]:
        raise CredentialRetrievalError(provider="test", error_msg="nobody home")

    expired = RefreshableCredentials.create_from_metadata(
        {"access_key": "a", "secret_key": "b", "token": "c", "expiry_time": "2020-01-01T00:00:00Z"},
        refresh_using=refuse,
        method="test",
    )
    provider = ElastiCacheIamCredentials(expired, user="app", cache="cache", region="eu-central-1")
    with pytest.raises(StoreUnavailableError, match="CredentialRetrievalError"):
        provider.get_credentials()

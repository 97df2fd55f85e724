"""What only DynamoDB can do: leave keys unprocessed, throttle, refuse; and the item's own form."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from preheat import names
from preheat.adapters.dynamodb_store import DynamoDBWarmStore
from preheat.envelope import seal
from preheat.errors import StoreUnavailableError
from preheat.keys import WarmKey
from preheat.ports import Entry
from tests.servers import HOST, free_port

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

NOW: Final = 1_800_000_000.25
TABLE: Final = "warm"
OWNER: Final = "T#acme#U#ada"
ENTRY: Final = Entry(WarmKey(f"one:{{{OWNER}}}:k1"), 3, b"body", NOW + 60)
OTHER: Final = Entry(WarmKey(f"other:{{{OWNER}}}:k2"), 4, b"other", NOW + 60)


def _client(endpoint_url: str) -> "DynamoDBClient":
    return boto3.client(
        "dynamodb",
        region_name="eu-central-1",
        endpoint_url=endpoint_url,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(connect_timeout=0.2, read_timeout=0.2, retries={"total_max_attempts": 1}),
    )


@pytest.fixture(scope="module")
def client() -> "DynamoDBClient":
    return _client("http://nobody.invalid")


@pytest.fixture
def stub(client: "DynamoDBClient") -> Iterator[Stubber]:
    with Stubber(client) as stub:
        yield stub
        stub.assert_no_pending_responses()


@pytest.fixture
def store(client: "DynamoDBClient") -> DynamoDBWarmStore:
    return DynamoDBWarmStore(client, table=TABLE)


def _key(entry: Entry) -> dict[str, dict[str, str]]:
    return {names.PARTITION_KEY: {"S": OWNER}, names.SORT_KEY: {"S": entry.key}}


def _item(entry: Entry) -> dict[str, dict[str, object]]:
    return {names.SORT_KEY: {"S": entry.key}, "sealed": {"B": seal(entry)}}


def _request(*entries: Entry) -> dict[str, object]:
    return {
        TABLE: {
            "Keys": [_key(entry) for entry in entries],
            "ProjectionExpression": "#sk, #sealed",
            "ExpressionAttributeNames": {"#sk": names.SORT_KEY, "#sealed": "sealed"},
        }
    }


def test_get_many__unprocessed_keys_are_asked_for_once_more(store: DynamoDBWarmStore, stub: Stubber) -> None:
    stub.add_response(
        "batch_get_item",
        {"Responses": {TABLE: [_item(ENTRY)]}, "UnprocessedKeys": _request(OTHER)},
        {"RequestItems": _request(ENTRY, OTHER)},
    )
    stub.add_response(
        "batch_get_item",
        {"Responses": {TABLE: [_item(OTHER)]}, "UnprocessedKeys": {}},
        {"RequestItems": _request(OTHER)},
    )
    assert store.get_many([ENTRY.key, OTHER.key], now=NOW) == {ENTRY.key: ENTRY, OTHER.key: OTHER}


def test_get_many__unprocessed_twice_is_missing(store: DynamoDBWarmStore, stub: Stubber) -> None:
    for _ in range(2):
        stub.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": _request(ENTRY)})
    assert store.get_many([ENTRY.key], now=NOW) == {}


def test_get_many__item_without_its_bytes_is_corrupt(store: DynamoDBWarmStore, stub: Stubber) -> None:
    item = {names.SORT_KEY: {"S": ENTRY.key}}
    stub.add_response("batch_get_item", {"Responses": {TABLE: [item]}, "UnprocessedKeys": {}})
    assert store.get_many([ENTRY.key], now=NOW) == {}
    assert store.corrupt == 1


def test_put__item_carries_order_and_both_expiries(store: DynamoDBWarmStore, stub: Stubber) -> None:
    stub.add_response(
        "put_item",
        {},
        {
            "TableName": TABLE,
            "Item": {
                **_key(ENTRY),
                "ord": {"N": "3"},
                "expires_ms": {"N": "1800000060250"},
                names.TTL_ATTRIBUTE: {"N": "1800000061"},
                "sealed": {"B": seal(ENTRY)},
            },
            "ConditionExpression": "attribute_not_exists(#expires_ms) OR #expires_ms <= :now_ms OR #ord <= :ord",
            "ExpressionAttributeNames": {"#expires_ms": "expires_ms", "#ord": "ord"},
            "ExpressionAttributeValues": {":now_ms": {"N": "1800000000250"}, ":ord": {"N": "3"}},
        },
    )
    assert store.put(ENTRY, now=NOW)


def test_delete__left_unprocessed_twice_is_a_fault(store: DynamoDBWarmStore, stub: Stubber) -> None:
    left = {TABLE: [{"DeleteRequest": {"Key": _key(ENTRY)}}]}
    for _ in range(2):
        stub.add_response("batch_write_item", {"UnprocessedItems": left}, {"RequestItems": left})
    with pytest.raises(StoreUnavailableError, match="unprocessed"):
        store.delete([ENTRY.key])


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("ProvisionedThroughputExceededException", "throttled"),
        ("ThrottlingException", "throttled"),
        ("RequestLimitExceeded", "throttled"),
        ("ResourceNotFoundException", "refused"),
        ("InternalServerError", "refused"),
        ("AccessDeniedException", "refused"),
    ],
)
def test_every_call__vendor_error_is_a_fault_of_the_store(
    store: DynamoDBWarmStore, stub: Stubber, code: str, says: str
) -> None:
    for method, call in (
        ("batch_get_item", lambda: store.get_many([ENTRY.key], now=NOW)),
        ("put_item", lambda: store.put(ENTRY, now=NOW)),
        ("put_item", lambda: store.add(ENTRY, now=NOW)),
        ("batch_write_item", lambda: store.delete([ENTRY.key])),
    ):
        stub.add_client_error(method, code)
        with pytest.raises(StoreUnavailableError, match=f"{says}.*{code}") as caught:
            call()
        assert caught.value.retryable
        assert caught.value.__cause__ is not None


def test_get_many__nobody_there_is_a_fault_of_the_store() -> None:
    store = DynamoDBWarmStore(_client(f"http://{HOST}:{free_port()}"), table=TABLE)
    with pytest.raises(StoreUnavailableError, match="EndpointConnectionError"):
        store.get_many([ENTRY.key], now=NOW)

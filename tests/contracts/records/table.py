"""A records table in the emulator, in process, for the contract suites."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Final, cast

import boto3
from moto import mock_aws

from infra.topology import TABLES, Table
from preheat import names

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

RECORDS: Final[Table] = next(table for table in TABLES if table.name == names.RECORDS_TABLE)
_NUMBERS: Final = count()


class OneCallAtATime:
    """A client whose calls do not overlap: the service's calls are atomic, the emulator's are not."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client
        self._lock = Lock()

    def __getattr__(self, name: str) -> Callable[..., object]:
        method = getattr(self._client, name)

        def call(**arguments: object) -> object:
            with self._lock:
                return method(**arguments)

        return call


@contextmanager
def emulated_dynamodb() -> Iterator["DynamoDBClient"]:
    """Emulate DynamoDB in this process while the context is open."""
    with mock_aws():
        yield cast("DynamoDBClient", OneCallAtATime(boto3.client("dynamodb", region_name="eu-central-1")))


def new_table(client: "DynamoDBClient") -> str:
    """Create an empty table with the keys of the records table; return its name."""
    name = f"{RECORDS.name}-{next(_NUMBERS)}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": key, "AttributeType": "S"} for key in (RECORDS.partition_key, RECORDS.sort_key)
        ],
        KeySchema=[
            {"AttributeName": RECORDS.partition_key, "KeyType": "HASH"},
            {"AttributeName": RECORDS.sort_key, "KeyType": "RANGE"},
        ],
    )
    return name

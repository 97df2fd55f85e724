"""Both adapters of the records, for every test that asks for `records`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from preheat.adapters.dynamodb_records import DynamoDBRecords
from preheat.adapters.memory_records import MemoryRecords
from preheat.ports import Records
from tests.contracts.records.table import emulated_dynamodb, new_table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@pytest.fixture(scope="module")
def emulator() -> Iterator["DynamoDBClient"]:
    with emulated_dynamodb() as client:
        yield client


@pytest.fixture(params=["memory", "dynamodb"])
def records(request: pytest.FixtureRequest) -> Records:
    if request.param == "memory":
        return MemoryRecords()
    client: DynamoDBClient = request.getfixturevalue("emulator")
    return DynamoDBRecords(client, table=new_table(client))

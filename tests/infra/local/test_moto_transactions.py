"""moto's transactions on touched rows: the same outcomes, at a cost that does not grow with the table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.models import DynamoDBBackend

from infra.local.moto_transactions import use_touched_rows

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

TABLE = "rows"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator["DynamoDBClient"]:
    # Puts moto's own method back afterwards.
    monkeypatch.setattr(DynamoDBBackend, "transact_write_items", DynamoDBBackend.transact_write_items)
    use_touched_rows()
    with mock_aws():
        client = boto3.client(
            "dynamodb", region_name="us-east-1", aws_access_key_id="local", aws_secret_access_key="local"
        )
        client.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        for number in range(5):
            client.put_item(TableName=TABLE, Item={"pk": {"S": "p"}, "sk": {"S": f"s{number}"}, "n": {"N": "0"}})
        yield client


def put(sort: str, *, new: bool = False) -> "TransactWriteItemTypeDef":
    item = {"pk": {"S": "p"}, "sk": {"S": sort}, "n": {"N": "1"}}
    if new:
        return {"Put": {"TableName": TABLE, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}
    return {"Put": {"TableName": TABLE, "Item": item}}


def update(sort: str) -> "TransactWriteItemTypeDef":
    return {
        "Update": {
            "TableName": TABLE,
            "Key": {"pk": {"S": "p"}, "sk": {"S": sort}},
            "UpdateExpression": "SET n = :n",
            "ExpressionAttributeValues": {":n": {"N": "2"}},
        }
    }


def delete(sort: str) -> "TransactWriteItemTypeDef":
    return {"Delete": {"TableName": TABLE, "Key": {"pk": {"S": "p"}, "sk": {"S": sort}}}}


def rows(client: "DynamoDBClient") -> dict[str, str]:
    items = client.query(
        TableName=TABLE, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "p"}}
    )["Items"]
    return {item["sk"]["S"]: item["n"]["N"] for item in items}


def test_transaction__puts_updates_and_deletes_and_leaves_the_rest(table: "DynamoDBClient") -> None:
    table.transact_write_items(
        TransactItems=[put("new", new=True), put("s0"), update("s1"), update("s9"), delete("s2")]
    )
    assert rows(table) == {"new": "1", "s0": "1", "s1": "2", "s3": "0", "s4": "0", "s9": "2"}


def test_transaction__one_failed_condition_undoes_all_of_it(table: "DynamoDBClient") -> None:
    before = rows(table)
    with pytest.raises(ClientError) as caught:
        table.transact_write_items(TransactItems=[put("new"), update("s1"), delete("s2"), put("s0", new=True)])
    codes = [reason["Code"] for reason in caught.value.response["CancellationReasons"]]
    assert codes == ["None", "None", "None", "ConditionalCheckFailed"]
    assert rows(table) == before


def test_transaction__one_row_twice_is_refused_and_undone(table: "DynamoDBClient") -> None:
    before = rows(table)
    with pytest.raises(ClientError, match="multiple operations"):
        table.transact_write_items(TransactItems=[put("new"), put("new")])
    assert rows(table) == before


def test_transaction__an_unknown_table_is_refused(table: "DynamoDBClient") -> None:
    with pytest.raises(ClientError):
        table.transact_write_items(TransactItems=[{"Put": {"TableName": "none", "Item": {"pk": {"S": "p"}}}}])


def test_transaction__moto_sees_only_the_rows_that_are_named(
    table: "DynamoDBClient", monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    whole = DynamoDBBackend.put_item

    def counted(backend: DynamoDBBackend, name: str, *rest: object, **named: object) -> object:
        seen.append(sum(len(partition) for partition in backend.tables[name].items.values()))
        return whole(backend, name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(DynamoDBBackend, "put_item", counted)
    table.transact_write_items(TransactItems=[put("s0"), put("s1")])
    assert seen == [2, 2]
    assert len(rows(table)) == 5

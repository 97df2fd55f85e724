"""moto's queries cut from one partition: the same answers, at a cost that does not grow with the table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

from infra.local.moto_queries import use_partitions

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import WriteRequestTypeDef

TABLE = "rows"
ROWS = 60
KEYS_OF_TWO = {"pk": {"S": "mixed"}, "sk": {"S": "2"}}
KINDS: dict[str, Any] = {
    "text": {"S": 'naïve 日本 🙂 "quoted" \\'},
    "number": {"N": "1764560000.123456"},
    "yes": {"BOOL": True},
    "none": {"NULL": True},
    "bytes": {"B": bytes(range(256))},
    "list": {"L": [{"S": "a"}, {"N": "1"}, {"B": b"\x00\xff"}]},
    "map": {"M": {"a": {"M": {"b": {"S": "c"}}}}},
    "texts": {"SS": ["a", "b"]},
    "blobs": {"BS": [b"\x00", b"\xff"]},
}


@pytest.fixture(scope="module")
def table() -> Iterator["DynamoDBClient"]:
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
        for number in range(ROWS):
            rest = KINDS if number == 7 else {"size": {"S": "x" * (300_000 if number > 50 else number)}}
            key = {"pk": {"S": "p"}, "sk": {"S": f"{'ab'[number % 2]}#{number:03d}"}}
            client.put_item(TableName=TABLE, Item={**key, **rest})
        client.put_item(TableName=TABLE, Item={"pk": {"S": "q"}, "sk": {"S": "a#001"}})
        yield client


ASKED: dict[str, dict[str, Any]] = {
    "all": {},
    "newest first": {"ScanIndexForward": False},
    "limit": {"Limit": 7},
    "limit, newest first": {"Limit": 7, "ScanIndexForward": False},
    "limit is all there is": {"Limit": ROWS},
    "one attribute": {"ProjectionExpression": "sk"},
    "two attributes, one of few rows": {"ProjectionExpression": "sk, bytes"},
    "count": {"Select": "COUNT"},
    "filter": {"FilterExpression": "attribute_exists(#t)", "ExpressionAttributeNames": {"#t": "text"}},
    "nested": {"ProjectionExpression": "#m.a", "ExpressionAttributeNames": {"#m": "map"}},
}
RANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "whole": ("pk = :pk", {}),
    "between": ("pk = :pk AND sk BETWEEN :a AND :b", {":a": {"S": "a#010"}, ":b": {"S": "b#"}}),
    "prefix": ("pk = :pk AND begins_with(sk, :a)", {":a": {"S": "b#"}}),
    "before": ("pk = :pk AND sk < :a", {":a": {"S": "b#003"}}),
    "none": ("pk = :pk AND sk > :a", {":a": {"S": "z"}}),
}


def pages(client: "DynamoDBClient", asked: dict[str, Any], of: str, partition: str) -> list[Any]:
    condition, values = RANGES[of]
    request = {
        "TableName": TABLE,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": {":pk": {"S": partition}, **values},
        **asked,
    }
    found: list[Any] = []
    while True:
        page = client.query(**request)
        found.append((page.get("Items"), page["Count"]))
        if "LastEvaluatedKey" not in page:
            # An empty last page says no more than none.
            return found if page["Count"] or len(found) == 1 else found[:-1]
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@pytest.mark.parametrize("of", RANGES)
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_query__answers_as_moto_does_page_by_page(
    table: "DynamoDBClient", monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], of: str
) -> None:
    whole = [pages(table, asked, of, partition) for partition in ("p", "q", "nobody")]
    with monkeypatch.context() as patched:
        # Puts moto's own methods back afterwards.
        patched.setattr(Table, "query", Table.query)
        patched.setattr(DynamoHandler, "query", DynamoHandler.query)
        patched.setattr(DynamoHandler, "batch_write_item", DynamoHandler.batch_write_item)
        use_partitions()

        cut = [pages(table, asked, of, partition) for partition in ("p", "q", "nobody")]

    assert cut == whole


@pytest.fixture
def cut(table: "DynamoDBClient", monkeypatch: pytest.MonkeyPatch) -> "DynamoDBClient":
    """The table behind the methods under test, of which moto's own are put back afterwards."""
    for owner, name in ((Table, "query"), (DynamoHandler, "query"), (DynamoHandler, "batch_write_item")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    use_partitions()
    return table


def test_query__an_unknown_table_is_refused(cut: "DynamoDBClient") -> None:
    with pytest.raises(cut.exceptions.ResourceNotFoundException):
        cut.query(TableName="none", KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "p"}})


def removal(partition: str, sort: str) -> "WriteRequestTypeDef":
    return {"DeleteRequest": {"Key": {"pk": {"S": partition}, "sk": {"S": sort}}}}


def test_batch_write__removes_what_is_named_and_nothing_else(cut: "DynamoDBClient") -> None:
    for sort in ("1", "2", "3"):
        cut.put_item(TableName=TABLE, Item={"pk": {"S": "gone"}, "sk": {"S": sort}})
        cut.put_item(TableName=TABLE, Item={"pk": {"S": "stays"}, "sk": {"S": sort}})

    some = [removal("gone", "1"), removal("gone", "3"), removal("gone", "never"), removal("nobody", "1")]
    answer = cut.batch_write_item(RequestItems={TABLE: some})

    assert answer["UnprocessedItems"] == {}
    assert [len(pages(cut, {}, "whole", name)[0][0]) for name in ("gone", "stays")] == [1, 3]


def test_batch_write__puts_and_mixtures_are_moto_s(cut: "DynamoDBClient") -> None:
    put: WriteRequestTypeDef = {"PutRequest": {"Item": {"pk": {"S": "mixed"}, "sk": {"S": "1"}}}}
    cut.batch_write_item(RequestItems={TABLE: [put]})

    cut.batch_write_item(RequestItems={TABLE: [removal("mixed", "1"), {"PutRequest": {"Item": KEYS_OF_TWO}}]})

    assert [item["sk"]["S"] for item in pages(cut, {}, "whole", "mixed")[0][0]] == ["2"]


@pytest.mark.parametrize(
    ("table_name", "some"),
    [(TABLE, [removal("p", "1"), removal("p", "1")]), ("none", [removal("p", "1")])],
    ids=["one row twice", "unknown table"],
)
def test_batch_write__what_moto_refuses_is_refused(
    cut: "DynamoDBClient", table_name: str, some: "list[WriteRequestTypeDef]"
) -> None:
    with pytest.raises(ClientError):
        cut.batch_write_item(RequestItems={table_name: some})

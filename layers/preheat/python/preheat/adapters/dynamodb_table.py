"""The records table: consistent reads and commits.

Every read is strongly consistent, but rows read in one call may be from different moments. So a commit, which is one
transaction, holds a condition for each row that was read, and a writer who lost reads again and tries again.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

from preheat import names
from preheat.adapters.dynamodb_errors import translated
from preheat.adapters.dynamodb_expressions import assigned, bound, bound_as_seen, unmoved
from preheat.adapters.dynamodb_items import Fields, Key, key_attributes, read_fields, stored_fields
from preheat.errors import ConflictError, SourceUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import (
        AttributeValueTypeDef,
        PutItemInputTypeDef,
        QueryInputTypeDef,
        TransactWriteItemTypeDef,
        WriteRequestUnionTypeDef,
    )

Result = TypeVar("Result")
ABSENT: Final = f"attribute_not_exists({names.PARTITION_KEY})"
_READ_TRIES: Final = 4
# The service's own limit for one batch of writes.
KEYS_PER_REMOVAL: Final = 25
_REMOVAL_TRIES: Final = 8
# Eight writers who never stop writing to one user get through in ten; the waits together stay under 5 s.
_COMMIT_TRIES: Final = 16
_FIRST_WAIT_S: Final = 0.02
_LONGEST_WAIT_S: Final = 0.4


class Table:
    """One DynamoDB table with string keys `pk` and `sk`. `sleep` waits for the given seconds."""

    def __init__(self, client: "DynamoDBClient", *, name: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._client = client
        self._name = name
        self._sleep = sleep

    def get(self, *keys: Key) -> list[Fields | None]:
        """Return the rows of different keys in their order, in one round trip when nothing is held back."""
        found: dict[Key, Fields] = {}
        wanted = [key_attributes(key) for key in keys]
        for _ in range(_READ_TRIES):
            with translated():
                response = self._client.batch_get_item(
                    RequestItems={self._name: {"Keys": wanted, "ConsistentRead": True}}
                )
            for item in response["Responses"].get(self._name, []):
                found[item[names.PARTITION_KEY]["S"], item[names.SORT_KEY]["S"]] = read_fields(item)
            held_back = response["UnprocessedKeys"].get(self._name)
            if not held_back:
                return [found.get(key) for key in keys]
            wanted = list(held_back["Keys"])
        raise SourceUnavailableError("the table held back a part of every read")

    def query(
        self,
        partition: str,
        *,
        prefix: str,
        first: str | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> Iterator[Fields]:
        """Return the rows of a partition whose sort key has `prefix`, in its order, page after page.

        Args:
            partition: Partition key.
            prefix: Of the sort keys; ends in `#`.
            first: The smallest sort key wanted, if not all are.
            newest_first: Turns the order round.
            limit: How many rows at most.
        """
        request = self._range(partition, prefix=prefix, first=first or prefix)
        request["ScanIndexForward"] = not newest_first
        wanted = limit
        while wanted is None or wanted > 0:
            if wanted is not None:
                request["Limit"] = wanted
            with translated():
                page = self._client.query(**request)
            yield from map(read_fields, page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
            wanted = None if wanted is None else wanted - len(page["Items"])

    def page(self, partition: str, *, prefix: str, first: str, limit: int) -> tuple[list[Fields], bool]:
        """Return at most `limit` rows from the sort key `first` on, by one query; and whether it left any out."""
        request = self._range(partition, prefix=prefix, first=first)
        # One more, since a page that is full does not tell whether it is the last.
        request["Limit"] = limit + 1
        with translated():
            page = self._client.query(**request)
        rows: list[Fields] = [read_fields(item) for item in page["Items"]]
        return rows[:limit], len(rows) > limit or "LastEvaluatedKey" in page

    def _range(self, partition: str, *, prefix: str, first: str) -> "QueryInputTypeDef":
        return {
            "TableName": self._name,
            "ConsistentRead": True,
            "KeyConditionExpression": f"{names.PARTITION_KEY} = :pk AND {names.SORT_KEY} BETWEEN :first AND :end",
            "ExpressionAttributeValues": {
                ":pk": {"S": partition},
                ":first": {"S": first},
                # The next prefix in the table's order; no row has it for its whole key.
                ":end": {"S": prefix[:-1] + chr(ord(prefix[-1]) + 1)},
            },
        }

    def put(self, key: Key, fields: Fields, *, condition: str | None = None, values: Fields | None = None) -> None:
        """Write one row on its own.

        Raises:
            ConflictError: the row that is there does not meet `condition`, which speaks of `values` as `:name`.
        """
        request: PutItemInputTypeDef = {"TableName": self._name, "Item": _item(key, fields)}
        if condition is not None:
            request["ConditionExpression"] = condition
        if values:
            request["ExpressionAttributeValues"] = bound(values)
        with translated():
            self._client.put_item(**request)

    def putting(
        self, key: Key, fields: Fields, *, condition: str | None = None, values: Fields | None = None
    ) -> "TransactWriteItemTypeDef":
        """Return the part of a commit that writes one row, under a condition as in `put`."""
        write: TransactWriteItemTypeDef = {"Put": {"TableName": self._name, "Item": _item(key, fields)}}
        if condition is not None:
            write["Put"]["ConditionExpression"] = condition
        if values:
            write["Put"]["ExpressionAttributeValues"] = bound(values)
        return write

    def deleting(
        self, key: Key, *, condition: str | None = None, values: Fields | None = None
    ) -> "TransactWriteItemTypeDef":
        """Return the part of a commit that removes one row, under a condition as in `put`, else there or not."""
        write: TransactWriteItemTypeDef = {"Delete": {"TableName": self._name, "Key": key_attributes(key)}}
        if condition is not None:
            write["Delete"]["ConditionExpression"] = condition
        if values:
            write["Delete"]["ExpressionAttributeValues"] = bound(values)
        return write

    def moving(self, key: Key, *, seen: Fields, to: Fields) -> "TransactWriteItemTypeDef":
        """Return the part of a commit that sets fields of one row, the others stay, and lets it last.

        Args:
            key: Of the row; it is made when it is not there.
            seen: Counters that must still be what was read; zeros when the row was not there.
            to: The new fields.
        """
        there = any(seen.values())
        return {
            "Update": {
                "TableName": self._name,
                "Key": key_attributes(key),
                "UpdateExpression": f"SET {assigned(to)} REMOVE {names.TTL_ATTRIBUTE}",
                "ConditionExpression": unmoved(seen) if there else ABSENT,
                "ExpressionAttributeValues": bound(to) | (bound_as_seen(seen) if there else {}),
            }
        }

    def checking(self, key: Key, *, seen: Fields) -> "TransactWriteItemTypeDef":
        """Return the part of a commit that holds only while counters of one row are what was read."""
        return {
            "ConditionCheck": {
                "TableName": self._name,
                "Key": key_attributes(key),
                "ConditionExpression": unmoved(seen),
                "ExpressionAttributeValues": bound_as_seen(seen),
            }
        }

    def advance(self, key: Key, *, counters: Sequence[str], to: Fields) -> Fields:
        """Move counters of one row by one, set fields and let it last, whatever was there; return it as it is then.

        Raises:
            ConflictError: another writer was at work on the row.
        """
        moved = ", ".join(f"{name} = if_not_exists({name}, :zero) + :one" for name in counters)
        with translated():
            response = self._client.update_item(
                TableName=self._name,
                Key=key_attributes(key),
                UpdateExpression=f"SET {moved}, {assigned(to)} REMOVE {names.TTL_ATTRIBUTE}",
                ExpressionAttributeValues=bound({**to, "zero": 0, "one": 1}),
                ReturnValues="ALL_NEW",
            )
        return read_fields(response["Attributes"])

    def update(self, key: Key, *, seen: Fields, to: Fields) -> None:
        """Set fields of one row that is there.

        Raises:
            ConflictError: its counters are not what was read.
        """
        with translated():
            self._client.update_item(
                TableName=self._name,
                Key=key_attributes(key),
                UpdateExpression=f"SET {assigned(to)}",
                ConditionExpression=unmoved(seen),
                ExpressionAttributeValues=bound(to) | bound_as_seen(seen),
            )

    def list(self, partition: str, *fields: str) -> Iterator[Sequence[Fields]]:
        """Return all rows of a partition with their sort key and these fields, page by page."""
        request: QueryInputTypeDef = {
            "TableName": self._name,
            "ConsistentRead": True,
            "KeyConditionExpression": f"{names.PARTITION_KEY} = :pk",
            "ExpressionAttributeValues": {":pk": {"S": partition}},
            "ProjectionExpression": ", ".join((names.SORT_KEY, *fields)),
        }
        while True:
            with translated():
                page = self._client.query(**request)
            yield [read_fields(item) for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                return
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def remove(self, keys: Sequence[Key]) -> None:
        """Remove rows, there or not, at most `KEYS_PER_REMOVAL`; what the service leaves is asked for again.

        A partition takes a thousand removals a second: under more, the service leaves some of them or refuses all.
        """
        wanted: Sequence[WriteRequestUnionTypeDef] = [{"DeleteRequest": {"Key": key_attributes(key)}} for key in keys]
        for count in range(_REMOVAL_TRIES):
            try:
                with translated():
                    left = self._client.batch_write_item(RequestItems={self._name: wanted})["UnprocessedItems"]
            except (ConflictError, SourceUnavailableError):
                if count == _REMOVAL_TRIES - 1:
                    raise
            else:
                wanted = left.get(self._name, [])
            if not wanted:
                return
            self._wait(count)
        raise SourceUnavailableError("the table left removals unprocessed")

    def commit(self, writes: "Sequence[TransactWriteItemTypeDef]") -> None:
        """Make all the writes, or none.

        The token keeps the network retries of one call from being applied twice; a call made again after a conflict is
        another write and gets another token.

        Raises:
            ConflictError: a condition does not hold, or another writer was at work on one of the rows.
        """
        with translated():
            self._client.transact_write_items(TransactItems=writes, ClientRequestToken=str(uuid4()))

    def until_committed(self, attempt: Callable[[], Result]) -> Result:
        """Return what `attempt` returns, made again with small random waits while it loses to other writers.

        Raises:
            ConflictError: it lost every time.
        """
        for count in range(_COMMIT_TRIES - 1):
            try:
                return attempt()
            except ConflictError:
                self._wait(count)
        return attempt()

    def _wait(self, count: int) -> None:
        longest_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**count)
        self._sleep(random.uniform(0, longest_s))  # noqa: S311  # spreads writers, guards nothing


def _item(key: Key, fields: Fields) -> "dict[str, AttributeValueTypeDef]":
    return key_attributes(key) | stored_fields(fields)

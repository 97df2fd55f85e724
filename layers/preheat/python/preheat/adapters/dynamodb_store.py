"""The warm store's lasting tier: one DynamoDB table, a partition per user, one item per entry.

Reads are eventually consistent: whatever they return carries its stamp, and the reader compares it. Writes are
conditional, so the newest of several concurrent builders stays. The table deletes expired items days late at worst, so
every condition and every read looks at the expiry itself.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from preheat import names
from preheat.envelope import seal, unseal_live
from preheat.errors import StoreUnavailableError
from preheat.keys import WarmKey, owner_of, user_partition
from preheat.ports import Entry
from preheat.session import TenantId, UserId

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import (
        AttributeValueTypeDef,
        KeysAndAttributesUnionTypeDef,
        QueryInputTypeDef,
        WriteRequestUnionTypeDef,
    )

_TIER: Final = "dynamodb"
_ORDER: Final = "ord"
_SEALED: Final = "sealed"
# The TTL attribute holds whole seconds, rounded up, as the service asks for; conditions compare milliseconds.
_EXPIRES_MS: Final = "expires_ms"
_ABSENT: Final = "attribute_not_exists(#expires_ms) OR #expires_ms <= :now_ms"
# The service's own limits for one batch.
_KEYS_PER_READ: Final = 100
_KEYS_PER_DELETE: Final = 25
_TRIES: Final = 2
_THROTTLES: Final = frozenset(
    {"ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "ThrottledException"}
)


class DynamoDBWarmStore:
    """Keeps sealed entries in one table. The client brings its own time-outs and retries: short ones.

    Attributes:
        corrupt: Entries read that were not what was written.
    """

    def __init__(self, client: "DynamoDBClient", *, table: str) -> None:
        self.corrupt = 0
        self._client = client
        self._table = table
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[WarmKey], *, now: float) -> Mapping[WarmKey, Entry]:
        """Return the entries that are there, whole and not expired, in one round trip for up to 100 keys.

        Keys that the service leaves unprocessed are asked for once more and then taken for missing.
        """
        wanted = tuple(dict.fromkeys(keys))
        found: list[tuple[WarmKey, bytes]] = []
        for start in range(0, len(wanted), _KEYS_PER_READ):
            found += self._read(wanted[start : start + _KEYS_PER_READ])
        live, corrupt = unseal_live(found, now=now)
        if corrupt:
            with self._lock:
                self.corrupt += corrupt
        return live

    def put(self, entry: Entry, *, now: float) -> bool:
        """Store the entry unless a newer, live one is there or it has already expired."""
        return self._write(entry, f"{_ABSENT} OR #ord <= :ord", {":ord": {"N": str(entry.order)}}, now=now)

    def add(self, entry: Entry, *, now: float) -> bool:
        """Store the entry only when no live one is there and it has not already expired."""
        return self._write(entry, _ABSENT, {}, now=now)

    def delete(self, keys: Sequence[WarmKey]) -> None:
        """Remove the entries."""
        wanted = tuple(dict.fromkeys(keys))
        for start in range(0, len(wanted), _KEYS_PER_DELETE):
            self._delete(wanted[start : start + _KEYS_PER_DELETE])

    def erase_user(self, tenant: TenantId, user: UserId) -> Mapping[str, frozenset[WarmKey]]:
        """Remove all entries of a user, expired ones too; return the keys removed, under this tier's name."""
        held = self._held(user_partition(tenant, user))
        self.delete(held)
        return {_TIER: frozenset(held)}

    def faults(self, *, now: float) -> tuple[str, ...]:  # noqa: ARG002  # the port's shape
        """Return nothing: one tier alone keeps no record of faults, its calls raise."""
        return ()

    def _read(self, keys: Sequence[WarmKey]) -> list[tuple[WarmKey, bytes]]:
        pending: Mapping[str, KeysAndAttributesUnionTypeDef] = {
            self._table: {
                "Keys": [_item_key(key) for key in keys],
                "ProjectionExpression": "#sk, #sealed",
                "ExpressionAttributeNames": {"#sk": names.SORT_KEY, "#sealed": _SEALED},
            }
        }
        found: list[tuple[WarmKey, bytes]] = []
        for _ in range(_TRIES):
            try:
                answer = self._client.batch_get_item(RequestItems=pending)
            except (ClientError, BotoCoreError) as error:
                raise _unavailable(error) from error
            found += [
                (WarmKey(item[names.SORT_KEY]["S"]), item.get(_SEALED, {}).get("B", b""))
                for item in answer["Responses"].get(self._table, [])
            ]
            pending = answer.get("UnprocessedKeys", {})
            if not pending:
                break
        return found

    def _held(self, partition: str) -> list[WarmKey]:
        """Return all keys of a partition; a strongly consistent read, for what is read here must go."""
        request: QueryInputTypeDef = {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": "#pk = :pk",
            "ProjectionExpression": "#sk",
            "ExpressionAttributeNames": {"#pk": names.PARTITION_KEY, "#sk": names.SORT_KEY},
            "ExpressionAttributeValues": {":pk": {"S": partition}},
        }
        held: list[WarmKey] = []
        while True:
            try:
                page = self._client.query(**request)
            except (ClientError, BotoCoreError) as error:
                raise _unavailable(error) from error
            held += [WarmKey(item[names.SORT_KEY]["S"]) for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                return held
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _write(
        self, entry: Entry, condition: str, values: Mapping[str, "AttributeValueTypeDef"], *, now: float
    ) -> bool:
        sealed = seal(entry)
        if entry.expires_at <= now:
            return False
        placeholders = {"#expires_ms": _EXPIRES_MS} | ({"#ord": _ORDER} if values else {})
        try:
            self._client.put_item(
                TableName=self._table,
                Item={
                    **_item_key(entry.key),
                    _ORDER: {"N": str(entry.order)},
                    _EXPIRES_MS: {"N": str(round(entry.expires_at * 1000))},
                    names.TTL_ATTRIBUTE: {"N": str(math.ceil(entry.expires_at))},
                    _SEALED: {"B": sealed},
                },
                ConditionExpression=condition,
                ExpressionAttributeNames=placeholders,
                ExpressionAttributeValues={":now_ms": {"N": str(round(now * 1000))}, **values},
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        except (ClientError, BotoCoreError) as error:
            raise _unavailable(error) from error
        return True

    def _delete(self, keys: Sequence[WarmKey]) -> None:
        pending: Mapping[str, Sequence[WriteRequestUnionTypeDef]] = {
            self._table: [{"DeleteRequest": {"Key": _item_key(key)}} for key in keys]
        }
        for _ in range(_TRIES):
            try:
                pending = self._client.batch_write_item(RequestItems=pending).get("UnprocessedItems", {})
            except (ClientError, BotoCoreError) as error:
                raise _unavailable(error) from error
            if not pending:
                return
        raise StoreUnavailableError("the warm table left deletions unprocessed")


def _item_key(key: WarmKey) -> "dict[str, AttributeValueTypeDef]":
    return {names.PARTITION_KEY: {"S": owner_of(key)}, names.SORT_KEY: {"S": key}}


def _unavailable(error: ClientError | BotoCoreError) -> StoreUnavailableError:
    if isinstance(error, BotoCoreError):
        return StoreUnavailableError(f"the warm table cannot be reached ({type(error).__name__})")
    code = error.response["Error"]["Code"]
    what = "throttled the call" if code in _THROTTLES else "refused the call"
    return StoreUnavailableError(f"the warm table {what} ({code})")

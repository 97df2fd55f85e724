"""A DynamoDB client that answers from a script, for tests of the calls that are made and of the vendor's errors."""

import gzip
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, cast

from botocore.exceptions import ClientError

from preheat.adapters.dynamodb_records import DynamoDBRecords

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE: Final = "records"
NOTHING: Final[Mapping[str, object]] = {"Responses": {TABLE: []}, "UnprocessedKeys": {}}
Answer = Mapping[str, object] | Exception


class ScriptedClient:
    """Gives the answers of its script one after the other, the last one for ever, and keeps what it was asked."""

    def __init__(self, *script: Answer) -> None:
        self._script = list(script)
        self.calls: list[tuple[str, dict[str, object]]] = []

    def __getattr__(self, name: str) -> Callable[..., Mapping[str, object]]:
        def call(**arguments: object) -> Mapping[str, object]:
            self.calls.append((name, arguments))
            answer = self._script.pop(0) if len(self._script) > 1 else self._script[0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    def named(self) -> list[str]:
        return [name for name, _ in self.calls]


def records_on(client: ScriptedClient, *, waits: list[float] | None = None) -> DynamoDBRecords:
    kept = [] if waits is None else waits
    return DynamoDBRecords(cast("DynamoDBClient", client), table=TABLE, sleep=kept.append)


def rows(*items: Mapping[str, object]) -> Answer:
    return {"Responses": {TABLE: list(items)}, "UnprocessedKeys": {}}


def refusal(code: str, *reasons: str) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": "a stored secret"},
        **({"CancellationReasons": [{"Code": reason} for reason in reasons]} if reasons else {}),
    }
    return ClientError(answer, "Operation")  # type: ignore[arg-type]  # a plain dictionary of the same shape


def blob(document: bytes) -> Answer:
    return {"Items": [{"body": {"B": gzip.compress(document)}}]}

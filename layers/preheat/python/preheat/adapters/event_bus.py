"""Publishing to EventBridge and setting records aside in an SQS dead-letter queue."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from preheat import names
from preheat.canonical import canonical_json
from preheat.errors import SourceUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sqs import SQSClient


class EventBridgeBus:
    """Puts our events on one bus."""

    def __init__(self, connect: Callable[[], "EventBridgeClient"], *, bus: str) -> None:
        """Keep what is needed. `connect` is called at the first event: most functions publish none."""
        self._connect = cache(connect)
        self._bus = bus

    def publish(self, detail_type: str, detail: Mapping[str, object]) -> None:
        """Publish one event of ours."""
        entry = {
            "EventBusName": self._bus,
            "Source": names.EVENT_SOURCE,
            "DetailType": detail_type,
            "Detail": canonical_json(dict(detail)),
        }
        try:
            response = self._connect().put_events(Entries=[entry])  # type: ignore[list-item]  # the literal keys above
        except (ClientError, BotoCoreError) as error:
            raise SourceUnavailableError(f"the bus could not be reached ({type(error).__name__})") from error
        if response.get("FailedEntryCount"):
            raise SourceUnavailableError("the bus did not take the event")


class SqsDeadLetters:
    """Sends records to one dead-letter queue, each with the reason why no retry can help."""

    def __init__(self, client: "SQSClient", *, queue_url: str) -> None:
        self._client = client
        self._queue_url = queue_url

    def reject(self, body: str, *, message_id: str, source_queue: str, code: str, reason: str) -> None:
        """Keep the record, as it came, with its reason in the message's attributes."""
        attributes = {
            names.CODE_ATTRIBUTE: code,
            names.REASON_ATTRIBUTE: reason,
            names.SOURCE_QUEUE_ATTRIBUTE: source_queue,
            "message_id": message_id,
        }
        try:
            self._client.send_message(
                QueueUrl=self._queue_url,
                MessageBody=body or json.dumps(None),
                MessageAttributes={
                    name: {"DataType": "String", "StringValue": value or "-"} for name, value in attributes.items()
                },
            )
        except (ClientError, BotoCoreError) as error:
            raise SourceUnavailableError(
                f"the dead-letter queue did not take the record ({type(error).__name__})"
            ) from error

"""Lambda's contract with SQS: the event that a batch becomes, and which of its records the response names as failed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

FAILURES: Final = "batchItemFailures"
IDENTIFIER: Final = "itemIdentifier"


@dataclass(frozen=True, slots=True)
class Attribute:
    """One message attribute: its type, such as `String`, and its value; binary values in base64."""

    data_type: str
    string_value: str | None = None
    binary_value: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message as SQS hands it out.

    Attributes:
        receipt: What this delivery of the message is deleted by.
        attributes: SQS's own, with `ApproximateReceiveCount`, times in epoch milliseconds.
        message_attributes: The sender's.
    """

    message_id: str
    receipt: str
    body: str
    md5: str
    attributes: Mapping[str, str]
    message_attributes: Mapping[str, Attribute] = field(default_factory=dict)


class InvalidBatchResponseError(Exception):
    """The response names failed records in no way that Lambda understands; the whole batch failed."""


def sqs_event(messages: Iterable[Message], *, queue_arn: str, region: str) -> dict[str, object]:
    """Return the event for one batch."""
    return {"Records": [_record(message, queue_arn=queue_arn, region=region) for message in messages]}


def failed_ids(response: object, message_ids: Iterable[str]) -> frozenset[str]:
    """Return the ids of the messages that failed, by Lambda's rules for partial batch responses.

    Nothing, an empty object, and an empty or null list of failures mean that all succeeded.

    Raises:
        InvalidBatchResponseError: the response is of another shape, or names an id that is not in the batch.
    """
    if response is None:
        return frozenset()
    if not isinstance(response, Mapping):
        raise InvalidBatchResponseError("the response is no object")
    failures = response.get(FAILURES)
    if failures is None:
        return frozenset()
    if not isinstance(failures, list):
        raise InvalidBatchResponseError(f"{FAILURES} is no list")
    known = frozenset(message_ids)
    failed = set()
    for failure in failures:
        identifier = failure.get(IDENTIFIER) if isinstance(failure, Mapping) else None
        if not isinstance(identifier, str) or identifier not in known:
            raise InvalidBatchResponseError(f"an {IDENTIFIER} is not the id of a record of this batch")
        failed.add(identifier)
    return frozenset(failed)


def _record(message: Message, *, queue_arn: str, region: str) -> dict[str, object]:
    return {
        "messageId": message.message_id,
        "receiptHandle": message.receipt,
        "body": message.body,
        "attributes": dict(message.attributes),
        "messageAttributes": {name: _attribute(value) for name, value in message.message_attributes.items()},
        "md5OfBody": message.md5,
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": region,
    }


def _attribute(attribute: Attribute) -> dict[str, object]:
    fields: dict[str, object] = {"stringListValues": [], "binaryListValues": [], "dataType": attribute.data_type}
    if attribute.string_value is not None:
        fields["stringValue"] = attribute.string_value
    if attribute.binary_value is not None:
        fields["binaryValue"] = attribute.binary_value
    return fields

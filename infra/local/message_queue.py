"""The queue that a worker reads: what it needs of one, and SQS behind it."""

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from infra.local.sqs_event import Attribute, Message

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import (
        ChangeMessageVisibilityBatchRequestEntryTypeDef,
        DeleteMessageBatchRequestEntryTypeDef,
        MessageAttributeValueOutputTypeDef,
        MessageTypeDef,
    )


class QueueUnavailableError(Exception):
    """The queue did not answer, or refused; the same call may succeed later."""


class MessageQueue(Protocol):
    """A queue of messages that come back unless they are deleted. Every method raises `QueueUnavailableError`."""

    def receive(self, *, limit: int, wait_s: int) -> Sequence[Message]:
        """Return up to `limit` messages; wait up to `wait_s` seconds for the first one."""
        ...

    def delete(self, receipts: Sequence[str]) -> None:
        """Remove the messages of these deliveries, at most 10."""
        ...

    def retry(self, receipts: Sequence[str], *, delay_s: int) -> None:
        """Let the messages of these deliveries, at most 10, come back after `delay_s` seconds."""
        ...


class SqsQueue:
    """One SQS queue."""

    def __init__(self, sqs: "SQSClient", url: str) -> None:
        self._sqs = sqs
        self._url = url

    @classmethod
    def find(cls, sqs: "SQSClient", name: str) -> "SqsQueue":
        """Return the queue named `name`.

        Raises:
            QueueUnavailableError: it is not there, or SQS is not.
        """
        try:
            return cls(sqs, sqs.get_queue_url(QueueName=name)["QueueUrl"])
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailableError(str(error)) from error

    def receive(self, *, limit: int, wait_s: int) -> Sequence[Message]:
        """See `MessageQueue`."""
        try:
            response = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=limit,
                WaitTimeSeconds=wait_s,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailableError(str(error)) from error
        return [_message(raw) for raw in response.get("Messages", [])]

    def delete(self, receipts: Sequence[str]) -> None:
        """See `MessageQueue`."""
        entries: list[DeleteMessageBatchRequestEntryTypeDef] = [
            {"Id": str(index), "ReceiptHandle": receipt} for index, receipt in enumerate(receipts)
        ]
        try:
            response = self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailableError(str(error)) from error
        _refuse_failures(response.get("Failed", []))

    def retry(self, receipts: Sequence[str], *, delay_s: int) -> None:
        """See `MessageQueue`."""
        entries: list[ChangeMessageVisibilityBatchRequestEntryTypeDef] = [
            {"Id": str(index), "ReceiptHandle": receipt, "VisibilityTimeout": delay_s}
            for index, receipt in enumerate(receipts)
        ]
        try:
            response = self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailableError(str(error)) from error
        _refuse_failures(response.get("Failed", []))


def _refuse_failures(failures: Sequence[object]) -> None:
    if failures:
        raise QueueUnavailableError(f"{len(failures)} entries of a batch were refused")


def _message(raw: "MessageTypeDef") -> Message:
    return Message(
        message_id=raw["MessageId"],
        receipt=raw["ReceiptHandle"],
        body=raw["Body"],
        md5=raw["MD5OfBody"],
        attributes={str(name): value for name, value in raw.get("Attributes", {}).items()},
        message_attributes={name: _attribute(value) for name, value in raw.get("MessageAttributes", {}).items()},
    )


def _attribute(raw: "MessageAttributeValueOutputTypeDef") -> Attribute:
    binary = raw.get("BinaryValue")
    return Attribute(
        data_type=raw["DataType"],
        string_value=raw.get("StringValue"),
        binary_value=None if binary is None else base64.b64encode(binary).decode(),
    )

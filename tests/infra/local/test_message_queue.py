"""SQS behind the queue of a worker, in moto in this process; the redrive is moto's own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from moto import mock_aws

from infra.local.addresses import REGION, queue_arn
from infra.local.message_queue import QueueUnavailableError, SqsQueue
from infra.local.poller import Poller
from infra.local.resources import create_queue
from infra.local.sqs_event import Attribute
from infra.topology import QUEUES
from preheat import names

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

(WARM,) = (queue for queue in QUEUES if queue.name == names.WARM_QUEUE)


@pytest.fixture
def sqs(monkeypatch: pytest.MonkeyPatch) -> Iterator["SQSClient"]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    with mock_aws():
        client = boto3.session.Session(region_name=REGION).client("sqs")
        create_queue(client, WARM)
        yield client


def send(sqs: "SQSClient", body: str) -> None:
    sqs.send_message(
        QueueUrl=sqs.get_queue_url(QueueName=WARM.name)["QueueUrl"],
        MessageBody=body,
        MessageAttributes={
            "why": {"DataType": "String", "StringValue": "because"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        },
    )


def poller(sqs: "SQSClient", response: object, *, seen: list[object] | None = None) -> Poller:
    def invoke(event: object) -> object:
        if seen is not None:
            seen.append(event)
        return response

    queue = SqsQueue.find(sqs, WARM.name)
    return Poller(queue=queue, invoke=invoke, arn=queue_arn(WARM.name), batch_size=5, retry_s=0)


def test_receive__gives_the_message_with_all_its_attributes(sqs: "SQSClient") -> None:
    send(sqs, "hello")
    (message,) = SqsQueue.find(sqs, WARM.name).receive(limit=5, wait_s=0)
    assert message.body == "hello"
    assert message.md5 == "5d41402abc4b2a76b9719d911017c592"
    assert message.attributes["ApproximateReceiveCount"] == "1"
    assert {"SenderId", "SentTimestamp", "ApproximateFirstReceiveTimestamp"} <= set(message.attributes)
    assert message.message_attributes == {
        "why": Attribute("String", string_value="because"),
        "raw": Attribute("Binary", binary_value="AP8="),
    }


def test_receive__a_message_in_work_is_seen_by_nobody_else(sqs: "SQSClient") -> None:
    send(sqs, "hello")
    queue = SqsQueue.find(sqs, WARM.name)
    assert len(queue.receive(limit=5, wait_s=0)) == 1
    assert queue.receive(limit=5, wait_s=0) == []


def test_poll__a_success_is_gone_for_good(sqs: "SQSClient") -> None:
    send(sqs, "hello")
    assert poller(sqs, None).poll(wait_s=0) == 1
    assert poller(sqs, None).poll(wait_s=0) == 0


def test_poll__a_failed_record_comes_back_and_moves_to_the_dead_letters_after_its_last_chance(
    sqs: "SQSClient",
) -> None:
    send(sqs, "hello")
    seen: list[object] = []
    failing = poller(sqs, "no valid response", seen=seen)
    while failing.poll(wait_s=0):
        assert len(seen) <= WARM.max_receive_count
    assert len(seen) == WARM.max_receive_count
    (dead,) = SqsQueue.find(sqs, WARM.dead_letters).receive(limit=5, wait_s=0)
    assert dead.body == "hello"


def test_delete__a_refused_entry_is_told_of(sqs: "SQSClient") -> None:
    with pytest.raises(QueueUnavailableError):
        SqsQueue.find(sqs, WARM.name).delete(["no receipt of ours"])


def test_find__a_queue_that_is_not_there_is_unavailable(sqs: "SQSClient") -> None:
    with pytest.raises(QueueUnavailableError):
        SqsQueue.find(sqs, "nowhere")

"""The topology, made in moto in this process."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from moto import mock_aws

from infra.local.addresses import REGION, queue_arn
from infra.local.resources import create_resources
from infra.topology import QUEUES, RULES, TABLES, Rule
from preheat import names

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.session.Session]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    with mock_aws():
        session = boto3.session.Session(region_name=REGION)
        create_resources(
            dynamodb=session.client("dynamodb"), events=session.client("events"), sqs=session.client("sqs")
        )
        yield session


def test_tables__have_string_keys_and_their_time_to_live(session: boto3.session.Session) -> None:
    dynamodb: DynamoDBClient = session.client("dynamodb")
    for table in TABLES:
        keys = dynamodb.describe_table(TableName=table.name)["Table"]["KeySchema"]
        assert [key["AttributeName"] for key in keys] == [table.partition_key, table.sort_key]
        ttl = dynamodb.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"]
        assert ttl["TimeToLiveStatus"] == "ENABLED"
        assert ttl["AttributeName"] == table.ttl_attribute


def test_queues__give_up_after_the_topologys_count_of_deliveries(session: boto3.session.Session) -> None:
    sqs: SQSClient = session.client("sqs")
    for queue in QUEUES:
        url = sqs.get_queue_url(QueueName=queue.name)["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        assert attributes["VisibilityTimeout"] == str(queue.visibility_s)
        assert json.loads(attributes["RedrivePolicy"]) == {
            "deadLetterTargetArn": queue_arn(queue.dead_letters),
            "maxReceiveCount": queue.max_receive_count,
        }


def test_queues__take_messages_from_their_own_rules_alone(session: boto3.session.Session) -> None:
    sqs: SQSClient = session.client("sqs")
    url = sqs.get_queue_url(QueueName=names.WARM_QUEUE)["QueueUrl"]
    policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]["Policy"]
    assert json.loads(policy)["Statement"][0]["Condition"] == {
        "ArnEquals": {"aws:SourceArn": ["arn:aws:events:us-east-1:123456789012:rule/preheat/preheat-session-started"]}
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules__an_event_reaches_its_queue_and_no_other(session: boto3.session.Session, rule: Rule) -> None:
    events: EventBridgeClient = session.client("events")
    sqs: SQSClient = session.client("sqs")

    events.put_events(
        Entries=[
            {"EventBusName": names.BUS, "Source": rule.source, "DetailType": kind, "Detail": '{"a": 1}'}
            for kind in (*rule.detail_types, "something.else")
        ]
    )
    received = {}
    for queue in QUEUES:
        url = sqs.get_queue_url(QueueName=queue.name)["QueueUrl"]
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
        received[queue.name] = [json.loads(message["Body"])["detail-type"] for message in messages]
    expected: dict[str, list[str]] = {queue.name: [] for queue in QUEUES}
    assert received == expected | {rule.queue: list(rule.detail_types)}

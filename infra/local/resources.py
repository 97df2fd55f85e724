"""Makes in an AWS endpoint what `infra.topology` describes: tables, queues, bus and rules."""

import json
from typing import TYPE_CHECKING

from infra.local.addresses import queue_arn, rule_arn
from infra.topology import QUEUES, RULES, TABLES, Queue, Rule, Table
from preheat import names

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sqs import SQSClient


def create_resources(*, dynamodb: "DynamoDBClient", events: "EventBridgeClient", sqs: "SQSClient") -> None:
    """Make every table, queue and rule of the topology; nothing of it may be there yet."""
    for table in TABLES:
        create_table(dynamodb, table)
    for queue in QUEUES:
        create_queue(sqs, queue)
    events.create_event_bus(Name=names.BUS)
    for rule in RULES:
        create_rule(events, rule)


def create_table(dynamodb: "DynamoDBClient", table: Table) -> None:
    """Make one table with its time-to-live attribute."""
    dynamodb.create_table(
        TableName=table.name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": table.partition_key, "AttributeType": "S"},
            {"AttributeName": table.sort_key, "AttributeType": "S"},
        ],
        KeySchema=[
            {"AttributeName": table.partition_key, "KeyType": "HASH"},
            {"AttributeName": table.sort_key, "KeyType": "RANGE"},
        ],
    )
    dynamodb.update_time_to_live(
        TableName=table.name,
        TimeToLiveSpecification={"Enabled": True, "AttributeName": table.ttl_attribute},
    )


def create_queue(sqs: "SQSClient", queue: Queue) -> None:
    """Make one queue with its dead-letter queue; only our rules may send to it by way of EventBridge."""
    sqs.create_queue(
        QueueName=queue.dead_letters,
        Attributes={"MessageRetentionPeriod": str(queue.dead_letter_retention_s)},
    )
    redrive = {
        "deadLetterTargetArn": queue_arn(queue.dead_letters),
        "maxReceiveCount": queue.max_receive_count,
    }
    sqs.create_queue(
        QueueName=queue.name,
        Attributes={
            "VisibilityTimeout": str(queue.visibility_s),
            "MessageRetentionPeriod": str(queue.retention_s),
            "RedrivePolicy": json.dumps(redrive),
            "Policy": json.dumps(_send_policy(queue)),
        },
    )


def create_rule(events: "EventBridgeClient", rule: Rule) -> None:
    """Make one rule on the bus, with its queue as the target and the whole envelope as the message."""
    pattern = {"source": [rule.source], "detail-type": list(rule.detail_types)}
    events.put_rule(Name=rule.name, EventBusName=names.BUS, EventPattern=json.dumps(pattern))
    events.put_targets(
        Rule=rule.name,
        EventBusName=names.BUS,
        Targets=[{"Id": rule.queue, "Arn": queue_arn(rule.queue)}],
    )


def _send_policy(queue: Queue) -> dict[str, object]:
    arns = [rule_arn(names.BUS, rule.name) for rule in RULES if rule.queue == queue.name]
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": queue_arn(queue.name),
        "Condition": {"ArnEquals": {"aws:SourceArn": arns}},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}

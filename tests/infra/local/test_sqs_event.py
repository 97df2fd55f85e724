"""Lambda's contract with SQS."""

import pytest
from aws_lambda_powertools.utilities.data_classes import SQSEvent

from infra.local.sqs_event import Attribute, InvalidBatchResponseError, Message, failed_ids, sqs_event

MESSAGE = Message(
    message_id="m1",
    receipt="r1",
    body='{"a": 1}',
    md5="digest",
    attributes={"ApproximateReceiveCount": "2", "SentTimestamp": "1800000000000"},
    message_attributes={"reason": Attribute("String", string_value="why"), "raw": Attribute("Binary", None, "AP8=")},
)


def test_sqs_event__has_the_fields_of_lambda() -> None:
    assert sqs_event([MESSAGE], queue_arn="arn:q", region="us-east-1") == {
        "Records": [
            {
                "messageId": "m1",
                "receiptHandle": "r1",
                "body": '{"a": 1}',
                "attributes": {"ApproximateReceiveCount": "2", "SentTimestamp": "1800000000000"},
                "messageAttributes": {
                    "reason": {
                        "stringValue": "why",
                        "stringListValues": [],
                        "binaryListValues": [],
                        "dataType": "String",
                    },
                    "raw": {
                        "binaryValue": "AP8=",
                        "stringListValues": [],
                        "binaryListValues": [],
                        "dataType": "Binary",
                    },
                },
                "md5OfBody": "digest",
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:q",
                "awsRegion": "us-east-1",
            }
        ]
    }


def test_sqs_event__is_one_that_powertools_reads() -> None:
    (record,) = SQSEvent(sqs_event([MESSAGE], queue_arn="arn:aws:sqs:r:1:q", region="r")).records
    assert record.json_body == {"a": 1}
    assert record.attributes.approximate_receive_count == "2"
    reason = record.message_attributes["reason"]
    assert reason is not None
    assert reason.string_value == "why"
    assert record.queue_url == "https://sqs.r.amazonaws.com/1/q"


@pytest.mark.parametrize("response", [None, {}, {"batchItemFailures": None}, {"batchItemFailures": []}])
def test_failed_ids__nothing_named_is_success(response: object) -> None:
    assert failed_ids(response, ["m1", "m2"]) == frozenset()


def test_failed_ids__those_named_failed() -> None:
    response = {"batchItemFailures": [{"itemIdentifier": "m2"}, {"itemIdentifier": "m2"}]}
    assert failed_ids(response, ["m1", "m2"]) == {"m2"}


@pytest.mark.parametrize(
    "response",
    [
        "text",
        [],
        {"batchItemFailures": "m1"},
        {"batchItemFailures": ["m1"]},
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"messageId": "m1"}]},
        {"batchItemFailures": [{"itemIdentifier": "of another batch"}]},
        {"batchItemFailures": [{"itemIdentifier": "m1"}, {"itemIdentifier": "r1"}]},
    ],
)
def test_failed_ids__a_response_that_lambda_does_not_understand_fails_the_batch(response: object) -> None:
    with pytest.raises(InvalidBatchResponseError):
        failed_ids(response, ["m1", "m2"])

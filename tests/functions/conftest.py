"""The functions as Lambda would find them: their environment set, their resources in moto, an engine out of reach."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from infra.local.resources import create_resources
from preheat import names
from preheat.runtime import get_runtime

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sqs import SQSClient

REGION = "us-east-1"
TENANT, USER, AGENT = "acme", "ada", "travel"


@dataclass(frozen=True)
class Deployed:
    """The fake account behind the functions."""

    dynamodb: "DynamoDBClient"
    sqs: "SQSClient"

    def queue_url(self, queue: str) -> str:
        return self.sqs.get_queue_url(QueueName=queue)["QueueUrl"]

    def messages(self, queue: str) -> list[dict[str, Any]]:
        received = self.sqs.receive_message(
            QueueUrl=self.queue_url(queue), MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        )
        return [dict(message) for message in received.get("Messages", [])]


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch, free_port: int) -> Iterator[Deployed]:
    environment = {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": f"http://127.0.0.1:{free_port}",
        names.ENV_RECORDS_TABLE: names.RECORDS_TABLE,
        names.ENV_WARM_TABLE: names.WARM_TABLE,
        names.ENV_BUS: names.BUS,
        names.ENV_ENDPOINT_NAME: "nowhere",
        names.ENV_MODEL_ID: "none",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with mock_aws(config={"core": {"passthrough": {"urls": [r"http://127\.0\.0\.1"]}}}):
        dynamodb: DynamoDBClient = boto3.client("dynamodb", region_name=REGION)
        events: EventBridgeClient = boto3.client("events", region_name=REGION)
        sqs: SQSClient = boto3.client("sqs", region_name=REGION)
        create_resources(dynamodb=dynamodb, events=events, sqs=sqs)
        deployed = Deployed(dynamodb, sqs)
        monkeypatch.setenv(names.ENV_DEAD_LETTER_URL, deployed.queue_url(names.WARM_DEAD_LETTERS))
        get_runtime.cache_clear()
        yield deployed
        get_runtime().ports.executor.shutdown()
        get_runtime.cache_clear()


@pytest.fixture
def free_port() -> int:
    import socket  # noqa: PLC0415  # only here

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def claims() -> dict[str, str]:
    return {names.CLAIM_TENANT: TENANT, names.CLAIM_USER: USER, names.CLAIM_ROLE: names.ROLE_SERVICE}

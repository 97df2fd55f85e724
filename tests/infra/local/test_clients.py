"""boto3 clients that know the stack alone."""

import pytest

from infra.local.addresses import Addresses
from infra.local.clients import AwsClients
from infra.local.environment import HandlerSettings, handler_environment

ENVIRONMENT = handler_environment(
    Addresses(aws=1, cache=2, model=3, gateway=4), HandlerSettings(model_id="tiny", overrides={})
)


def test_client__the_models_runtime_is_apart_from_the_rest() -> None:
    client = AwsClients(ENVIRONMENT)
    assert client("sqs").meta.endpoint_url == "http://127.0.0.1:1"
    assert client("sagemaker-runtime").meta.endpoint_url == "http://127.0.0.1:3"


def test_client__is_made_once() -> None:
    client = AwsClients(ENVIRONMENT)
    assert client("events") is client("events")


def test_client__needs_nothing_of_the_callers_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://production.example")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    dynamodb = AwsClients(ENVIRONMENT)("dynamodb")
    assert dynamodb.meta.endpoint_url == "http://127.0.0.1:1"
    assert dynamodb.meta.region_name == "us-east-1"

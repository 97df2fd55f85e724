"""A SageMaker client whose network is a wire in the test's hands."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from preheat.adapters.sagemaker_endpoint import SageMakerEndpoint
from tests.preheat.adapters.sagemaker_wire import Wire

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient


@pytest.fixture(scope="session")
def sagemaker() -> "SageMakerRuntimeClient":
    return boto3.client(
        "sagemaker-runtime",
        region_name="eu-central-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def wire(sagemaker: "SageMakerRuntimeClient") -> Iterator[Wire]:
    wire = Wire()
    wired: Callable[..., Any] = wire.answer  # whose answer is sent in place of the network's
    sagemaker.meta.events.register("before-send.sagemaker-runtime.*", wired)
    yield wire
    sagemaker.meta.events.unregister("before-send.sagemaker-runtime.*", wired)


@pytest.fixture
def endpoint(sagemaker: "SageMakerRuntimeClient", wire: Wire) -> SageMakerEndpoint:
    return SageMakerEndpoint(lambda: sagemaker, endpoint_name="preheat-model")

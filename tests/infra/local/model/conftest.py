"""A real model server, started once, and a caller that reaches it as the product does: by boto3."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

from infra.local.model.launch import start_model_server

WORDS = ("river", "stone", "lamp", "garden", "copper", "window", "letter", "market", "silver", "bridge", "candle")
CONTEXT = 1024


def words(count: int, *, seed: int) -> str:
    """Return random words, about one token each."""
    chosen = random.Random(seed)  # noqa: S311  no secret is made of it
    return " ".join(chosen.choice(WORDS) for _ in range(count))


@dataclass(frozen=True, slots=True)
class Answered:
    text: str
    prompt_tokens: int
    cached_tokens: int
    engine_id: str


def original(error: ClientError) -> tuple[int, str]:
    """Return the container's status and message out of a ModelError."""
    response: Mapping[str, object] = dict(error.response)
    return int(str(response["OriginalStatusCode"])), str(response["OriginalMessage"])


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls one model server."""

    url: str
    client: SageMakerRuntimeClient
    words = staticmethod(words)
    original = staticmethod(original)

    def body(self, system: str, user: str = "What now?", /, **fields: object) -> bytes:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return json.dumps({"messages": messages, "max_tokens": 1, "temperature": 0, **fields}).encode()

    def invoke(self, body: bytes, *, session: str = "", warm_up: bool = False, endpoint: str = "preheat") -> Answered:
        call = partial(self.client.invoke_endpoint, EndpointName=endpoint, Body=body, ContentType="application/json")
        if session:
            call = partial(call, PrefixAwareId=session)
        if warm_up:
            call = partial(call, CustomAttributes="preheat-priority=warm-up")
        response = call()
        answer = json.loads(response["Body"].read())
        return Answered(
            answer["choices"][0]["message"]["content"],
            answer["usage"]["prompt_tokens"],
            answer["usage"]["prompt_tokens_details"]["cached_tokens"],
            response["InvokedProductionVariant"],
        )

    def engine(self) -> dict[str, object]:
        facts: dict[str, object] = httpx.get(f"{self.url}/engine").raise_for_status().json()
        return facts

    def tokens_read(self) -> int:
        """Return how many prompt tokens the engine has read of the calls that run now."""
        slots = httpx.get(f"{self.engine()['url']}/slots").raise_for_status().json()
        return sum(slot.get("n_prompt_tokens_processed", 0) for slot in slots if slot["is_processing"])

    def running(self) -> int:
        """Return how many calls the engine runs now."""
        slots = httpx.get(f"{self.engine()['url']}/slots").raise_for_status().json()
        return sum(slot["is_processing"] for slot in slots)


def make_caller(url: str) -> Caller:
    client = boto3.client(
        "sagemaker-runtime",
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=120),
    )
    return Caller(url, client)


@pytest.fixture(scope="session")
def model_caller() -> Iterator[Caller]:
    """A caller of the shipped model: three slots of 1,024 tokens, two threads."""
    with start_model_server(slots=3, context=CONTEXT, threads=2) as server:
        caller = make_caller(server.url)
        yield caller
        caller.client.close()


@pytest.fixture(scope="session")
def caller_of() -> Callable[[str], Caller]:
    """Return what makes callers of other servers, by their URL."""
    return make_caller

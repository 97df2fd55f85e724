"""Where the parts of one stack listen, and what they are called there."""

from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.ports import HOST, reserve_port

# What moto answers for; dummy credentials, since a client wants some.
ACCOUNT_ID = "123456789012"
REGION = "us-east-1"
ACCESS_KEY = "local"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The ports of one stack, all on 127.0.0.1.

    Attributes:
        aws: moto, standing in for DynamoDB, EventBridge and SQS.
        cache: Valkey.
        model: The model server, standing in for SageMaker's runtime.
        gateway: The HTTP API.
    """

    aws: int
    cache: int
    model: int
    gateway: int

    @classmethod
    def reserve(cls) -> "Addresses":
        """Return four free ports."""
        return cls(aws=reserve_port(), cache=reserve_port(), model=reserve_port(), gateway=reserve_port())

    @property
    def urls(self) -> Mapping[str, str]:
        """URL of each part, by the part's name."""
        return {
            "gateway": self.gateway_url,
            "aws": self.aws_url,
            "model": self.model_url,
            "cache": self.cache_url,
        }

    @property
    def aws_url(self) -> str:
        """Base URL of moto."""
        return f"http://{HOST}:{self.aws}"

    @property
    def cache_url(self) -> str:
        """URL of Valkey, in its own scheme."""
        return f"valkey://{HOST}:{self.cache}"

    @property
    def model_url(self) -> str:
        """Base URL of the model server."""
        return f"http://{HOST}:{self.model}"

    @property
    def gateway_url(self) -> str:
        """Base URL of the HTTP API."""
        return f"http://{HOST}:{self.gateway}"

    def queue_url(self, queue: str) -> str:
        """Return the URL of the queue named `queue`, as moto gives it."""
        return f"{self.aws_url}/{ACCOUNT_ID}/{queue}"


def queue_arn(queue: str) -> str:
    """Return the ARN of the queue named `queue`."""
    return f"arn:aws:sqs:{REGION}:{ACCOUNT_ID}:{queue}"


def rule_arn(bus: str, rule: str) -> str:
    """Return the ARN of a rule on a bus of its own."""
    return f"arn:aws:events:{REGION}:{ACCOUNT_ID}:rule/{bus}/{rule}"

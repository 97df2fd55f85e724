"""boto3 clients for a stack, made from its environment alone: nothing of the caller's own AWS settings is read."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Union, overload

from infra.local.addresses import ACCESS_KEY

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient
    from mypy_boto3_sqs import SQSClient

    Client = Union[DynamoDBClient, EventBridgeClient, SageMakerRuntimeClient, SQSClient]  # noqa: UP007 - clearer in a row

Service = Literal["dynamodb", "events", "sagemaker-runtime", "sqs"]


class AwsClients:
    """Calls return the client of a service, made on first use and kept; a client may be used by several threads."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._made: dict[str, Client] = {}

    @overload
    def __call__(self, service: Literal["dynamodb"]) -> "DynamoDBClient": ...
    @overload
    def __call__(self, service: Literal["events"]) -> "EventBridgeClient": ...
    @overload
    def __call__(self, service: Literal["sagemaker-runtime"]) -> "SageMakerRuntimeClient": ...
    @overload
    def __call__(self, service: Literal["sqs"]) -> "SQSClient": ...

    def __call__(self, service: Service) -> "Client":
        """Return the client of `service`; the model's runtime is reached at the model server, the others at moto."""
        if service not in self._made:
            self._made[service] = self._make(service)
        return self._made[service]

    def _make(self, service: Service) -> "Client":
        # Imported here: half a second that a supervisor which calls nothing need not spend.
        import boto3  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        env = self._environment
        session = boto3.session.Session(
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=ACCESS_KEY,
            region_name=env["AWS_REGION"],
        )
        general = env["AWS_ENDPOINT_URL"]
        own = f"AWS_ENDPOINT_URL_{service.upper().replace('-', '_')}"
        # Empty proxies: calls to 127.0.0.1 never go through one that the caller's environment names.
        return session.client(service, endpoint_url=env.get(own, general), config=Config(proxies={}))

"""The model endpoint as the functions see it: ours or one that exists."""

from aws_cdk import Aws
from aws_cdk import aws_iam as iam

from infra.components.layers import LAYERS_ROOT
from infra.config import Config
from preheat import names

_INVOKE_ACTIONS = ["sagemaker:InvokeEndpoint", "sagemaker:InvokeEndpointWithResponseStream"]


class ModelEndpoint:
    """Names the endpoint to a function and lets it call it.

    Endpoint and component go by the names of the settings and not by references, so that the application's stack
    neither waits for a GPU nor holds the model's stack in place: an endpoint that is not there is a normal outcome.

    Attributes:
        environment: What a function must know to call the model.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self.environment = {names.ENV_ENDPOINT_NAME: config.endpoint, names.ENV_MODEL_ID: config.model_id}
        if config.component is not None:
            self.environment[names.ENV_INFERENCE_COMPONENT] = config.component
        if config.tokenizer is not None:
            self.environment[names.ENV_TOKENIZER_FILE] = f"{LAYERS_ROOT}/{config.tokenizer.name}"

    def grant_invoke(self, grantee: iam.IGrantable) -> None:
        """Let `grantee` call the model, whole or as a stream."""
        # SageMaker writes names in lower case in its ARNs.
        resources = [f"endpoint/{self._config.endpoint.lower()}"]
        if self._config.component is not None:
            resources.append(f"inference-component/{self._config.component.lower()}")
        prefix = f"arn:{Aws.PARTITION}:sagemaker:{Aws.REGION}:{Aws.ACCOUNT_ID}"
        iam.Grant.add_to_principal(
            grantee=grantee,
            actions=_INVOKE_ACTIONS,
            resource_arns=[f"{prefix}:{resource}" for resource in resources],
        )

"""The model on a GPU: a SageMaker endpoint with AWS's vLLM container."""

import re
from dataclasses import dataclass

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from infra.components.nag import accept
from infra.config import Config

# AWS's account for deep learning containers in all regions that opened before 2020, and the image that follows vLLM's
# first major line there (https://aws.github.io/deep-learning-containers/vllm/). The `image` setting replaces it.
_AWS_IMAGES = "763104351884"
_AWS_REPOSITORY = "vllm"
_AWS_TAG = "server-sagemaker-cuda-v1"
# Driver 580, which runs containers of CUDA 12 and 13.
_HOST_IMAGE = "al2023-ami-sagemaker-inference-gpu-4-1"
_VARIANT = "gpu"
_LOGS = "/aws/sagemaker/"
_MIN_MEMORY_MB = 8 * 1024
# Weights come from the model hub when a copy starts: tens of GB.
_STARTUP_TIMEOUT_S = 1800
# The first bytes of a body decide where it is routed. They reach through the core tools and instructions, which all
# users of an agent share, into what is the user's own, so that users spread and a user stays.
_ROUTED_PREFIX_BYTES = 16 * 1024
# Past this many running requests a copy's warm prefix is worth less than an idle copy.
_BUSY_REQUESTS = 16

# `SM_VLLM_X_Y=v` becomes vLLM's `--x-y v`, and `true` the bare flag. The two limits keep a running prefill from holding
# up the requests behind it (measured behind a prefill of 6,000 tokens: first token after 0.3 s instead of 5 s).
VLLM_SETTINGS = {
    "SM_VLLM_ENABLE_PREFIX_CACHING": "true",
    "SM_VLLM_ENABLE_PROMPT_TOKENS_DETAILS": "true",
    "SM_VLLM_ENABLE_CHUNKED_PREFILL": "true",
    "SM_VLLM_MAX_NUM_BATCHED_TOKENS": "512",
    "SM_VLLM_LONG_PREFILL_TOKEN_THRESHOLD": "256",
    "SM_VLLM_MAX_MODEL_LEN": "32768",
}


@dataclass(frozen=True, slots=True)
class _Image:
    """A container image in ECR and the repository that it is pulled from."""

    uri: str
    repository_arn: str


class GpuEndpoint(Construct):
    """Model, endpoint and inference component, with prefix caching in the engine and prefix-aware routing before it.

    The model runs as an inference component, so that the endpoint can go down to no instance at all. The host's volume
    has no key of ours: GPU instances of this family keep their data on local NVMe, encrypted by the hardware.
    """

    def __init__(self, scope: Construct, name: str, *, config: Config) -> None:
        super().__init__(scope, name)
        image = _image(config)
        role = self._role(image)
        model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image.uri, environment={"SM_VLLM_MODEL": config.model_id, **VLLM_SETTINGS}
            ),
        )
        # The role's policy as well, which no reference names: SageMaker pulls the image with it.
        model.node.add_dependency(role)
        endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=config.endpoint,
            endpoint_config_name=self._endpoint_config(role, config).attr_endpoint_config_name,
        )
        sagemaker.CfnInferenceComponent(
            self,
            "Component",
            inference_component_name=config.component,
            endpoint_name=endpoint.attr_endpoint_name,
            variant_name=_VARIANT,
            runtime_config=sagemaker.CfnInferenceComponent.InferenceComponentRuntimeConfigProperty(copy_count=1),
            specification=sagemaker.CfnInferenceComponent.InferenceComponentSpecificationProperty(
                model_name=model.attr_model_name,
                compute_resource_requirements=(
                    sagemaker.CfnInferenceComponent.InferenceComponentComputeResourceRequirementsProperty(
                        number_of_accelerator_devices_required=1, min_memory_required_in_mb=_MIN_MEMORY_MB
                    )
                ),
                startup_parameters=sagemaker.CfnInferenceComponent.InferenceComponentStartupParametersProperty(
                    container_startup_health_check_timeout_in_seconds=_STARTUP_TIMEOUT_S
                ),
            ),
        )

    def _endpoint_config(self, role: iam.Role, config: Config) -> sagemaker.CfnEndpointConfig:
        kind = sagemaker.CfnEndpointConfig
        return kind(
            self,
            "Config",
            execution_role_arn=role.role_arn,
            production_variants=[
                kind.ProductionVariantProperty(
                    variant_name=_VARIANT,
                    instance_type=config.instance_type,
                    initial_instance_count=1,
                    inference_ami_version=_HOST_IMAGE,
                    managed_instance_scaling=kind.ManagedInstanceScalingProperty(
                        status="ENABLED", min_instance_count=0, max_instance_count=config.max_instances
                    ),
                    routing_config=kind.RoutingConfigProperty(
                        routing_strategy="PREFIX_AWARE",
                        prefix_aware_routing_config=kind.PrefixAwareRoutingConfigProperty(
                            prefix_length=_ROUTED_PREFIX_BYTES, concurrency_threshold=_BUSY_REQUESTS
                        ),
                    ),
                )
            ],
        )

    def _role(self, image: _Image) -> iam.Role:
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
        log_group = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:{_LOGS}*"
        iam.Grant.add_to_principal(
            grantee=role,
            actions=["ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:BatchCheckLayerAvailability"],
            resource_arns=[image.repository_arn],
        )
        iam.Grant.add_to_principal(grantee=role, actions=["ecr:GetAuthorizationToken"], resource_arns=["*"])
        iam.Grant.add_to_principal(
            grantee=role,
            actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            resource_arns=[log_group],
        )
        accept(role, "IAM5[Resource::*]", "ecr:GetAuthorizationToken knows no resource")
        accept(
            role,
            f"IAM5[Resource::{_readable(log_group)}]",
            "SageMaker names the log groups of endpoints and components itself, below this prefix",
        )
        return role


def _image(config: Config) -> _Image:
    if config.image is None:
        uri = f"{_AWS_IMAGES}.dkr.ecr.{Aws.REGION}.{Aws.URL_SUFFIX}/{_AWS_REPOSITORY}:{_AWS_TAG}"
        return _Image(uri, f"arn:{Aws.PARTITION}:ecr:{Aws.REGION}:{_AWS_IMAGES}:repository/{_AWS_REPOSITORY}")
    host, _, path = config.image.partition("/")
    account, _, _, region = host.split(".")[:4]
    repository = re.split("[:@]", path)[0]
    return _Image(config.image, f"arn:{Aws.PARTITION}:ecr:{region}:{account}:repository/{repository}")


def _readable(arn: str) -> str:
    """Return the form in which cdk-nag prints an ARN that holds pseudo parameters."""
    for token, name in ((Aws.PARTITION, "Partition"), (Aws.REGION, "Region"), (Aws.ACCOUNT_ID, "AccountId")):
        arn = arn.replace(token, f"<AWS::{name}>")
    return arn

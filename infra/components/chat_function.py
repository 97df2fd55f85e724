"""The function that streams: an ASGI app under the Lambda Web Adapter."""

from aws_cdk import Aws
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import topology
from infra.components.function import Entrance, PreheatFunction, Surroundings

# AWS's public layer of release 1.0.0 (https://github.com/aws/aws-lambda-web-adapter), the same number in every region.
_ADAPTER_LAYER = f"arn:{Aws.PARTITION}:lambda:{Aws.REGION}:753240598075:layer:LambdaAdapterLayerArm64:27"
_PORT = "8080"


class ChatFunction(Construct):
    """Starts the app by `functions/<folder>/run.sh`; the adapter turns invocations into HTTP requests and streams back.

    The adapter waits until the app's port is open, so that the app needs no route for its health.
    """

    def __init__(self, scope: Construct, name: str, *, spec: topology.Function, around: Surroundings) -> None:
        super().__init__(scope, name)
        entrance = Entrance(
            handler=f"functions/{spec.folder}/run.sh",
            environment={
                "AWS_LAMBDA_EXEC_WRAPPER": "/opt/bootstrap",
                "AWS_LWA_INVOKE_MODE": "response_stream",
                "AWS_LWA_READINESS_CHECK_PROTOCOL": "tcp",
                "PORT": _PORT,
            },
            layers=[lambda_.LayerVersion.from_layer_version_arn(self, "WebAdapter", _ADAPTER_LAYER)],
        )
        self.function = PreheatFunction(self, "Chat", spec=spec, around=around, entrance=entrance).function

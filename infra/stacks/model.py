"""The GPU endpoint, there only when the deployment brings its own model."""

from aws_cdk import Stack
from constructs import Construct

from infra.components.gpu_endpoint import GpuEndpoint
from infra.config import Config


class ModelStack(Stack):
    """The endpoint that the functions call by its name."""

    def __init__(self, scope: Construct, name: str, *, config: Config) -> None:
        super().__init__(scope, name, description="Preheat: the model on a GPU")
        GpuEndpoint(self, "Gpu", config=config)

"""The application: bus, queues, functions and the API before them."""

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import topology
from infra.components.api_function import ApiFunction
from infra.components.chat_function import ChatFunction
from infra.components.event_bus import EventBus
from infra.components.function import Surroundings
from infra.components.layers import Layers
from infra.components.model_endpoint import ModelEndpoint
from infra.components.rest_api import RestApi
from infra.components.worker_function import WorkerFunction
from infra.config import Config
from infra.stacks.network import NetworkStack
from infra.stacks.storage import StorageStack


class AppStack(Stack):
    """Every function of the topology, wired to what it reads, writes and calls."""

    def __init__(
        self, scope: Construct, name: str, *, config: Config, storage: StorageStack, network: NetworkStack | None
    ) -> None:
        super().__init__(scope, name, description="Preheat: bus, functions and API")
        self._events = EventBus(self, "Events", config=config)
        self._around = Surroundings(
            config=config,
            layers=Layers(self, "Layers", tokenizer=config.tokenizer).all,
            tables=storage.tables,
            bus=self._events.bus,
            endpoint=ModelEndpoint(config),
            cache=None if network is None else network.cache,
            network=None if network is None else network.network,
        )
        functions = {spec.folder: self._function(spec) for spec in topology.FUNCTIONS}
        front = RestApi(self, "Front", functions=functions, identity=storage.identity, config=config)
        # The construct's own output of the same, under a made-up name.
        front.api.node.try_remove_child("Endpoint")
        CfnOutput(self, "ApiUrl", value=front.api.url, description="base URL of the API")
        CfnOutput(self, "BusName", value=self._events.bus.event_bus_name, description="bus to put session.started on")

    def _function(self, spec: topology.Function) -> lambda_.Function:
        if spec.queue is not None:
            queue = self._events.queues[spec.queue]
            return WorkerFunction(self, spec.folder, spec=spec, around=self._around, queue=queue).function
        if spec.streams:
            return ChatFunction(self, spec.folder, spec=spec, around=self._around).function
        return ApiFunction(self, spec.folder, spec=spec, around=self._around).function

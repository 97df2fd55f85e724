"""All that `cache=valkey` adds: the private network and the cache in it."""

from aws_cdk import Stack
from constructs import Construct

from infra.components.cache import Cache
from infra.components.private_network import PrivateNetwork
from infra.config import Config


class NetworkStack(Stack):
    """Network and cache together, so that the switch can be turned back.

    With `cache=none` the application lets go of what it imported from here, and this stack, no longer part of the app,
    is left for `cdk destroy`. A stack that stayed could not give up what another still imports.
    """

    def __init__(self, scope: Construct, name: str, *, config: Config) -> None:
        super().__init__(scope, name, description="Preheat: the cache and its network")
        self.network = PrivateNetwork(self, "Network")
        self.cache = Cache(self, "Cache", network=self.network, config=config)

"""The first tier of the warm store: ElastiCache Serverless for Valkey."""

from aws_cdk import aws_elasticache as elasticache
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.components.private_network import PrivateNetwork
from infra.config import Config
from preheat import names

_ENGINE = "valkey"
_ENGINE_VERSION = "8"
# Caps on the bill. Past the first, Valkey evicts what was used least recently; past the second it throttles.
_MAX_STORED_GB = 5
_MAX_ECPU_PER_S = 10_000
# Everything a client does with keys; nothing that flushes, lists all keys or changes the server.
_ACCESS = "on ~* +@all -@dangerous -@admin"


class Cache(Construct):
    """A serverless cache in cluster mode, over TLS, entered by IAM as the one user that it knows.

    It holds only what can be built again: no snapshots, and it goes with the stack in every stage.

    Attributes:
        environment: What a function must know to connect.
    """

    def __init__(self, scope: Construct, name: str, *, network: PrivateNetwork, config: Config) -> None:
        super().__init__(scope, name)
        cache_name = config.physical(names.BUS)
        user_id = config.physical(f"{names.BUS}-functions")
        self._user = elasticache.CfnUser(
            self,
            "User",
            engine=_ENGINE,
            user_id=user_id,
            # With IAM, ElastiCache wants the two to be equal.
            user_name=user_id,
            authentication_mode={"Type": "iam"},
            access_string=_ACCESS,
        )
        users = elasticache.CfnUserGroup(
            self, "Users", engine=_ENGINE, user_group_id=cache_name, user_ids=[self._user.ref]
        )
        self._cache = elasticache.CfnServerlessCache(
            self,
            "Cache",
            engine=_ENGINE,
            major_engine_version=_ENGINE_VERSION,
            serverless_cache_name=cache_name,
            description="warm bundles of preheat",
            subnet_ids=network.vpc.select_subnets(subnet_type=network.subnets.subnet_type).subnet_ids,
            security_group_ids=[network.cache.security_group_id],
            user_group_id=users.ref,
            cache_usage_limits=elasticache.CfnServerlessCache.CacheUsageLimitsProperty(
                data_storage=elasticache.CfnServerlessCache.DataStorageProperty(unit="GB", maximum=_MAX_STORED_GB),
                ecpu_per_second=elasticache.CfnServerlessCache.ECPUPerSecondProperty(maximum=_MAX_ECPU_PER_S),
            ),
        )
        address = self._cache.attr_endpoint_address
        port = self._cache.attr_endpoint_port
        self.environment = {
            names.ENV_CACHE_URL: f"valkeys://{address}:{port}",
            names.ENV_CACHE_CLUSTER: "true",
            names.ENV_CACHE_IAM_USER: user_id,
            names.ENV_CACHE_NAME: cache_name,
        }

    def grant_connect(self, grantee: iam.IGrantable) -> None:
        """Let `grantee` enter the cache as its user."""
        iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["elasticache:Connect"],
            resource_arns=[self._cache.attr_arn, self._user.attr_arn],
        )

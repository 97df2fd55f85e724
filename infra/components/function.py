"""What every Lambda function has in common: code, layers, role, log group, network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import Duration, IgnoreMode, RemovalPolicy
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra import topology
from infra.components.cache import Cache
from infra.components.layers import ARCHITECTURE, LITTER, ROOT, RUNTIME
from infra.components.model_endpoint import ModelEndpoint
from infra.components.nag import accept
from infra.components.private_network import PrivateNetwork
from infra.components.tables import Tables
from infra.config import Config
from preheat import names

_NETWORK_INTERFACE_ACTIONS = [
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the functions of one deployment share. `cache` and `network` are there together, or neither is."""

    config: Config
    layers: Sequence[lambda_.ILayerVersion]
    tables: Tables
    bus: events.EventBus
    endpoint: ModelEndpoint
    cache: Cache | None
    network: PrivateNetwork | None


@dataclass(frozen=True, slots=True)
class Entrance:
    """How Lambda starts a function: its handler, and what it needs beside that."""

    handler: str
    environment: Mapping[str, str] = field(default_factory=dict)
    layers: Sequence[lambda_.ILayerVersion] = ()


class PreheatFunction(Construct):
    """A function of the topology, with a role of its own that allows what the topology says and no more.

    The asset holds `functions/<folder>` at its place in the repository, so that imports are the same here and there.
    X-Ray is off: its recorder costs more start-up time than all that we import.
    """

    def __init__(
        self, scope: Construct, name: str, *, spec: topology.Function, around: Surroundings, entrance: Entrance
    ) -> None:
        super().__init__(scope, name)
        log_group = logs.LogGroup(
            self, "Logs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        network = around.network
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            handler=entrance.handler,
            code=_code(spec.folder),
            layers=[*around.layers, *entrance.layers],
            timeout=Duration.seconds(spec.timeout_s),
            memory_size=spec.memory_mb,
            environment={**_environment(around), **entrance.environment},
            role=role,
            log_group=log_group,
            tracing=lambda_.Tracing.DISABLED,
            vpc=None if network is None else network.vpc,
            vpc_subnets=None if network is None else network.subnets,
            security_groups=None if network is None else [network.functions],
        )
        log_group.grant_write(role)
        if network is not None:
            _allow_network_interfaces(role)
        around.tables.grant_read(role)
        for table in spec.writes:
            around.tables.grant_write(role, table)
        for table in spec.clears:
            around.tables.grant_clear(role, table)
        if spec.publishes:
            around.bus.grant_put_events_to(role)
        if spec.invokes_model:
            around.endpoint.grant_invoke(role)
        if around.cache is not None:
            around.cache.grant_connect(role)


def handler_name(folder: str) -> str:
    """Return the handler of `functions/<folder>/handler.py` as Lambda imports it."""
    return f"functions.{folder}.handler.handler"


def _code(folder: str) -> lambda_.Code:
    """Return the asset: git's rules, so that what is excluded is not even walked through."""
    return lambda_.Code.from_asset(
        str(ROOT),
        ignore_mode=IgnoreMode.GIT,
        exclude=["/*", "!/functions", "/functions/*", f"!/functions/{folder}", *LITTER],
    )


def _environment(around: Surroundings) -> dict[str, str]:
    tables = around.tables.by_name
    return {
        names.ENV_RECORDS_TABLE: tables[names.RECORDS_TABLE].table_name,
        names.ENV_WARM_TABLE: tables[names.WARM_TABLE].table_name,
        names.ENV_BUS: around.bus.event_bus_name,
        **around.endpoint.environment,
        **({} if around.cache is None else around.cache.environment),
    }


def _allow_network_interfaces(role: iam.Role) -> None:
    """Allow what Lambda does with the role to place a function into a VPC."""
    iam.Grant.add_to_principal(grantee=role, actions=_NETWORK_INTERFACE_ACTIONS, resource_arns=["*"])
    accept(role, "IAM5[Resource::*]", "Lambda creates the interfaces itself; EC2 offers no resource to narrow them to")

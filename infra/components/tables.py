"""The DynamoDB tables of the topology."""

from types import MappingProxyType

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra import topology
from infra.config import Config

# TransactWriteItems is allowed by the actions of its parts. Nothing scans.
_READ_ACTIONS = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
_WRITE_ACTIONS = (
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:ConditionCheckItem",
)
_CLEAR_ACTIONS = ("dynamodb:DeleteItem", "dynamodb:BatchWriteItem")


class Tables(Construct):
    """Every table, billed per request, encrypted under the account's `aws/dynamodb` key, expiring by its TTL attribute.

    A durable table can be restored to any second of the last 35 days and, in `prod`, cannot be deleted. The others hold
    only what can be built again, and go with the stack in every stage.
    """

    def __init__(self, scope: Construct, name: str, *, config: Config) -> None:
        super().__init__(scope, name)
        self._config = config
        self.by_name = MappingProxyType({table.name: self._table(table) for table in topology.TABLES})

    def grant_read(self, grantee: iam.IGrantable) -> None:
        """Let `grantee` read every table by key."""
        for table in self.by_name.values():
            table.grant(grantee, *_READ_ACTIONS)

    def grant_write(self, grantee: iam.IGrantable, table_name: str) -> None:
        """Let `grantee` change one table, named as in the topology."""
        self.by_name[table_name].grant(grantee, *_WRITE_ACTIONS)

    def grant_clear(self, grantee: iam.IGrantable, table_name: str) -> None:
        """Let `grantee` remove from one table, named as in the topology; batches know no finer right."""
        self.by_name[table_name].grant(grantee, *_CLEAR_ACTIONS)

    def _table(self, table: topology.Table) -> dynamodb.TableV2:
        kept = table.durable and self._config.stage == "prod"
        return dynamodb.TableV2(
            self,
            table.name,
            table_name=self._config.physical(table.name),
            partition_key=dynamodb.Attribute(name=table.partition_key, type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name=table.sort_key, type=dynamodb.AttributeType.STRING),
            time_to_live_attribute=table.ttl_attribute,
            billing=dynamodb.Billing.on_demand(),
            encryption=dynamodb.TableEncryptionV2.aws_managed_key(),
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=table.durable
            ),
            deletion_protection=kept,
            removal_policy=RemovalPolicy.RETAIN if kept else RemovalPolicy.DESTROY,
        )

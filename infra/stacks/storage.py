"""What outlives everything else: tables and identities."""

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.components.identity import Identity
from infra.components.tables import Tables
from infra.config import Config


class StorageStack(Stack):
    """The tables and the user pool."""

    def __init__(self, scope: Construct, name: str, *, config: Config) -> None:
        super().__init__(
            scope, name, description="Preheat: tables and identities", termination_protection=config.stage == "prod"
        )
        self.tables = Tables(self, "Tables", config=config)
        self.identity = Identity(self, "Identity", config=config)
        CfnOutput(self, "UserPoolId", value=self.identity.pool.user_pool_id, description="pool of the callers")
        CfnOutput(
            self,
            "UserPoolClientId",
            value=self.identity.client.user_pool_client_id,
            description="client to sign in with; the API takes its identity token",
        )

"""Who may call: the user pool whose tokens the API accepts."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.components.nag import accept
from infra.config import Config
from preheat import names

_ATTRIBUTE_PREFIX = "custom:"
_TENANT = names.CLAIM_TENANT.removeprefix(_ATTRIBUTE_PREFIX)
_ROLE = names.CLAIM_ROLE.removeprefix(_ATTRIBUTE_PREFIX)
_MAX_CLAIM_CHARS = 128


class Identity(Construct):
    """A user pool where only an administrator makes users, and one client for signing in.

    A token says which tenant and which role its holder has, so its holder must not be able to write either: nobody
    signs up by themselves, the tenant never changes, and the client may write nothing but the user's language.
    """

    def __init__(self, scope: Construct, name: str, *, config: Config) -> None:
        super().__init__(scope, name)
        kept = config.stage == "prod"
        self.pool = cognito.UserPool(
            self,
            "Pool",
            self_sign_up_enabled=False,
            sign_in_aliases=cognito.SignInAliases(email=True, username=True),
            custom_attributes={
                _TENANT: cognito.StringAttribute(min_len=1, max_len=_MAX_CLAIM_CHARS, mutable=False),
                _ROLE: cognito.StringAttribute(min_len=1, max_len=_MAX_CLAIM_CHARS, mutable=True),
            },
            password_policy=cognito.PasswordPolicy(
                min_length=14, require_digits=True, require_lowercase=True, require_symbols=True, require_uppercase=True
            ),
            mfa=cognito.Mfa.OPTIONAL,
            mfa_second_factor=cognito.MfaSecondFactor(otp=True, sms=False),
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            deletion_protection=kept,
            removal_policy=RemovalPolicy.RETAIN if kept else RemovalPolicy.DESTROY,
        )
        readable = (
            cognito.ClientAttributes().with_standard_attributes(email=True).with_custom_attributes(_TENANT, _ROLE)
        )
        self.client = self.pool.add_client(
            "Client",
            auth_flows=cognito.AuthFlow(user_srp=True, admin_user_password=True),
            disable_o_auth=True,
            generate_secret=False,
            id_token_validity=Duration.hours(1),
            access_token_validity=Duration.hours(1),
            refresh_token_validity=Duration.days(1),
            enable_token_revocation=True,
            prevent_user_existence_errors=True,
            read_attributes=readable,
            # Never empty: that would mean every attribute.
            write_attributes=cognito.ClientAttributes().with_standard_attributes(locale=True),
        )
        accept(
            self.pool, "COG2", "a service of the tenant signs in as well and holds no second factor; people may add one"
        )
        accept(self.pool, "COG8", "the plus plan is billed per user; the team that runs the pool decides on it")

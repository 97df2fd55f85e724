"""The front: an API Gateway REST API with every route of the topology."""

import json
from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra import topology
from infra.components.gateway_problems import add_problems
from infra.components.identity import Identity
from infra.components.nag import accept
from infra.config import Config
from preheat import names

_RATE_PER_S = 100
_BURST = 200
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_FIELD = apigateway.AccessLogField
_LOGGED = {
    "request_id": _FIELD.context_request_id(),
    "method": _FIELD.context_http_method(),
    "route": _FIELD.context_resource_path(),
    "status": _FIELD.context_status(),
    "ms": _FIELD.context_response_latency(),
    "integration_ms": _FIELD.context_integration_latency(),
    "response_bytes": _FIELD.context_response_length(),
    "error": _FIELD.context_error_response_type(),
}
_LOGS_POLICY = "arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"


class RestApi(Construct):
    """Routes to functions, each behind the user pool, with a body that must be a JSON object where there is one.

    The token is the pool's *identity* token: no scopes are asked for, so API Gateway verifies it as such and hands its
    claims on. The gateway has no size limit below its own 10 MB, so `topology.MAX_BODY_BYTES` is kept by the functions.
    Logs hold the route and the times, never a path with its ids, a query or a body.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        functions: Mapping[str, lambda_.IFunction],
        identity: Identity,
        config: Config,
    ) -> None:
        super().__init__(scope, name)
        self._functions = functions
        self.api = apigateway.RestApi(
            self,
            "Api",
            rest_api_name=config.physical(names.BUS),
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            cloud_watch_role=True,
            deploy_options=self._stage(config),
            default_method_options=apigateway.MethodOptions(
                authorization_type=apigateway.AuthorizationType.COGNITO,
                authorizer=apigateway.CognitoUserPoolsAuthorizer(
                    self, "Authorizer", cognito_user_pools=[identity.pool], results_cache_ttl=Duration.minutes(5)
                ),
            ),
        )
        add_problems(self.api)
        self._validator = self.api.add_request_validator(
            "Validator", validate_request_body=True, validate_request_parameters=True
        )
        self._body = self.api.add_model(
            "JsonObject",
            content_type="application/json",
            schema=apigateway.JsonSchema(
                schema=apigateway.JsonSchemaVersion.DRAFT4, type=apigateway.JsonSchemaType.OBJECT
            ),
        )
        for route in topology.ROUTES:
            self._add(route)
        accept(
            self.api,
            f"IAM4[Policy::{_LOGS_POLICY}]",
            "the account's one role for API Gateway's logs; AWS names the policy",
        )
        accept(self.api, "APIG3", "every call is authenticated and throttled; a team attaches the web ACL it has")

    def _stage(self, config: Config) -> apigateway.StageOptions:
        access_logs = logs.LogGroup(
            self, "AccessLogs", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        return apigateway.StageOptions(
            stage_name=config.stage,
            throttling_rate_limit=_RATE_PER_S,
            throttling_burst_limit=_BURST,
            logging_level=apigateway.MethodLoggingLevel.ERROR,
            data_trace_enabled=False,
            tracing_enabled=False,
            access_log_destination=apigateway.LogGroupLogDestination(access_logs),
            access_log_format=apigateway.AccessLogFormat.custom(json.dumps(_LOGGED)),
        )

    def _add(self, route: topology.Route) -> None:
        spec = next(function for function in topology.FUNCTIONS if function.folder == route.function)
        mode = apigateway.ResponseTransferMode
        self.api.root.resource_for_path(route.path).add_method(
            route.method,
            apigateway.LambdaIntegration(
                self._functions[route.function],
                response_transfer_mode=mode.STREAM if spec.streams else mode.BUFFERED,
                timeout=Duration.seconds(spec.timeout_s),
                allow_test_invoke=False,
            ),
            request_validator=self._validator,
            request_models={"application/json": self._body} if route.method in _WITH_BODY else None,
        )

"""The routes and what stands before them."""

import json

from infra import topology
from tests.infra.assembly import Assembly, Json


def _path(assembly: Assembly, reference: Json) -> str:
    """Return the path of a resource of the API, from what a method refers to."""
    if "Ref" not in reference:
        return ""
    resource = assembly.resources("AWS::ApiGateway::Resource")[reference["Ref"]]["Properties"]
    return f"{_path(assembly, resource['ParentId'])}/{resource['PathPart']}"


def _methods(assembly: Assembly) -> dict[tuple[str, str], Json]:
    return {
        (method["HttpMethod"], _path(assembly, method["ResourceId"])): method
        for method in assembly.properties("AWS::ApiGateway::Method")
    }


def test_routes__are_those_of_the_topology_and_no_other(plain: Assembly) -> None:
    assert set(_methods(plain)) == {(route.method, route.path) for route in topology.ROUTES}


def test_routes__each_leads_to_its_function_and_streams_where_it_does(plain: Assembly) -> None:
    functions = plain.resources("AWS::Lambda::Function")
    specs = {function.folder: function for function in topology.FUNCTIONS}
    methods = _methods(plain)
    for route in topology.ROUTES:
        integration = methods[route.method, route.path]["Integration"]
        (target,) = (name for name in functions if f'"{name}"' in json.dumps(integration["Uri"]))
        assert functions[target]["Properties"] == plain.function(route.function)
        spec = specs[route.function]
        assert integration["ResponseTransferMode"] == ("STREAM" if spec.streams else "BUFFERED")
        assert integration["TimeoutInMillis"] == spec.timeout_s * 1000


def test_routes__none_is_callable_without_a_token(plain: Assembly) -> None:
    (authorizer,) = plain.resources("AWS::ApiGateway::Authorizer")
    for method in _methods(plain).values():
        assert method["AuthorizationType"] == "COGNITO_USER_POOLS"
        assert method["AuthorizerId"] == {"Ref": authorizer}
        # Without scopes the gateway wants an identity token, which alone carries the claims.
        assert "AuthorizationScopes" not in method


def test_routes__a_body_must_be_a_json_object(plain: Assembly) -> None:
    (model,) = plain.resources("AWS::ApiGateway::Model")
    (validator,) = plain.resources("AWS::ApiGateway::RequestValidator")
    assert plain.resources("AWS::ApiGateway::Model")[model]["Properties"]["Schema"]["type"] == "object"
    for (verb, _), method in _methods(plain).items():
        assert method["RequestValidatorId"] == {"Ref": validator}
        assert method.get("RequestModels") == (
            {"application/json": {"Ref": model}} if verb in {"POST", "PUT"} else None
        )


def test_stage__throttles_and_logs_no_body_and_no_id(plain: Assembly) -> None:
    (stage,) = plain.properties("AWS::ApiGateway::Stage")
    (settings,) = stage["MethodSettings"]
    assert settings["ThrottlingRateLimit"] > 0
    assert settings["ThrottlingBurstLimit"] >= settings["ThrottlingRateLimit"]
    assert settings["DataTraceEnabled"] is False
    assert stage["TracingEnabled"] is False
    logged = json.loads(stage["AccessLogSetting"]["Format"])
    assert logged["route"] == "$context.resourcePath"
    assert not {"$context.path", "$context.identity.sourceIp", "$context.authorizer.claims.sub"} & set(logged.values())


def test_permissions__the_api_may_call_a_function_on_its_routes_only(plain: Assembly) -> None:
    permissions = plain.properties("AWS::Lambda::Permission")
    assert len(permissions) == len(topology.ROUTES)
    for permission in permissions:
        assert permission["Principal"] == "apigateway.amazonaws.com"
        assert "test-invoke-stage" not in json.dumps(permission["SourceArn"])


def test_outputs__tell_where_to_call_and_where_to_publish(plain: Assembly) -> None:
    assert set(plain.templates["App"]["Outputs"]) == {"ApiUrl", "BusName"}

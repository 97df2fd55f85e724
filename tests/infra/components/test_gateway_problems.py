"""The gateway's own refusals."""

import json

from tests.infra.assembly import Assembly


def test_problems__every_refusal_is_problem_json_with_its_own_status(plain: Assembly) -> None:
    refusals = plain.properties("AWS::ApiGateway::GatewayResponse")
    for refusal in refusals:
        template = refusal["ResponseTemplates"]["application/json"]
        body = json.loads(template.replace("$context.error.messageString", '"Unauthorized"'))
        assert set(body) == {"type", "title", "status", "detail"}
        assert str(body["status"]) == refusal["StatusCode"]
        content_type = refusal["ResponseParameters"]["gatewayresponse.header.Content-Type"]
        assert content_type == "'application/problem+json'"


def test_problems__what_a_caller_can_meet_is_covered(plain: Assembly) -> None:
    statuses = {one["ResponseType"]: one["StatusCode"] for one in plain.properties("AWS::ApiGateway::GatewayResponse")}
    assert statuses["BAD_REQUEST_BODY"] == "400"
    assert statuses["UNAUTHORIZED"] == statuses["EXPIRED_TOKEN"] == "401"
    assert statuses["MISSING_AUTHENTICATION_TOKEN"] == "404"
    assert statuses["REQUEST_TOO_LARGE"] == "413"
    assert statuses["THROTTLED"] == "429"

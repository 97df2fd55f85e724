"""The queue functions under Lambda's own batch envelope: each record on its own, each rejection with its reason."""

import json
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.refresh_preferences.handler import handler as refresh_preferences
from functions.warm_session.handler import handler as warm_session
from preheat import names
from preheat.register_agent import register_agent
from preheat.requests import AgentCall
from preheat.runtime import get_runtime
from preheat.session import AgentId, Principal, Scope, SessionId, TenantId, UserId
from preheat.warm_state import look_up
from tests.functions.conftest import AGENT, TENANT, USER, Deployed

SCOPE = Scope(TenantId(TENANT), UserId(USER), AgentId(AGENT), SessionId("s1"))
STARTED = {"tenant": TENANT, "user": USER, "agent": AGENT, "session_id": "s1"}


def register() -> None:
    call = AgentCall(instructions="Help with travel.")
    register_agent(Principal(TenantId(TENANT), None, service=True), AGENT, call=call, ports=get_runtime().ports)


def envelope(detail: object, detail_type: str = names.SESSION_STARTED) -> str:
    return json.dumps({"detail-type": detail_type, "source": names.EVENT_SOURCE, "detail": detail})


def batch(*bodies: str) -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": f"m{n}",
                "receiptHandle": "r",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {},
                "md5OfBody": "",
                "eventSource": "aws:sqs",
                "eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:{names.WARM_QUEUE}",
                "awsRegion": "us-east-1",
            }
            for n, body in enumerate(bodies)
        ]
    }


def test_warm_session__bad_records_are_set_aside_with_their_reason_and_the_others_done(deployed: Deployed) -> None:
    register()
    unknown = {**STARTED, "agent": "nobody"}

    result = warm_session(
        batch(
            "not json",
            envelope({**STARTED, "user": "a b"}),
            envelope(STARTED, "something.else"),
            envelope(unknown),
            envelope(STARTED),
        ),
        LambdaContext(),
    )

    assert result == {"batchItemFailures": []}
    letters = deployed.messages(names.WARM_DEAD_LETTERS)
    reasons = {
        (
            one["MessageAttributes"][names.CODE_ATTRIBUTE]["StringValue"],
            one["MessageAttributes"][names.REASON_ATTRIBUTE]["StringValue"].partition(":")[0],
        )
        for one in letters
    }
    assert reasons == {
        ("invalid_input", "body"),
        ("invalid_input", "user"),
        ("invalid_input", "detail-type"),
        ("not_found", "agent 'nobody' is not registered"),
    }
    assert {one["MessageAttributes"][names.SOURCE_QUEUE_ATTRIBUTE]["StringValue"] for one in letters} == {
        names.WARM_QUEUE
    }
    assert "not json" in {one["Body"] for one in letters}
    assert look_up(SCOPE, get_runtime().ports).bundle is not None


def test_warm_session__records_out_of_service_come_back_and_are_not_set_aside(deployed: Deployed) -> None:
    deployed.dynamodb.delete_table(TableName=names.RECORDS_TABLE)

    result = warm_session(batch(envelope(STARTED), "not json"), LambdaContext())

    assert result == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert len(deployed.messages(names.WARM_DEAD_LETTERS)) == 1


def test_refresh_preferences__brings_the_live_session_to_the_change(deployed: Deployed) -> None:
    register()
    warm_session(batch(envelope(STARTED)), LambdaContext())
    ports = get_runtime().ports
    ports.records.set_preference(SCOPE.tenant, SCOPE.user, key="seat", value="aisle", now=ports.clock.now())

    body = envelope({"tenant": TENANT, "user": USER}, names.PREFERENCE_CHANGED)
    result = refresh_preferences(batch(body), LambdaContext())

    bundle = look_up(SCOPE, ports).bundle
    assert result == {"batchItemFailures": []}
    assert bundle is not None
    assert bundle.corrections == ('seat is now "aisle".',)

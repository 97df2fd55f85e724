"""The queue functions under Lambda's own batch envelope: each record on its own, each rejection with its reason."""

import json
import time
from typing import Any

import boto3
from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.refresh_preferences.handler import handler as refresh_preferences
from functions.warm_session.handler import handler as warm_session
from preheat import names
from preheat.register_agent import register_agent
from preheat.requests import AgentCall
from preheat.runtime import get_runtime
from preheat.session import AgentId, Principal, Scope, SessionId, TenantId, UserId
from preheat.warm_state import look_up
from tests.functions.conftest import AGENT, REGION, TENANT, USER, Deployed

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


def preference_changed(**change: object) -> str:
    return envelope({"tenant": TENANT, "user": USER, **change}, names.PREFERENCE_CHANGED)


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

    body = preference_changed()
    result = refresh_preferences(batch(body), LambdaContext())

    bundle = look_up(SCOPE, ports).bundle
    assert result == {"batchItemFailures": []}
    assert bundle is not None
    assert bundle.corrections == ('seat is now "aisle".',)


def test_refresh_preferences__changes_made_elsewhere_are_written_in_their_order_and_bad_ones_set_aside(
    deployed: Deployed,
) -> None:
    register()
    warm_session(batch(envelope(STARTED)), LambdaContext())

    result = refresh_preferences(
        batch(
            preference_changed(key="seat", value="window", version=2),
            preference_changed(key="seat", value="aisle", version=1),
            preference_changed(key="seat", value="aisle"),
            preference_changed(key="diet", value="vegan", version="1"),
            preference_changed(key="diet", deleted=True, time=4e10),
        ),
        LambdaContext(),
    )

    ports = get_runtime().ports
    bundle = look_up(SCOPE, ports).bundle
    assert result == {"batchItemFailures": []}
    assert bundle is not None
    assert bundle.corrections == ('seat is now "window".',)
    assert [one.value for one in ports.records.list_preferences(SCOPE.tenant, SCOPE.user)] == ["window"]
    reasons = [
        one["MessageAttributes"][names.REASON_ATTRIBUTE]["StringValue"]
        for one in deployed.messages(names.WARM_DEAD_LETTERS)
    ]
    assert sorted(reason.partition(":")[0] for reason in reasons) == ["time", "version", "version"]


def test_refresh_preferences__change_comes_over_the_bus_and_is_as_old_as_its_event(deployed: Deployed) -> None:
    detail = {"tenant": TENANT, "user": USER, "key": "seat", "value": "aisle", "agent": AGENT, "version": 1}
    before = int(time.time())
    boto3.client("events", region_name=REGION).put_events(
        Entries=[
            {
                "EventBusName": names.BUS,
                "Source": names.EVENT_SOURCE,
                "DetailType": names.PREFERENCE_CHANGED,
                "Detail": json.dumps(detail),
            }
        ]
    )
    (message,) = deployed.messages(names.PREFERENCE_QUEUE)

    result = refresh_preferences(batch(message["Body"]), LambdaContext())

    (kept,) = get_runtime().ports.records.list_preferences(SCOPE.tenant, SCOPE.user)
    assert result == {"batchItemFailures": []}
    assert (kept.key, kept.value, kept.agent, kept.version) == ("seat", "aisle", AGENT, 1)
    assert before <= kept.updated_at <= time.time()

"""Events go to one bus, records that no retry can help to one dead-letter queue, as botocore itself would send them."""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from botocore.stub import Stubber

from preheat import names
from preheat.adapters.event_bus import EventBridgeBus, SqsDeadLetters
from preheat.errors import SourceUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_sqs import SQSClient

QUEUE = "https://sqs.eu-central-1.amazonaws.com/111122223333/preheat-warm-dead-letters"
FAULTS = [EndpointConnectionError(endpoint_url="bus"), ReadTimeoutError(endpoint_url="bus")]


@pytest.fixture(scope="module")
def account() -> boto3.Session:
    return boto3.Session("local", "local", region_name="eu-central-1")


@pytest.fixture(scope="module")
def events(account: boto3.Session) -> "EventBridgeClient":
    return account.client("events")


@pytest.fixture(scope="module")
def sqs(account: boto3.Session) -> "SQSClient":
    return account.client("sqs")


@pytest.fixture
def stubbed_events(events: "EventBridgeClient") -> Iterator[Stubber]:
    with Stubber(events) as stubber:
        yield stubber


@pytest.fixture
def stubbed_sqs(sqs: "SQSClient") -> Iterator[Stubber]:
    with Stubber(sqs) as stubber:
        yield stubber


def _down(fault: Exception) -> Callable[..., Any]:
    def send(**_: object) -> None:
        raise fault

    return send


def test_publish__puts_one_event_of_ours_on_the_bus(events: "EventBridgeClient", stubbed_events: Stubber) -> None:
    entry = {
        "EventBusName": "preheat",
        "Source": names.EVENT_SOURCE,
        "DetailType": names.PREFERENCE_CHANGED,
        "Detail": '{"pref_ver":3,"tenant":"acme","user":"ana"}',
    }
    stubbed_events.add_response(
        "put_events", {"FailedEntryCount": 0, "Entries": [{"EventId": "e1"}]}, {"Entries": [entry]}
    )

    EventBridgeBus(lambda: events, bus="preheat").publish(
        names.PREFERENCE_CHANGED, {"user": "ana", "tenant": "acme", "pref_ver": 3}
    )

    stubbed_events.assert_no_pending_responses()


def test_publish__event_that_the_bus_did_not_take_is_an_error(
    events: "EventBridgeClient", stubbed_events: Stubber
) -> None:
    stubbed_events.add_response("put_events", {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "InternalFailure"}]})

    with pytest.raises(SourceUnavailableError):
        EventBridgeBus(lambda: events, bus="preheat").publish(names.SESSION_STARTED, {})


@pytest.mark.parametrize("code", ["ThrottlingException", "ResourceNotFoundException", "AccessDeniedException"])
def test_publish__refusal_is_an_error(events: "EventBridgeClient", stubbed_events: Stubber, code: str) -> None:
    stubbed_events.add_client_error("put_events", code)

    with pytest.raises(SourceUnavailableError):
        EventBridgeBus(lambda: events, bus="preheat").publish(names.SESSION_STARTED, {})


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_publish__bus_out_of_reach_is_an_error(events: "EventBridgeClient", fault: Exception) -> None:
    down = _down(fault)
    events.meta.events.register("before-call.events.PutEvents", down)
    try:
        with pytest.raises(SourceUnavailableError, match=type(fault).__name__):
            EventBridgeBus(lambda: events, bus="preheat").publish(names.SESSION_STARTED, {})
    finally:
        events.meta.events.unregister("before-call.events.PutEvents", down)


def test_bus__connects_once_and_not_before_the_first_event(
    events: "EventBridgeClient", stubbed_events: Stubber
) -> None:
    connected: list[str] = []

    def connect() -> "EventBridgeClient":
        connected.append("now")
        return events

    bus = EventBridgeBus(connect, bus="preheat")
    assert connected == []
    for _ in range(2):
        stubbed_events.add_response("put_events", {"FailedEntryCount": 0, "Entries": []})
        bus.publish(names.SESSION_STARTED, {})

    assert connected == ["now"]


def _sent(body: str, **attributes: str) -> dict[str, object]:
    return {
        "QueueUrl": QUEUE,
        "MessageBody": body,
        "MessageAttributes": {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()},
    }


@pytest.mark.parametrize(
    ("body", "reason", "sent_body", "sent_reason"),
    [
        ('{"detail":{}}', "tenant: Field required", '{"detail":{}}', "tenant: Field required"),
        ("", "", json.dumps(None), "-"),
    ],
    ids=["as it came", "what a queue refuses as empty"],
)
def test_reject__keeps_the_record_with_its_reason(
    sqs: "SQSClient", stubbed_sqs: Stubber, body: str, reason: str, sent_body: str, sent_reason: str
) -> None:
    expected = _sent(sent_body, code="invalid_input", reason=sent_reason, source_queue="preheat-warm", message_id="m1")
    stubbed_sqs.add_response("send_message", {"MessageId": "d1"}, expected)

    SqsDeadLetters(sqs, queue_url=QUEUE).reject(
        body, message_id="m1", source_queue="preheat-warm", code="invalid_input", reason=reason
    )

    stubbed_sqs.assert_no_pending_responses()


def test_reject__queue_that_refuses_is_an_error(sqs: "SQSClient", stubbed_sqs: Stubber) -> None:
    stubbed_sqs.add_client_error("send_message", "AWS.SimpleQueueService.NonExistentQueue")

    with pytest.raises(SourceUnavailableError):
        SqsDeadLetters(sqs, queue_url=QUEUE).reject("{}", message_id="m1", source_queue="q", code="c", reason="r")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_reject__queue_out_of_reach_is_an_error(sqs: "SQSClient", fault: Exception) -> None:
    down = _down(fault)
    sqs.meta.events.register("before-call.sqs.SendMessage", down)
    try:
        with pytest.raises(SourceUnavailableError, match=type(fault).__name__):
            SqsDeadLetters(sqs, queue_url=QUEUE).reject("{}", message_id="m1", source_queue="q", code="c", reason="r")
    finally:
        sqs.meta.events.unregister("before-call.sqs.SendMessage", down)

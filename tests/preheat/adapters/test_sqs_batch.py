"""A batch: good records are done, passing faults come back, hopeless records are set aside with their reason."""

import json
from dataclasses import dataclass, field

import pytest

from preheat import names
from preheat.adapters.sqs_batch import process
from preheat.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PreheatError,
    SourceUnavailableError,
    StoreUnavailableError,
)

QUEUE_ARN = "arn:aws:sqs:eu-central-1:111122223333:preheat-warm"


@dataclass
class Aside:
    """A dead-letter queue that keeps what it is given, or is out of service."""

    kept: list[dict[str, str]] = field(default_factory=list)
    fault: PreheatError | None = None

    def reject(self, body: str, *, message_id: str, source_queue: str, code: str, reason: str) -> None:
        if self.fault is not None:
            raise self.fault
        kept = {"body": body, "message_id": message_id, "source_queue": source_queue, "code": code, "reason": reason}
        self.kept.append(kept)


def batch(*bodies: str) -> dict[str, object]:
    return {
        "Records": [
            {
                "messageId": f"m{number}",
                "receiptHandle": f"r{number}",
                "body": body,
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {},
                "md5OfBody": "",
                "eventSource": "aws:sqs",
                "eventSourceARN": QUEUE_ARN,
                "awsRegion": "eu-central-1",
            }
            for number, body in enumerate(bodies, start=1)
        ]
    }


def run(bodies: list[str], faults: dict[str, Exception], aside: Aside | None = None) -> tuple[list[str], list[str]]:
    """Process the bodies, failing as told; return what was done and the ids that shall be delivered again."""
    done: list[str] = []

    def handle(body: str) -> None:
        if body in faults:
            raise faults[body]
        done.append(body)

    response = process(batch(*bodies), handle=handle, dead_letters=aside or Aside())
    return done, [str(failure["itemIdentifier"]) for failure in response["batchItemFailures"]]


def test_process__good_batch_is_done_and_nothing_comes_back() -> None:
    assert run(["a", "b"], {}) == (["a", "b"], [])


@pytest.mark.parametrize(
    "fault",
    [SourceUnavailableError("down"), StoreUnavailableError("down"), ConflictError("moved"), RuntimeError("a bug")],
    ids=lambda fault: type(fault).__name__,
)
def test_process__fault_that_may_pass_brings_back_its_record_alone(fault: Exception) -> None:
    aside = Aside()

    assert run(["a", "b", "c"], {"b": fault}, aside) == (["a", "c"], ["m2"])
    assert aside.kept == []


def test_process__all_records_failing_all_come_back_without_an_exception() -> None:
    fault = SourceUnavailableError("down")

    assert run(["a", "b"], {"a": fault, "b": fault}) == ([], ["m1", "m2"])


def test_process__record_that_no_retry_can_help_is_set_aside_with_its_reason() -> None:
    aside = Aside()
    fault = InvalidInputError("Field required", field="tenant")

    assert run(["a", "b", "c"], {"b": fault}, aside) == (["a", "c"], [])
    assert aside.kept == [
        {
            "body": "b",
            "message_id": "m2",
            "source_queue": "preheat-warm",
            "code": "invalid_input",
            "reason": "tenant: Field required",
        }
    ]


def test_process__reason_of_an_error_without_a_field_is_its_message() -> None:
    aside = Aside()

    run(["a"], {"a": NotFoundError("agent 'x' is not registered")}, aside)

    assert [(one["code"], one["reason"]) for one in aside.kept] == [("not_found", "agent 'x' is not registered")]


def test_process__dead_letter_queue_out_of_service_keeps_the_record_in_its_own() -> None:
    aside = Aside(fault=SourceUnavailableError("down"))

    assert run(["a", "b"], {"a": NotFoundError("no such agent")}, aside) == (["b"], ["m1"])


@pytest.mark.parametrize(
    ("fault", "counted"),
    [(InvalidInputError("bad", field="user"), 1), (SourceUnavailableError("down"), 0), (RuntimeError("a bug"), 0)],
    ids=["rejected", "retried", "unforeseen"],
)
def test_process__counts_what_was_set_aside(fault: Exception, counted: int, capsys: pytest.CaptureFixture[str]) -> None:
    run(["a"], {"a": fault})

    emitted = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert [one[names.METRIC_REJECTED] for one in emitted] == [[1.0]] * counted


def test_process__each_record_meets_only_its_own_fate() -> None:
    aside = Aside()
    faults: dict[str, Exception] = {
        "bad": InvalidInputError("bad", field="user"),
        "later": ConflictError("moved"),
        "bug": KeyError("x"),
    }

    assert run(["a", "bad", "later", "bug", "z"], faults, aside) == (["a", "z"], ["m3", "m4"])
    assert [one["body"] for one in aside.kept] == ["bad"]

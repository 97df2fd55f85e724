"""How a batch is taken, passed on and settled."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from infra.local.execution_environment import InvocationError
from infra.local.message_queue import QueueUnavailableError
from infra.local.poller import Poller
from infra.local.sqs_event import Message


class MemoryQueue:
    """A queue whose messages are all visible until they are deleted."""

    def __init__(self, *bodies: str) -> None:
        self.messages = [
            Message(message_id=f"id-{body}", receipt=f"receipt-{body}", body=body, md5="", attributes={})
            for body in bodies
        ]
        self.retried: list[tuple[str, int]] = []
        self.down = False

    @property
    def bodies(self) -> list[str]:
        return [message.body for message in self.messages]

    def receive(self, *, limit: int, wait_s: int) -> Sequence[Message]:  # noqa: ARG002 - the port's signature
        if self.down:
            raise QueueUnavailableError("down")
        return self.messages[:limit]

    def delete(self, receipts: Sequence[str]) -> None:
        self.messages = [message for message in self.messages if message.receipt not in receipts]

    def retry(self, receipts: Sequence[str], *, delay_s: int) -> None:
        self.retried += [(receipt, delay_s) for receipt in receipts]


def poller(queue: MemoryQueue, invoke: Callable[[object], object], *, batch_size: int = 5) -> Poller:
    return Poller(queue=queue, invoke=invoke, arn="arn:q", batch_size=batch_size, retry_s=2)


def bodies_of(event: object) -> list[str]:
    assert isinstance(event, Mapping)
    return [record["body"] for record in event["Records"]]


def fail(*bodies: str) -> Callable[[object], object]:
    return lambda _event: {"batchItemFailures": [{"itemIdentifier": f"id-{body}"} for body in bodies]}


def test_poll__the_function_gets_one_batch_of_at_most_its_size() -> None:
    seen: list[list[str]] = []
    queue = MemoryQueue("a", "b", "c")
    count = poller(queue, lambda event: seen.append(bodies_of(event)), batch_size=2).poll(wait_s=0)
    assert seen == [["a", "b"]]
    assert count == 2
    assert queue.bodies == ["c"]


def test_poll__an_empty_queue_calls_nobody() -> None:
    called: list[object] = []
    assert poller(MemoryQueue(), called.append).poll(wait_s=0) == 0
    assert called == []


def test_poll__only_the_failed_records_stay_and_come_back_soon() -> None:
    queue = MemoryQueue("good", "bad", "fine")
    poller(queue, fail("bad")).poll(wait_s=0)
    assert queue.bodies == ["bad"]
    assert queue.retried == [("receipt-bad", 2)]


def test_poll__a_failed_invocation_fails_every_record() -> None:
    def invoke(_event: object) -> object:
        raise InvocationError("it raised")

    queue = MemoryQueue("a", "b")
    poller(queue, invoke).poll(wait_s=0)
    assert queue.bodies == ["a", "b"]
    assert len(queue.retried) == 2


@pytest.mark.parametrize("response", ["text", {"batchItemFailures": [{"itemIdentifier": ""}]}])
def test_poll__an_invalid_response_fails_every_record(response: object) -> None:
    queue = MemoryQueue("a", "b")
    poller(queue, lambda _event: response).poll(wait_s=0)
    assert queue.bodies == ["a", "b"]
    assert len(queue.retried) == 2


def test_poll__a_queue_that_is_down_is_told_of() -> None:
    queue = MemoryQueue("a")
    queue.down = True
    with pytest.raises(QueueUnavailableError):
        poller(queue, fail()).poll(wait_s=0)

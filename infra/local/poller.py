"""What Lambda's event source mapping does: takes batches from a queue, calls the function, settles each record.

A record is deleted when the function did not name it as failed. A failed one is left to the queue, which hands it out
again, and to its dead-letter queue after as many deliveries as the redrive policy allows.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from infra.local.addresses import REGION
from infra.local.execution_environment import InvocationError
from infra.local.message_queue import MessageQueue, QueueUnavailableError
from infra.local.sqs_event import InvalidBatchResponseError, Message, failed_ids, sqs_event

Invoke = Callable[[object], object]
"""Calls the function with an event; raises `InvocationError`."""

WAIT_S = 20
_PAUSE_S = 0.25

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Poller:
    """Reads one queue for one function, a batch at a time.

    Attributes:
        arn: The queue's ARN.
        batch_size: Most records of one batch, 1 to 10.
        retry_s: Seconds after which a failed record is handed out again.
    """

    queue: MessageQueue
    invoke: Invoke
    arn: str
    batch_size: int
    retry_s: int

    def run(self) -> None:
        """Poll for ever. A queue that does not answer is asked again after a short pause."""
        while True:
            try:
                self.poll(wait_s=WAIT_S)
            except QueueUnavailableError as error:
                logger.warning("queue unavailable: %s", error)
                time.sleep(_PAUSE_S)

    def poll(self, *, wait_s: int) -> int:
        """Take one batch, waiting up to `wait_s` seconds for it, and settle it. Return the number of records in it.

        Raises:
            QueueUnavailableError: the queue did not answer; what was not settled comes back by itself.
        """
        messages = self.queue.receive(limit=self.batch_size, wait_s=wait_s)
        if messages:
            self._settle(messages, failed=self._process(messages))
        return len(messages)

    def _process(self, messages: Sequence[Message]) -> frozenset[str]:
        everything = frozenset(message.message_id for message in messages)
        try:
            response = self.invoke(sqs_event(messages, queue_arn=self.arn, region=REGION))
            return failed_ids(response, everything)
        except InvocationError as error:
            logger.exception("invocation failed", exc_info=error)
        except InvalidBatchResponseError:
            logger.exception("batch response is not valid")
        return everything

    def _settle(self, messages: Sequence[Message], *, failed: frozenset[str]) -> None:
        done = [message.receipt for message in messages if message.message_id not in failed]
        if done:
            self.queue.delete(done)
        again = [message.receipt for message in messages if message.message_id in failed]
        if again:
            self.queue.retry(again, delay_s=self.retry_s)

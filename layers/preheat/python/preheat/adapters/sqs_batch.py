"""One SQS batch by Powertools: each record on its own, what cannot be helped set aside with its reason."""

from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from preheat.adapters.observability import logger, record_rejected
from preheat.errors import PreheatError
from preheat.ports import DeadLetters


def process(
    event: dict[str, Any], *, handle: Callable[[str], None], dead_letters: DeadLetters
) -> PartialItemFailureResponse:
    """Handle every record; return those that must be delivered again.

    A record that fails with a retryable error, or an unforeseen one, is returned to the queue, which ends in its
    dead-letter queue after the last try. One that no retry can help goes there at once, with the reason.
    """

    def record_handler(record: SQSRecord) -> None:
        try:
            handle(record.body)
        except PreheatError as error:
            if error.retryable:
                logger.warning("record will be retried", code=error.code, message_id=record.message_id)
                raise
            reason = f"{error.field}: {error}" if hasattr(error, "field") else str(error)
            dead_letters.reject(
                record.body,
                message_id=record.message_id,
                source_queue=record.event_source_arn.rpartition(":")[2],
                code=error.code,
                reason=reason,
            )
            record_rejected(code=error.code, reason=reason, message_id=record.message_id)
        except Exception:
            logger.exception("record failed for an unforeseen reason", message_id=record.message_id)
            raise

    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    return process_partial_response(event=event, record_handler=record_handler, processor=processor)

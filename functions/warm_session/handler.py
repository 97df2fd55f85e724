"""session.started -> plan, gather, assemble, store, prefill."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from preheat.adapters.observability import record_warm_up
from preheat.adapters.sqs_batch import process
from preheat.events import read_session_started
from preheat.runtime import get_runtime
from preheat.warm_session import warm_session


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:  # noqa: ARG001  # Lambda's signature
    """Warm the session of every record; see events/warm_session.json."""
    runtime = get_runtime()

    def handle(body: str) -> None:
        started = read_session_started(body)
        record_warm_up(warm_session(started.scope(), runtime.ports, asked_at=started.time))

    return process(event, handle=handle, dead_letters=runtime.dead_letters)

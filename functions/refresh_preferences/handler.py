"""preference.changed -> the bundles of the user's live sessions at the new versions."""

from typing import Any

from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.typing import LambdaContext

from preheat.adapters.observability import record_warm_up
from preheat.adapters.sqs_batch import process
from preheat.events import read_preference_changed
from preheat.refresh_preferences import refresh_preferences
from preheat.runtime import get_runtime


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:  # noqa: ARG001  # Lambda's signature
    """Refresh the sessions of every record's user; see events/refresh_preferences.json."""
    runtime = get_runtime()

    def handle(body: str) -> None:
        for report in refresh_preferences(read_preference_changed(body), runtime.ports):
            record_warm_up(report)

    return process(event, handle=handle, dead_letters=runtime.dead_letters)

"""Stands in for the function `api`: gives back what it was called with, or fails when asked to."""

import json
from collections.abc import Mapping

from infra.local.execution_environment import LambdaContext


def handler(event: Mapping[str, object], context: LambdaContext) -> dict[str, object]:
    """Return the event in the body; raise when the body of the request is `raise`."""
    if event["body"] == "raise":
        raise RuntimeError("a secret cause")
    seen = {"event": event, "function": context.function_name, "left_ms": context.get_remaining_time_in_millis()}
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": json.dumps(seen)}

"""Stands in for the function `warm_session`: keeps what it was given in the warm table."""

import json
import os
from collections.abc import Mapping

import boto3

from preheat import names

dynamodb = boto3.client("dynamodb")


def handler(event: Mapping[str, list[dict[str, object]]], _context: object) -> dict[str, object]:
    """Write one item for each record: its body, and where this function would send rejected records."""
    for record in event["Records"]:
        detail = json.loads(str(record["body"]))["detail"]
        dynamodb.put_item(
            TableName=os.environ[names.ENV_WARM_TABLE],
            Item={
                names.PARTITION_KEY: {"S": str(detail["session_id"])},
                names.SORT_KEY: {"S": "seen"},
                "record": {"S": json.dumps(record)},
                "dead_letters": {"S": os.environ[names.ENV_DEAD_LETTER_URL]},
            },
        )
    return {"batchItemFailures": []}

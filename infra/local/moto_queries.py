"""moto's DynamoDB queries and removals at the cost of the rows that they touch.

For every page moto 5.2.5 goes through the rows of all partitions, compares them by way of Python methods, copies what
it found, and writes it out attribute by attribute: a page of five thousand rows takes longer than a client waits. Here
a page of a table (not of an index) is cut from its sorted partition, and written by the JSON encoder. A batch that only
removes rows takes them out of their partition, without a condition parsed for each.
"""

import base64
import json
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import Table
from moto.dynamodb.responses import DynamoHandler

_any_query: Final = Table.query
_any_handler: Final = DynamoHandler.query
_any_batch: Final = DynamoHandler.batch_write_item
# DynamoDB's own limit for a page.
_PAGE_BYTES: Final = 1_000_000

Page = tuple[list[Item], int, dict[str, DynamoType] | None]
"""Rows, how many were looked at, and the key of the last one when there are more."""


def use_partitions() -> None:
    """Let every backend of this process query so. Calls must come one at a time."""
    Table.query = query  # type: ignore[method-assign,assignment]  # on purpose
    DynamoHandler.query = handle  # type: ignore[method-assign]  # on purpose
    DynamoHandler.batch_write_item = handle_batch  # type: ignore[method-assign,assignment]  # on purpose


def handle(handler: DynamoHandler) -> Any:  # noqa: ANN401  # whatever moto takes for an answer
    """Answer a query as moto does, but with the whole answer written at once."""
    answer = _any_handler(handler)
    if not isinstance(answer, ActionResult) or not isinstance(answer.result, dict):
        return answer
    return json.dumps(answer.result, default=_as_text)


def handle_batch(handler: DynamoHandler) -> Any:  # noqa: ANN401  # whatever moto takes for an answer
    """Remove rows; any other batch is left to moto."""
    removals: list[tuple[Table, DynamoType, DynamoType]] = []
    for name, requests in handler.body["RequestItems"].items():
        table = handler.dynamodb_backend.get_table(name)
        for request in requests:
            key = request.get("DeleteRequest", {}).get("Key", {})
            if table.range_key_attr is None or key.keys() != {table.hash_key_attr, table.range_key_attr}:
                return _any_batch(handler)
            removals.append((table, DynamoType(key[table.hash_key_attr]), DynamoType(key[table.range_key_attr])))
    if len(set(removals)) < len(removals):
        return _any_batch(handler)  # which refuses it
    for table, partition, sort in removals:
        table.delete_item(partition, sort)
    return json.dumps({"UnprocessedItems": {}})


def query(table: Table, *asked: Any, **named: Any) -> Page:  # noqa: ANN401  # as moto calls it
    """Return one page of a partition in its order. What is not as simple is left to moto."""
    hash_key, comparison, bounds, limit, start_key, forward, projection, index, _consistent, filtering = asked
    filters = named.keys() - {"hash_key_conditions", "range_key_conditions"}
    nested = any(len(path) > 1 for path in projection or ())
    if index or filters or nested or not table.range_key_attr:
        return _any_query(table, *asked, **named)
    rows = table.items.get(hash_key, {})
    ordered = sorted(rows.items(), key=lambda row: row[0].cast_value, reverse=not forward)
    start = DynamoType(start_key[table.range_key_attr]).cast_value if start_key else None
    wanted = (
        row
        for key, row in ordered
        if (start is None or (key.cast_value > start if forward else key.cast_value < start))
        and (not comparison or key.compare(comparison, bounds))
    )
    page: list[Item] = []
    last = None
    size_bytes = 0
    for row in wanted:
        size_bytes += row.size()
        if page and (len(page) == limit or size_bytes > _PAGE_BYTES):
            last = table._get_last_evaluated_key(page[-1], None)  # noqa: SLF001  # moto offers no other
            break
        page.append(row)
    shown = [row for row in page if filtering.expr(row)]
    names = {path[0] for path in projection or ()}
    return [_only(row, names) for row in shown] if names else shown, len(page), last


def _only(row: Item, names: set[str]) -> Item:
    shown = Item(row.hash_key, row.range_key, {})
    for name in names & row.attrs.keys():
        dict.__setitem__(shown.attrs, name, row.attrs[name])
    return shown


def _as_text(value: object) -> str:
    """Return a binary attribute's value as DynamoDB writes it."""
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    return base64.b64encode(value).decode()

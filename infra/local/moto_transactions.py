"""moto's DynamoDB transactions at the cost of the rows they touch.

To be able to roll back, moto 5.2.5 copies the whole table once for every item of a transaction: forty turns are 81
copies of everything that all tenants have written. With a few thousand rows one append takes longer than a client
waits. Here moto sees only the rows that the transaction names, so that its copies are of those.
"""

from collections import defaultdict
from typing import Any, Final

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType

_whole_table_transaction: Final = DynamoDBBackend.transact_write_items

Operation = dict[str, Any]
"""One item of a transaction: `{"Put": {...}}` or its like."""


def use_touched_rows() -> None:
    """Let every backend of this process run its transactions so. Calls must come one at a time."""
    DynamoDBBackend.transact_write_items = transact_write_items  # type: ignore[method-assign,assignment]  # on purpose


def transact_write_items(backend: DynamoDBBackend, transact_items: list[Operation]) -> None:
    """Run a transaction on the rows that it names, as moto does on whole tables, and with the same errors."""
    touched = _touched_rows(backend, transact_items)
    whole = {name: backend.tables[name].items for name in touched}
    for name, rows in touched.items():
        view: defaultdict[Any, dict[Any, Any]] = defaultdict(dict)
        for partition, sort in rows:
            row = whole[name].get(partition, {}).get(sort)
            if row is not None:
                view[partition][sort] = row
        backend.tables[name].items = view
    try:
        _whole_table_transaction(backend, transact_items)
    finally:
        # A transaction that failed has put copies in the place of the tables.
        for name, rows in touched.items():
            after = backend.tables[name].items
            backend.tables[name].items = whole[name]
            for partition, sort in rows:
                row = after.get(partition, {}).get(sort)
                if row is None:
                    whole[name].get(partition, {}).pop(sort, None)
                else:
                    whole[name][partition][sort] = row


def _touched_rows(backend: DynamoDBBackend, operations: list[Operation]) -> dict[str, list[tuple[Any, Any]]]:
    """Return the keys that the operations name, by table; tables without a sort key are left to moto."""
    touched: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for operation in operations:
        for asked in operation.values():
            table = backend.tables.get(str(asked.get("TableName")))
            key = asked.get("Key") or asked.get("Item") or {}
            if (
                table is None
                or table.range_key_attr is None
                or not {table.hash_key_attr, table.range_key_attr} <= set(key)
            ):
                continue
            touched[table.name].append((DynamoType(key[table.hash_key_attr]), DynamoType(key[table.range_key_attr])))
    return dict(touched)

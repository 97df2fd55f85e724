"""Warm stores as the contract suite needs them: their stored bytes in reach, their servers' read calls counted."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import boto3
from botocore.config import Config
from moto import mock_aws

from infra.topology import TABLES, Table
from preheat import names
from preheat.adapters.dynamodb_store import DynamoDBWarmStore
from preheat.adapters.memory_store import MemoryWarmStore
from preheat.adapters.system_clock import SystemClock
from preheat.adapters.tiered_store import TieredWarmStore
from preheat.adapters.valkey_store import ValkeyWarmStore
from preheat.errors import PreheatError
from preheat.keys import WarmKey, owner_of
from preheat.ports import WarmStore
from tests.servers import RunningValkey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

REGION: Final = "eu-central-1"
WARM: Final[Table] = next(table for table in TABLES if table.name == names.WARM_TABLE)


@dataclass(frozen=True, slots=True)
class Tier:
    """A store under test.

    Attributes:
        store: The store.
        overwrite: Replaces the bytes of a stored entry behind the store's back.
        reads: Returns how many read calls its servers have seen.
        corrupt: Returns how many harmed entries it has met.
    """

    store: WarmStore
    overwrite: Callable[[WarmKey, bytes], None]
    reads: Callable[[], int]
    corrupt: Callable[[], int]


def memory_tier() -> Tier:
    """Return the fake that ships with the product."""
    store = MemoryWarmStore()
    return Tier(store, store.sealed.__setitem__, lambda: store.reads, lambda: store.corrupt)


@contextmanager
def valkey_tier(nodes: Sequence[RunningValkey], *, cluster: bool) -> Iterator[Tier]:
    """Connect to running servers: one, or all nodes of a cluster."""
    # A machine busy with other tests must not look like a server out of reach.
    store = ValkeyWarmStore(f"{nodes[0].url}?socket_timeout=5&socket_connect_timeout=5", cluster=cluster)

    def overwrite(key: WarmKey, sealed: bytes) -> None:
        slot = nodes[0].ask("CLUSTER", "KEYSLOT", key) if cluster else None
        owner = nodes[0] if slot is None else next(node for node in nodes if _owns(node, slot))
        owner.ask("SET", key, sealed, "PX", 60_000)

    try:
        yield Tier(store, overwrite, lambda: sum(map(_mgets, nodes)), lambda: store.corrupt)
    finally:
        store.close()


def _owns(node: RunningValkey, slot: object) -> bool:
    ranges = node.ask("CLUSTER", "SLOTS")
    assert isinstance(ranges, list)
    assert isinstance(slot, int)
    return any(first <= slot <= last and owner[1] == node.port for first, last, owner, *_ in ranges)


def _mgets(node: RunningValkey) -> int:
    stats = node.ask("INFO", "commandstats")
    assert isinstance(stats, dict)
    return int(stats.get("cmdstat_mget", {}).get("calls", 0))


def _one_write_at_a_time(client: "DynamoDBClient") -> None:
    """Serialise the client's writes, as the service does for the writes of an item; its emulator does not."""
    lock = threading.Lock()

    def enter(**_: object) -> None:
        lock.acquire()  # released by the event that ends the call

    def leave(**_: object) -> None:
        lock.release()

    client.meta.events.register("before-call.dynamodb.PutItem", enter)
    client.meta.events.register("after-call.dynamodb.PutItem", leave)
    client.meta.events.register("after-call-error.dynamodb.PutItem", leave)


@contextmanager
def dynamodb_tier() -> Iterator[Tier]:
    """Make the warm table, as it is deployed, in an emulator inside this process."""
    with mock_aws():
        client = boto3.client("dynamodb", region_name=REGION, config=Config(max_pool_connections=16))
        client.create_table(
            TableName=WARM.name,
            KeySchema=[
                {"AttributeName": WARM.partition_key, "KeyType": "HASH"},
                {"AttributeName": WARM.sort_key, "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": WARM.partition_key, "AttributeType": "S"},
                {"AttributeName": WARM.sort_key, "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        _one_write_at_a_time(client)
        reads: list[str] = []
        client.meta.events.register("before-call.dynamodb.BatchGetItem", lambda **_: reads.append("batch"))
        store = DynamoDBWarmStore(client, table=WARM.name)

        def overwrite(key: WarmKey, sealed: bytes) -> None:
            client.update_item(
                TableName=WARM.name,
                Key={WARM.partition_key: {"S": owner_of(key)}, WARM.sort_key: {"S": key}},
                UpdateExpression="SET sealed = :sealed",
                ExpressionAttributeValues={":sealed": {"B": sealed}},
            )

        yield Tier(store, overwrite, lambda: len(reads), lambda: store.corrupt)


def tiered(first: Tier, last: Tier) -> Tier:
    """Put one tier before another, as they are deployed."""

    def no_fault(name: str, error: PreheatError) -> None:
        raise AssertionError(f"{name} failed: {error}")

    def overwrite(key: WarmKey, sealed: bytes) -> None:
        first.overwrite(key, sealed)
        last.overwrite(key, sealed)

    return Tier(
        TieredWarmStore((("valkey", first.store), ("dynamodb", last.store)), clock=SystemClock(), on_fault=no_fault),
        overwrite,
        lambda: first.reads() + last.reads(),
        lambda: first.corrupt() + last.corrupt(),
    )

"""What tests of others rely on: counted calls, faults on demand, bytes in reach."""

from typing import Final

import pytest

from preheat.adapters.memory_store import MemoryWarmStore
from preheat.errors import StoreUnavailableError
from preheat.keys import WarmKey
from preheat.ports import Entry

NOW: Final = 1_800_000_000.0
ENTRY: Final = Entry(WarmKey("k"), 1, b"body", NOW + 60)


def test_store__counts_calls() -> None:
    store = MemoryWarmStore()
    store.put(ENTRY, now=NOW)
    store.add(ENTRY, now=NOW)
    store.get_many([ENTRY.key], now=NOW)
    store.delete([ENTRY.key])
    assert (store.reads, store.writes) == (1, 3)


def test_store__fails_every_call_while_told_to() -> None:
    store = MemoryWarmStore()
    store.put(ENTRY, now=NOW)
    store.fault = StoreUnavailableError("out of reach")
    for call in (
        lambda: store.put(ENTRY, now=NOW),
        lambda: store.add(ENTRY, now=NOW),
        lambda: store.get_many([ENTRY.key], now=NOW),
        lambda: store.delete([ENTRY.key]),
    ):
        with pytest.raises(StoreUnavailableError):
            call()
    store.fault = None
    assert store.get_many([ENTRY.key], now=NOW) == {ENTRY.key: ENTRY}


def test_sealed__harmed_bytes_are_met_once_per_read() -> None:
    store = MemoryWarmStore()
    store.put(ENTRY, now=NOW)
    store.sealed[ENTRY.key] = store.sealed[ENTRY.key][:-1]
    assert store.get_many([ENTRY.key], now=NOW) == {}
    assert store.corrupt == 1

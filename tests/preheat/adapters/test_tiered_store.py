"""How tiers stand in for one another, and how a failing one is kept out of the way."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from preheat.adapters.memory_store import MemoryWarmStore
from preheat.adapters.tiered_store import TieredWarmStore
from preheat.errors import EntryTooLargeError, EraseIncompleteError, PreheatError, StoreUnavailableError
from preheat.keys import WarmKey
from preheat.ports import Entry
from preheat.session import TenantId, UserId

NOW: Final = 1_800_000_000.0
COOL_DOWN_S: Final = 5.0
KEY: Final = WarmKey("k")
OTHER: Final = WarmKey("k2")
TENANT: Final = TenantId("acme")
FAULT: Final = StoreUnavailableError("out of reach")


class _Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time

    def monotonic_ms(self) -> float:
        return self.time * 1000


class _World:
    """Two tiers, as deployed, on a clock that stands still."""

    def __init__(self) -> None:
        self.clock = _Clock()
        self.first = MemoryWarmStore()
        self.last = MemoryWarmStore()
        self.reported: list[tuple[str, str]] = []
        self.store = TieredWarmStore(
            (("valkey", self.first), ("dynamodb", self.last)),
            clock=self.clock,
            cool_down_s=COOL_DOWN_S,
            on_fault=self._report,
        )

    def _report(self, name: str, error: PreheatError) -> None:
        self.reported.append((name, error.code))

    def get(self, *keys: WarmKey) -> dict[WarmKey, bytes]:
        found = self.store.get_many(keys or (KEY,), now=self.clock.now())
        return {key: entry.body for key, entry in found.items()}

    def put(self, body: bytes = b"body", order: int = 1, key: WarmKey = KEY) -> bool:
        return self.store.put(_entry(body, order, key), now=self.clock.now())

    def faults(self) -> tuple[str, ...]:
        return self.store.faults(now=self.clock.now())


def _entry(body: bytes = b"body", order: int = 1, key: WarmKey = KEY) -> Entry:
    return Entry(key, order, body, NOW + 3600)


@pytest.fixture
def world() -> _World:
    return _World()


def test_store__without_tiers_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tier"):
        TieredWarmStore((), clock=_Clock(), on_fault=lambda *_: None)


# --- reading ----------------------------------------------------------------------------------------------------------
def test_get_many__full_answer_of_the_first_tier_is_one_call(world: _World) -> None:
    world.put(key=KEY)
    world.put(key=OTHER)
    assert set(world.get(KEY, OTHER)) == {KEY, OTHER}
    assert (world.first.reads, world.last.reads) == (1, 0)


def test_get_many__only_what_the_first_tier_lacks_is_asked_of_the_next(world: _World) -> None:
    world.first.put(_entry(b"first"), now=NOW)
    world.last.put(_entry(b"not asked for"), now=NOW)
    world.last.put(_entry(b"last", key=OTHER), now=NOW)
    assert world.get(KEY, OTHER) == {KEY: b"first", OTHER: b"last"}
    assert (world.first.reads, world.last.reads) == (1, 1)


def test_get_many__corrupt_or_expired_in_the_first_tier_is_read_from_the_next(world: _World) -> None:
    world.put(key=KEY)
    world.put(key=OTHER)
    world.first.sealed[KEY] = b"rubbish"
    world.first.put(Entry(OTHER, 1, b"brief", NOW + 1), now=NOW)
    world.clock.time += 2
    assert world.get(KEY, OTHER) == {KEY: b"body", OTHER: b"body"}


def test_get_many__failed_first_tier_is_named_and_the_next_serves(world: _World) -> None:
    world.put()
    world.first.fault = FAULT
    assert world.get() == {KEY: b"body"}
    assert world.faults() == ("valkey",)
    assert world.reported == [("valkey", "store_unavailable")]


def test_get_many__failed_last_tier_costs_only_what_it_alone_holds(world: _World) -> None:
    world.put()
    world.last.fault = FAULT
    assert world.get(KEY, OTHER) == {KEY: b"body"}
    assert world.faults() == ("dynamodb",)


def test_get_many__every_tier_failing_is_an_error_that_names_them(world: _World) -> None:
    world.first.fault = world.last.fault = FAULT
    with pytest.raises(StoreUnavailableError, match=r"valkey.*dynamodb"):
        world.get()
    assert world.faults() == ("valkey", "dynamodb")


# --- the breaker ------------------------------------------------------------------------------------------------------
def test_breaker__failed_tier_is_not_called_during_its_cool_down(world: _World) -> None:
    world.first.fault = FAULT
    world.get()
    world.first.fault = None
    world.clock.time += COOL_DOWN_S - 0.001
    world.get()
    world.put()
    assert (world.first.reads, world.first.writes) == (1, 0)
    assert world.faults() == ("valkey",)
    assert len(world.reported) == 1


def test_breaker__tier_that_serves_again_is_back_at_once(world: _World) -> None:
    world.first.fault = FAULT
    world.get()
    world.first.fault = None
    world.clock.time += COOL_DOWN_S
    world.get()
    assert world.faults() == ()
    world.put()
    world.get()
    assert (world.first.reads, world.first.writes) == (3, 1)


def test_breaker__probe_that_fails_starts_another_cool_down(world: _World) -> None:
    world.first.fault = FAULT
    world.get()
    for wait_s in (COOL_DOWN_S, COOL_DOWN_S - 0.001):
        world.clock.time += wait_s
        world.get()
        assert world.first.reads == 2
    assert world.faults() == ("valkey",)


def test_breaker__cool_down_counts_from_the_end_of_the_failed_call(world: _World) -> None:
    def wait_in_vain() -> None:
        world.clock.time += 2.0

    store = _before(world, _Failing(wait_in_vain))
    store.get_many([KEY], now=NOW)
    assert store.faults(now=NOW + 2.0 + COOL_DOWN_S - 0.001) == ("valkey",)
    assert store.faults(now=NOW + 2.0 + COOL_DOWN_S) == ()


def test_breaker__one_probe_while_many_threads_read(world: _World) -> None:
    called, answer = threading.Event(), threading.Event()

    def wait_for_an_answer() -> None:
        called.set()
        answer.wait(5)

    failing = _Failing(wait_for_an_answer)
    store = _before(world, failing)
    answer.set()
    store.get_many([KEY], now=NOW)
    world.clock.time += COOL_DOWN_S
    called.clear()
    answer.clear()
    with ThreadPoolExecutor(8) as pool:
        probe = pool.submit(store.get_many, [KEY], now=world.clock.now())
        assert called.wait(5)
        others = [pool.submit(store.get_many, [KEY], now=world.clock.now()) for _ in range(7)]
        assert [other.result(5) for other in others] == [{}] * 7
        answer.set()
        assert probe.result(5) == {}
    assert failing.reads == 2


class _Failing(MemoryWarmStore):
    """Does something and then fails every read."""

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def get_many(self, keys: Sequence[WarmKey], *, now: float) -> Mapping[WarmKey, Entry]:
        self.reads += 1
        self._meanwhile()
        raise StoreUnavailableError(f"{len(keys)} keys not read at {now}")


def _before(world: _World, first: MemoryWarmStore) -> TieredWarmStore:
    return TieredWarmStore(
        (("valkey", first), ("dynamodb", world.last)),
        clock=world.clock,
        cool_down_s=COOL_DOWN_S,
        on_fault=lambda *_: None,
    )


def test_breaker__tier_nobody_calls_is_not_named_for_ever(world: _World) -> None:
    world.last.fault = FAULT
    world.put()
    assert world.faults() == ("dynamodb",)
    world.clock.time += COOL_DOWN_S
    assert world.faults() == ()


# --- erasing ----------------------------------------------------------------------------------------------------------
USER: Final = UserId("ada")
HERS: Final = WarmKey("one:{T#acme#U#ada}:s1")
HERS_TOO: Final = WarmKey("other:{T#acme#U#ada}:s1")


def test_erase_user__tells_what_each_tier_held(world: _World) -> None:
    world.put(key=HERS)
    world.store.add(_entry(key=HERS_TOO), now=NOW)

    erased = world.store.erase_user(TENANT, USER)

    assert erased == {"valkey": {HERS}, "dynamodb": {HERS, HERS_TOO}}
    assert world.first.sealed == world.last.sealed == {}


def test_erase_user__reaches_a_tier_in_its_cool_down(world: _World) -> None:
    world.put(key=HERS)
    world.first.fault = FAULT
    world.get()
    world.first.fault = None

    world.store.erase_user(TENANT, USER)

    assert world.first.sealed == {}


def test_erase_user__a_tier_that_lost_track_of_an_entry_is_told_its_key(world: _World) -> None:
    world.put(key=HERS)
    forgetful = _Forgetful()
    forgetful.sealed.update(world.first.sealed)

    _before(world, forgetful).erase_user(TENANT, USER)

    assert forgetful.sealed == {}


class _Forgetful(MemoryWarmStore):
    """Holds entries that it does not find by their user."""

    def erase_user(self, tenant: TenantId, user: UserId) -> Mapping[str, frozenset[WarmKey]]:
        assert (tenant, user) == (TENANT, USER)
        return {"memory": frozenset()}


@pytest.mark.parametrize(("broken", "name", "other"), [("first", "valkey", "dynamodb"), ("last", "dynamodb", "valkey")])
def test_erase_user__failed_tier_is_named_and_the_other_is_erased(
    world: _World, broken: str, name: str, other: str
) -> None:
    world.put(key=HERS)
    getattr(world, broken).fault = FAULT

    with pytest.raises(EraseIncompleteError, match=name) as caught:
        world.store.erase_user(TENANT, USER)

    assert (caught.value.left, caught.value.erased) == ((name,), {other: 1})
    assert caught.value.retryable
    assert world.faults() == (name,)
    getattr(world, broken).fault = None
    assert world.store.erase_user(TENANT, USER)[name] == {HERS}
    assert world.first.sealed == world.last.sealed == {}


# --- writing ----------------------------------------------------------------------------------------------------------
def test_put__writes_every_tier(world: _World) -> None:
    assert world.put()
    assert world.first.sealed == world.last.sealed != {}


@pytest.mark.parametrize("broken", ["first", "last"])
def test_put__one_tier_is_enough(world: _World, broken: str) -> None:
    getattr(world, broken).fault = FAULT
    assert world.put()
    assert world.get() == {KEY: b"body"}


def test_put__no_tier_left_is_an_error(world: _World) -> None:
    world.first.fault = world.last.fault = FAULT
    with pytest.raises(StoreUnavailableError, match=r"dynamodb.*valkey"):
        world.put()


def test_put__older_everywhere_is_not_stored(world: _World) -> None:
    world.put(order=5)
    assert not world.put(b"old", order=4)
    assert world.get() == {KEY: b"body"}


def test_put__newer_in_the_last_tier_keeps_an_older_out_of_the_first(world: _World) -> None:
    world.last.put(_entry(b"newer", order=5), now=NOW)
    assert not world.put(b"older", order=4)
    assert world.get() == {KEY: b"newer"}


def test_put__newer_in_the_first_tier_alone_stays_there(world: _World) -> None:
    world.first.put(_entry(b"newer", order=5), now=NOW)
    assert world.put(b"older", order=4)
    assert world.get() == {KEY: b"newer"}


def test_put__oversized_is_refused_and_no_fault_of_a_tier(world: _World) -> None:
    with pytest.raises(EntryTooLargeError):
        world.put(bytes(500_000))
    assert world.faults() == ()
    assert world.reported == []
    assert world.first.sealed == world.last.sealed == {}


def test_add__last_tier_decides_alone(world: _World) -> None:
    assert world.store.add(_entry(), now=NOW)
    assert not world.store.add(_entry(), now=NOW)
    assert (world.first.writes, world.last.writes) == (0, 2)
    assert world.get() == {KEY: b"body"}


def test_add__last_tier_out_of_reach_is_an_error(world: _World) -> None:
    world.last.fault = FAULT
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match="dynamodb"):
            world.store.add(_entry(), now=NOW)
    assert (world.first.writes, world.last.writes) == (0, 1)


def test_delete__goes_to_every_tier_and_tells_which_failed(world: _World) -> None:
    world.put()
    world.first.fault = FAULT
    with pytest.raises(StoreUnavailableError, match="valkey"):
        world.store.delete([KEY])
    assert world.last.sealed == {}


def test_delete__does_not_wait_for_a_cool_down(world: _World) -> None:
    world.put()
    world.first.fault = FAULT
    world.get()
    world.first.fault = None
    world.store.delete([KEY])
    assert world.first.sealed == world.last.sealed == {}
    assert world.faults() == ()

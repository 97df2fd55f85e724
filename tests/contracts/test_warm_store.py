"""What every warm store must do, run on every one of them."""

import itertools
import random
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import pytest

from preheat import keys
from preheat.adapters.memory_store import MemoryWarmStore
from preheat.envelope import HEADER_BYTES, MAX_BODY_BYTES, seal
from preheat.errors import EntryTooLargeError
from preheat.keys import WarmKey
from preheat.ports import Entry
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId
from tests.contracts.warm_tiers import Tier, dynamodb_tier, memory_tier, tiered, valkey_tier

NOW: Final = 1_800_000_000.25
THREADS: Final = 8
_TENANTS: Final = itertools.count(1)


@pytest.fixture(scope="module", params=["memory", "dynamodb", "valkey", "valkey-cluster", "tiered"])
def tier(request: pytest.FixtureRequest) -> Iterator[Tier]:
    """Every store in turn; a server behind it starts when it is first asked for."""
    with ExitStack() as opened:
        makers: dict[str, Callable[[], Tier]] = {
            "memory": memory_tier,
            "dynamodb": lambda: opened.enter_context(dynamodb_tier()),
            "valkey": lambda: opened.enter_context(
                valkey_tier([request.getfixturevalue("valkey_server")], cluster=False)
            ),
            "valkey-cluster": lambda: opened.enter_context(
                valkey_tier(request.getfixturevalue("valkey_cluster"), cluster=True)
            ),
            "tiered": lambda: tiered(makers["valkey"](), makers["dynamodb"]()),
        }
        yield makers[str(request.param)]()


@pytest.fixture
def tenant() -> TenantId:
    """Give every test keys of its own."""
    return TenantId(f"tenant-{next(_TENANTS)}")


@pytest.fixture
def key(tenant: TenantId) -> WarmKey:
    return _key(tenant)


@pytest.fixture
def restless() -> Iterator[None]:
    """Let threads take turns as often as they can, so that a missing lock shows."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def _scope(tenant: TenantId, *, user: str = "ada", session: str = "s1") -> Scope:
    return Scope(tenant, UserId(user), AgentId("agent"), SessionId(session))


def _key(tenant: TenantId, *, user: str = "ada", session: str = "s1", model: str = "m") -> WarmKey:
    return keys.bundle_key(_scope(tenant, user=user, session=session), model=model, renderer="r1")


def _dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  # the same sequence in every run


def _entry(key: WarmKey, order: int = 1, body: bytes = b"body", *, ttl_s: float = 60.0) -> Entry:
    return Entry(key=key, order=order, body=body, expires_at=NOW + ttl_s)


def test_get_many__key_never_written_is_absent(tier: Tier, key: WarmKey) -> None:
    assert tier.store.get_many([key], now=NOW) == {}


def test_get_many__no_keys_cost_no_call(tier: Tier) -> None:
    before = tier.reads()
    assert tier.store.get_many([], now=NOW) == {}
    assert tier.reads() == before


def test_put__any_bytes_come_back_as_they_were(tier: Tier, key: WarmKey) -> None:
    entry = _entry(key, order=9_007_199_254, body=bytes(range(256)) * 40, ttl_s=60.125)
    assert tier.store.put(entry, now=NOW)
    assert tier.store.get_many([key], now=NOW) == {key: entry}


def test_put__empty_body_is_an_entry(tier: Tier, key: WarmKey) -> None:
    tier.store.put(_entry(key, body=b""), now=NOW)
    assert tier.store.get_many([key], now=NOW)[key].body == b""


def test_get_many__many_keys_of_a_user_take_one_call(tier: Tier, tenant: TenantId) -> None:
    entries = {_key(tenant, session=f"s{n}"): n for n in range(40)}
    for one, order in entries.items():
        tier.store.put(_entry(one, order=order), now=NOW)
    before = tier.reads()
    found = tier.store.get_many([*entries, *entries], now=NOW)
    assert tier.reads() - before == 1
    assert {one: entry.order for one, entry in found.items()} == entries


def test_get_many__more_keys_than_a_batch_holds(tier: Tier, tenant: TenantId) -> None:
    wanted = [_key(tenant, session=f"s{n}") for n in range(130)]
    tier.store.put(_entry(wanted[0]), now=NOW)
    tier.store.put(_entry(wanted[-1]), now=NOW)
    assert set(tier.store.get_many(wanted, now=NOW)) == {wanted[0], wanted[-1]}


def test_get_many__present_but_expired_is_absent(tier: Tier, key: WarmKey) -> None:
    tier.store.put(_entry(key, ttl_s=10.0), now=NOW)
    assert key in tier.store.get_many([key], now=NOW + 9.99)
    assert tier.store.get_many([key], now=NOW + 10.0) == {}


def test_put__already_expired_is_not_stored(tier: Tier, key: WarmKey) -> None:
    assert not tier.store.put(_entry(key, ttl_s=0.0), now=NOW)
    assert not tier.store.add(_entry(key, ttl_s=-1.0), now=NOW)
    assert tier.store.get_many([key], now=NOW - 10.0) == {}


def test_put__older_is_refused(tier: Tier, key: WarmKey) -> None:
    tier.store.put(_entry(key, order=10, body=b"new"), now=NOW)
    assert not tier.store.put(_entry(key, order=9, body=b"old"), now=NOW)
    assert tier.store.get_many([key], now=NOW)[key].body == b"new"


@pytest.mark.parametrize("order", [10, 11, 100])
def test_put__equal_or_newer_order_overwrites(tier: Tier, key: WarmKey, order: int) -> None:
    tier.store.put(_entry(key, order=10, body=b"first"), now=NOW)
    assert tier.store.put(_entry(key, order=order, body=b"second", ttl_s=30.0), now=NOW)
    assert tier.store.get_many([key], now=NOW) == {key: _entry(key, order=order, body=b"second", ttl_s=30.0)}


def test_put__older_replaces_a_newer_one_that_has_expired(tier: Tier, key: WarmKey) -> None:
    tier.store.put(_entry(key, order=10, ttl_s=5.5), now=NOW)
    assert not tier.store.put(_entry(key, order=1), now=NOW + 5.4)
    assert tier.store.put(_entry(key, order=1), now=NOW + 5.5)
    assert tier.store.get_many([key], now=NOW + 6.0)[key].order == 1


@pytest.mark.usefixtures("restless")
def test_put__highest_order_stays_of_concurrent_writers(tier: Tier, key: WarmKey) -> None:
    orders = _dice(7).sample(range(1000), 40)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda order: tier.store.put(_entry(key, order=order, body=b"%d" % order), now=NOW), orders))
    found = tier.store.get_many([key], now=NOW)[key]
    assert (found.order, found.body) == (max(orders), b"%d" % max(orders))


def test_add__stores_once_until_expiry(tier: Tier, key: WarmKey) -> None:
    assert tier.store.add(_entry(key, ttl_s=5.5), now=NOW)
    assert not tier.store.add(_entry(key, order=2, ttl_s=60.0), now=NOW + 5.4)
    assert tier.store.get_many([key], now=NOW)[key].order == 1
    assert tier.store.add(_entry(key, order=3, ttl_s=60.0), now=NOW + 5.5)
    assert tier.store.get_many([key], now=NOW + 6.0)[key].order == 3


@pytest.mark.usefixtures("restless")
def test_add__one_of_many_threads_wins(tier: Tier, tenant: TenantId) -> None:
    together = threading.Barrier(THREADS)

    def add(entry: Entry) -> bool:
        together.wait(10)
        return tier.store.add(entry, now=NOW)

    with ThreadPoolExecutor(THREADS) as pool:
        for round_number in range(20):
            entry = _entry(_key(tenant, session=f"s{round_number}"))
            assert list(pool.map(add, [entry] * THREADS)).count(True) == 1


def test_delete__removes_what_is_there_and_nothing_else(tier: Tier, tenant: TenantId) -> None:
    gone, stays, never = (_key(tenant, session=name) for name in ("gone", "stays", "never"))
    tier.store.put(_entry(gone), now=NOW)
    tier.store.put(_entry(stays), now=NOW)
    tier.store.delete([gone, never, gone])
    assert set(tier.store.get_many([gone, stays, never], now=NOW)) == {stays}
    assert tier.store.add(_entry(gone), now=NOW)


def test_delete__of_nothing_is_no_error(tier: Tier) -> None:
    tier.store.delete([])


def test_delete__more_keys_than_a_batch_holds(tier: Tier, tenant: TenantId) -> None:
    wanted = [_key(tenant, session=f"s{n}") for n in range(60)]
    for one in (wanted[0], wanted[30], wanted[59]):
        tier.store.put(_entry(one), now=NOW)
    tier.store.delete(wanted)
    assert tier.store.get_many(wanted, now=NOW) == {}


@pytest.mark.parametrize(
    "harm",
    [
        lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1]),
        lambda sealed: sealed[:-1],
        lambda sealed: sealed[:HEADER_BYTES],
        lambda sealed: b"PH0." + sealed[4:],
        lambda sealed: sealed[:10] + b"x" + sealed[11:],
        lambda _: b"\x00",
    ],
    ids=["flipped bit", "cut short", "header alone", "another schema", "broken order", "rubbish"],
)
def test_get_many__corrupt_is_absent_and_counted(tier: Tier, tenant: TenantId, harm: Callable[[bytes], bytes]) -> None:
    harmed, whole = _key(tenant, session="harmed"), _key(tenant, session="whole")
    tier.store.put(_entry(harmed), now=NOW)
    tier.store.put(_entry(whole), now=NOW)
    tier.overwrite(harmed, harm(seal(_entry(harmed))))
    before = tier.corrupt()
    assert set(tier.store.get_many([harmed, whole], now=NOW)) == {whole}
    assert tier.corrupt() > before


@pytest.mark.parametrize("bytes_there", [seal(_entry(WarmKey("k"), order=5))[:-1], b"z" * 60, b"PH1.5", b""])
def test_put__mends_a_corrupt_entry_of_its_order(tier: Tier, key: WarmKey, bytes_there: bytes) -> None:
    tier.store.put(_entry(key, order=5), now=NOW)
    tier.overwrite(key, bytes_there)
    assert tier.store.put(_entry(key, order=5), now=NOW)
    assert tier.store.get_many([key], now=NOW) == {key: _entry(key, order=5)}


def test_put__largest_body_fits_every_tier(tier: Tier, key: WarmKey) -> None:
    body = _dice(3).randbytes(MAX_BODY_BYTES)
    assert tier.store.put(_entry(key, body=body), now=NOW)
    assert tier.store.get_many([key], now=NOW)[key].body == body


@pytest.mark.parametrize("size_bytes", [MAX_BODY_BYTES + 1, 400 * 1024 + 1, 2_000_000])
def test_put__oversized_is_refused_and_what_was_there_stays(tier: Tier, key: WarmKey, size_bytes: int) -> None:
    tier.store.put(_entry(key), now=NOW)
    large = _entry(key, order=2, body=bytes(size_bytes))
    with pytest.raises(EntryTooLargeError):
        tier.store.put(large, now=NOW)
    with pytest.raises(EntryTooLargeError):
        tier.store.add(replace(large, key=WarmKey(f"{key}:other")), now=NOW)
    assert tier.store.get_many([key], now=NOW) == {key: _entry(key)}


def test_get_many__users_never_mix(tier: Tier, tenant: TenantId) -> None:
    names = ("ada", "ada2", "ad", "Ada", "bob")
    entries = {_key(tenant, user=name): _entry(_key(tenant, user=name), body=name.encode()) for name in names}
    for entry in entries.values():
        tier.store.put(entry, now=NOW)
    for one, entry in entries.items():
        assert tier.store.get_many([one], now=NOW) == {one: entry}
    assert tier.store.get_many(list(entries), now=NOW) == entries


def test_get_many__tenants_never_mix(tier: Tier, tenant: TenantId, key: WarmKey) -> None:
    tier.store.put(_entry(key), now=NOW)
    assert tier.store.get_many([_key(TenantId(f"{tenant}0"))], now=NOW) == {}


def test_put__unicode_in_keys_and_bodies(tier: Tier, tenant: TenantId) -> None:
    entries = {
        one: _entry(one, body=f"你好 {model} 🙂".encode())
        for model in ("模型/β-7B", "modèle", "mode\u0300le", "🙂")
        for one in [_key(tenant, model=model)]
    }
    for entry in entries.values():
        assert tier.store.put(entry, now=NOW)
    assert tier.store.get_many(list(entries), now=NOW) == entries


def test_erase_user__removes_all_of_the_user_and_nothing_else(tier: Tier, tenant: TenantId) -> None:
    mine = [_key(tenant, session=f"s{n}", model=model) for n in range(20) for model in ("m", "模型 🙂")]
    names = ("ada2", "ad", "Ada", "bob")
    others = [_key(tenant, user=name) for name in names] + [_key(TenantId(f"{tenant}0")), _key(TenantId("a"))]
    for one in (*mine, *others):
        tier.store.put(_entry(one), now=NOW)
    claim = keys.claim_key(_scope(tenant), model="m", renderer="r1", stamp="a1.c1.f0.p0.h0")
    tier.store.add(_entry(claim, body=b""), now=NOW)

    erased = tier.store.erase_user(tenant, UserId("ada"))

    assert set().union(*erased.values()) == {*mine, claim}
    assert tier.store.get_many([*mine, claim, *others], now=NOW).keys() == set(others)


def test_erase_user__twice_or_of_nobody_is_no_error(tier: Tier, tenant: TenantId, key: WarmKey) -> None:
    tier.store.put(_entry(key), now=NOW)
    tier.store.erase_user(tenant, UserId("ada"))

    assert not any(tier.store.erase_user(tenant, UserId("ada")).values())
    assert not any(tier.store.erase_user(tenant, UserId("nobody")).values())


def test_erase_user__what_is_stored_again_is_found_again(tier: Tier, tenant: TenantId, key: WarmKey) -> None:
    for order in (9, 1):
        assert tier.store.put(_entry(key, order=order), now=NOW)
        assert set().union(*tier.store.erase_user(tenant, UserId("ada")).values()) == {key}
    assert tier.store.get_many([key], now=NOW) == {}


def test_erase_user__finds_what_was_overwritten_deleted_or_harmed(tier: Tier, tenant: TenantId) -> None:
    kept, harmed, deleted = (_key(tenant, session=name) for name in ("kept", "harmed", "deleted"))
    for one in (kept, harmed, deleted):
        tier.store.put(_entry(one), now=NOW)
    tier.store.put(_entry(kept, order=2, ttl_s=5.0), now=NOW)
    tier.overwrite(harmed, b"rubbish")
    tier.store.delete([deleted])

    assert set().union(*tier.store.erase_user(tenant, UserId("ada")).values()) == {kept, harmed}


def test_faults__none_while_every_tier_serves(tier: Tier, key: WarmKey) -> None:
    tier.store.get_many([key], now=NOW)
    assert tier.store.faults(now=NOW) == ()


def test_any_sequence__every_tier_does_what_the_fake_does(tier: Tier, tenant: TenantId) -> None:
    dice, fake, now = _dice(11), MemoryWarmStore(), NOW
    kept = [_key(tenant, session=f"kept{n}") for n in range(3)]
    claimed = [_key(tenant, session=f"claimed{n}") for n in range(3)]
    for step in range(60):
        now += dice.choice((0.0, 0.001, 0.5, 3.0))
        entry = _entry(
            WarmKey(""), order=dice.randrange(6), body=b"%d" % step, ttl_s=now - NOW + dice.choice((1, 4.25))
        )
        put, claim = replace(entry, key=dice.choice(kept)), replace(entry, key=dice.choice(claimed))
        assert tier.store.put(put, now=now) == fake.put(put, now=now)
        assert tier.store.add(claim, now=now) == fake.add(claim, now=now)
        if dice.random() < 0.1:
            tier.store.delete([put.key, claim.key])
            fake.delete([put.key, claim.key])
        assert tier.store.get_many(kept + claimed, now=now) == fake.get_many(kept + claimed, now=now)

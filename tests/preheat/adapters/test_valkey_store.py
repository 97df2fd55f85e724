"""What only Valkey can do wrong: connections, servers that go and come back, scripts, slots."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from valkey.crc import key_slot

from preheat import keys
from preheat.adapters.valkey_store import ValkeyWarmStore
from preheat.errors import SettingsError, StoreUnavailableError
from preheat.keys import WarmKey
from preheat.ports import Entry
from preheat.session import AgentId, Scope, SessionId, TenantId, UserId
from tests.servers import HOST, SLOTS, RunningValkey, free_port, running_valkey, wait_for_cluster

NOW: Final = 1_800_000_000.25
THREADS: Final = 8


def _key(user: str, session: str = "s1") -> WarmKey:
    scope = Scope(TenantId("valkey-store"), UserId(user), AgentId("agent"), SessionId(session))
    return keys.bundle_key(scope, model="m", renderer="r1")


def _entry(user: str, order: int = 1, ttl_s: float = 60.0) -> Entry:
    return Entry(key=_key(user), order=order, body=user.encode(), expires_at=NOW + ttl_s)


@pytest.fixture
def store(valkey_server: RunningValkey) -> Iterator[ValkeyWarmStore]:
    store = ValkeyWarmStore(f"{valkey_server.url}?socket_timeout=5", cluster=False)
    yield store
    store.close()


@pytest.fixture
def cluster(valkey_cluster: tuple[RunningValkey, ...]) -> Iterator[ValkeyWarmStore]:
    store = ValkeyWarmStore(valkey_cluster[0].url, cluster=True)
    yield store
    store.close()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RunningValkey]:
    with running_valkey(tmp_path) as server:
        yield server


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Accepts connections in the kernel and never says a word."""
    with socket.create_server((HOST, 0)) as silent:
        yield silent


def _user_in(node: int, of: int = 3) -> str:
    """Return a user whose keys belong to one of the nodes that share the slots evenly."""
    first, end = SLOTS * node // of, SLOTS * (node + 1) // of
    return next(user for n in range(1000) if first <= key_slot(_key(user := f"user{n}").encode()) < end)


# --- connecting -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("cluster_mode", [False, True])
def test_store__constructing_touches_no_network(listener: socket.socket, *, cluster_mode: bool) -> None:
    store = ValkeyWarmStore(f"valkey://{HOST}:{listener.getsockname()[1]}", cluster=cluster_mode)
    listener.setblocking(False)  # noqa: FBT003  # the socket's own signature
    with pytest.raises(BlockingIOError):
        listener.accept()
    store.close()


@pytest.mark.parametrize(
    "url",
    ["", "http://host:6379", "redis://host:6379", "valkey://", "valkey://host:port", "valkey://host?socket_timeout=x"],
)
def test_store__url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(SettingsError):
        ValkeyWarmStore(url, cluster=False)


@pytest.mark.parametrize("cluster_mode", [False, True])
def test_get_many__nobody_there_names_address_and_tls(*, cluster_mode: bool) -> None:
    port = free_port()
    store = ValkeyWarmStore(f"valkey://app:secret@{HOST}:{port}", cluster=cluster_mode)
    with pytest.raises(StoreUnavailableError, match=rf"{HOST}:{port}.*valkeys://") as caught:
        store.get_many([_key("ada")], now=NOW)
    assert "secret" not in str(caught.value)


def test_get_many__nobody_there_over_tls_says_nothing_of_plain_text() -> None:
    store = ValkeyWarmStore(f"valkeys://{HOST}:{free_port()}", cluster=False)
    with pytest.raises(StoreUnavailableError) as caught:
        store.get_many([_key("ada")], now=NOW)
    assert "valkeys://" not in str(caught.value)


@pytest.mark.parametrize("cluster_mode", [False, True])
def test_get_many__silent_server_costs_no_seconds(listener: socket.socket, *, cluster_mode: bool) -> None:
    store = ValkeyWarmStore(f"valkey://{HOST}:{listener.getsockname()[1]}", cluster=cluster_mode)
    started = time.monotonic()
    with pytest.raises(StoreUnavailableError, match="Timeout"):
        store.get_many([_key("ada")], now=NOW)
    assert time.monotonic() - started < 1.5


def test_put__one_lost_answer_is_asked_for_again(own_server: RunningValkey) -> None:
    store = ValkeyWarmStore(own_server.url, cluster=False)
    store.put(_entry("ada"), now=NOW)
    own_server.ask("CLIENT", "PAUSE", 300, "ALL")
    assert store.put(_entry("ada", order=2), now=NOW)
    store.close()


def test_get_many__cluster_client_on_a_single_server_says_so(valkey_server: RunningValkey) -> None:
    store = ValkeyWarmStore(valkey_server.url, cluster=True)
    with pytest.raises(StoreUnavailableError, match="Cluster mode is not enabled"):
        store.get_many([_key("ada")], now=NOW)


# --- servers that go and come back ------------------------------------------------------------------------------------
def test_store__serves_again_after_the_server_was_killed(own_server: RunningValkey) -> None:
    store = ValkeyWarmStore(own_server.url, cluster=False)
    assert store.put(_entry("ada"), now=NOW)
    own_server.kill()
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            store.get_many([_key("ada")], now=NOW)
    own_server.start()
    assert store.get_many([_key("ada")], now=NOW) == {}
    assert store.put(_entry("ada"), now=NOW)
    assert store.get_many([_key("ada")], now=NOW) == {_key("ada"): _entry("ada")}
    store.close()


def test_store__restart_between_two_calls_goes_unnoticed(own_server: RunningValkey) -> None:
    store = ValkeyWarmStore(own_server.url, cluster=False)
    store.put(_entry("ada"), now=NOW)
    own_server.kill()
    own_server.start()
    assert store.put(_entry("ada"), now=NOW)
    store.close()


def test_store__only_our_own_error_escapes_while_a_server_dies_under_load(own_server: RunningValkey) -> None:
    store, stop = ValkeyWarmStore(own_server.url, cluster=False), threading.Event()

    def hammer(user: str) -> int:
        refused = 0
        while not stop.is_set():
            try:
                store.put(_entry(user), now=NOW)
                store.get_many([_key(user)], now=NOW)
            except StoreUnavailableError:
                refused += 1
        return refused

    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(hammer, f"user{n}") for n in range(THREADS)]
        time.sleep(0.1)
        own_server.kill()
        time.sleep(0.1)
        own_server.start()
        stop.set()
        assert all(one.result() > 0 for one in running)
    assert store.put(_entry("ada"), now=NOW)
    store.close()


def test_cluster__one_dead_node_fails_its_own_keys_until_it_is_back(
    cluster: ValkeyWarmStore, valkey_cluster: tuple[RunningValkey, ...]
) -> None:
    theirs, others = _user_in(1), _user_in(2)
    cluster.put(_entry(theirs), now=NOW)
    valkey_cluster[1].kill()
    try:
        with pytest.raises(StoreUnavailableError):
            cluster.get_many([_key(theirs)], now=NOW)
        assert cluster.put(_entry(others), now=NOW)
    finally:
        valkey_cluster[1].start()
        wait_for_cluster(valkey_cluster)
    assert cluster.put(_entry(theirs), now=NOW)
    assert set(cluster.get_many([_key(theirs), _key(others)], now=NOW)) == {_key(theirs), _key(others)}


def test_cluster__follows_a_slot_that_moved(
    cluster: ValkeyWarmStore, valkey_cluster: tuple[RunningValkey, ...]
) -> None:
    user, home, new_home = _user_in(0), valkey_cluster[0], valkey_cluster[2]
    assert cluster.get_many([_key(user)], now=NOW) == {}
    slot, target = home.ask("CLUSTER", "KEYSLOT", _key(user)), new_home.ask("CLUSTER", "MYID")
    assert isinstance(slot, int)
    assert isinstance(target, bytes)
    for node in (new_home, home, valkey_cluster[1]):
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", target)
    assert cluster.put(_entry(user), now=NOW)
    assert cluster.get_many([_key(user)], now=NOW) == {_key(user): _entry(user)}
    assert new_home.ask("EXISTS", _key(user)) == 1


# --- what the server keeps --------------------------------------------------------------------------------------------
def test_put__server_forgets_the_entry_when_it_expires(store: ValkeyWarmStore, valkey_server: RunningValkey) -> None:
    store.put(_entry("ttl", ttl_s=30.5), now=NOW)
    left_ms = valkey_server.ask("PTTL", _key("ttl"))
    assert isinstance(left_ms, int)
    assert 25_000 < left_ms <= 30_500


def test_put__script_the_server_has_lost_is_sent_again(store: ValkeyWarmStore, valkey_server: RunningValkey) -> None:
    store.put(_entry("script"), now=NOW)
    valkey_server.ask("SCRIPT", "FLUSH")
    assert store.put(_entry("script", order=2), now=NOW)
    before = _calls(valkey_server, "eval")
    assert store.put(_entry("script", order=3), now=NOW)
    assert _calls(valkey_server, "eval") == before


def _calls(server: RunningValkey, command: str) -> int:
    stats = server.ask("INFO", "commandstats")
    assert isinstance(stats, dict)
    return int(stats.get(f"cmdstat_{command}", {}).get("calls", 0))


def test_put__full_server_is_unavailable(own_server: RunningValkey) -> None:
    store = ValkeyWarmStore(own_server.url, cluster=False)
    own_server.ask("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(StoreUnavailableError, match="OutOfMemory"):
        store.put(_entry("ada"), now=NOW)
    store.close()


# --- the list of a user's entries -------------------------------------------------------------------------------------
def _listed(server: RunningValkey, user: str) -> dict[str, int]:
    """Return the keys on a user's list and the milliseconds of their expiry."""
    flat = server.ask("ZRANGE", keys.index_key(keys.owner_of(_key(user))), 0, -1, "WITHSCORES")
    assert isinstance(flat, list)
    return {key.decode(): round(float(score)) for key, score in zip(flat[::2], flat[1::2], strict=True)}


def test_put__lists_the_entry_for_at_least_its_life(store: ValkeyWarmStore, valkey_server: RunningValkey) -> None:
    store.put(_entry("listed", ttl_s=50.0), now=NOW)
    store.put(Entry(_key("listed", "s2"), 1, b"brief", NOW + 1.0), now=NOW)

    assert _listed(valkey_server, "listed") == {
        _key("listed"): 1_800_000_050_250,
        _key("listed", "s2"): 1_800_000_001_250,
    }
    left_ms = valkey_server.ask("PTTL", keys.index_key(keys.owner_of(_key("listed"))))
    assert isinstance(left_ms, int)
    assert 45_000 < left_ms <= 50_000


def test_put__what_is_refused_is_not_listed(store: ValkeyWarmStore, valkey_server: RunningValkey) -> None:
    store.put(_entry("refused", order=2), now=NOW)
    valkey_server.ask("DEL", keys.index_key(keys.owner_of(_key("refused"))))

    assert not store.put(_entry("refused", order=1), now=NOW)
    assert _listed(valkey_server, "refused") == {}


def test_put__list_of_a_user_who_never_rests_does_not_grow(
    store: ValkeyWarmStore, valkey_server: RunningValkey
) -> None:
    for hour in range(48):
        now = NOW + 3600 * hour
        store.put(Entry(_key("busy", f"s{hour}"), 1, b"body", now + 600), now=now)

    assert len(_listed(valkey_server, "busy")) <= 3


def test_erase_user__leaves_no_key_of_the_user(store: ValkeyWarmStore, valkey_server: RunningValkey) -> None:
    for number in range(2500):
        store.put(Entry(_key("erased", f"s{number}"), 1, b"body", NOW + 60), now=NOW)

    erased = store.erase_user(TenantId("valkey-store"), UserId("erased"))

    assert len(erased["valkey"]) == 2500
    assert valkey_server.ask("KEYS", "*{T#valkey-store#U#erased}*") == []

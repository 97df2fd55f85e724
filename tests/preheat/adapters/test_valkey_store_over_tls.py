"""Valkey over TLS, and users whose password is asked for anew for every connection."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from preheat.adapters.valkey_store import ValkeyWarmStore
from preheat.errors import SettingsError, StoreUnavailableError
from preheat.keys import WarmKey
from preheat.ports import Entry
from tests.servers import HOST, RunningValkey, running_valkey
from tests.tls_front import TlsFront, tls_front

NOW: Final = 1_800_000_000.25
ENTRY: Final = Entry(WarmKey("ph1:bundle:{T#t#U#ada}:agent:s1"), 1, b"body", NOW + 60)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RunningValkey]:
    with running_valkey(tmp_path) as server:
        yield server


@pytest.fixture
def front(own_server: RunningValkey, tmp_path: Path) -> Iterator[TlsFront]:
    with tls_front(own_server.port, tmp_path) as front:
        yield front


def _tls_url(front: TlsFront, host: str = HOST) -> str:
    return f"valkeys://{host}:{front.port}?ssl_ca_certs={front.certificate}"


class _Password:
    """Gives out one password, or fails, and counts how often it was asked."""

    def __init__(self, password: str) -> None:
        self.password = password
        self.asked = 0
        self.fault: StoreUnavailableError | None = None

    def get_credentials(self) -> tuple[str, str]:
        self.asked += 1
        if self.fault is not None:
            raise self.fault
        return "app", self.password


def test_tls__entry_goes_there_and_back(front: TlsFront) -> None:
    store = ValkeyWarmStore(_tls_url(front), cluster=False)
    assert store.put(ENTRY, now=NOW)
    assert store.get_many([ENTRY.key], now=NOW) == {ENTRY.key: ENTRY}
    store.close()


def test_tls__certificate_nobody_vouches_for_is_refused(front: TlsFront) -> None:
    store = ValkeyWarmStore(f"valkeys://{HOST}:{front.port}", cluster=False)
    with pytest.raises(StoreUnavailableError, match="certificate verify failed"):
        store.put(ENTRY, now=NOW)


def test_tls__certificate_of_another_host_is_refused(front: TlsFront) -> None:
    store = ValkeyWarmStore(_tls_url(front, host="localhost"), cluster=False)
    with pytest.raises(StoreUnavailableError, match="certificate verify failed"):
        store.put(ENTRY, now=NOW)


def test_tls__plain_url_to_a_tls_server_names_tls(front: TlsFront) -> None:
    store = ValkeyWarmStore(f"valkey://{HOST}:{front.port}", cluster=False)
    with pytest.raises(StoreUnavailableError, match="begins with valkeys://"):
        store.put(ENTRY, now=NOW)


def test_credentials__never_travel_without_tls() -> None:
    with pytest.raises(SettingsError, match="valkeys://"):
        ValkeyWarmStore(f"valkey://{HOST}:6379", cluster=False, credentials=_Password("token"))


def test_credentials__asked_for_every_connection(front: TlsFront, own_server: RunningValkey) -> None:
    own_server.ask("ACL", "SETUSER", "app", "on", ">token-1", "~*", "+@all")
    password = _Password("token-1")
    store = ValkeyWarmStore(_tls_url(front), cluster=False, credentials=password)
    store.put(ENTRY, now=NOW)
    store.put(ENTRY, now=NOW)
    assert password.asked == 1
    store.close()
    own_server.ask("ACL", "SETUSER", "app", "resetpass", ">token-2")
    password.password = "token-2"
    assert store.put(ENTRY, now=NOW)
    assert password.asked == 2
    store.close()


def test_credentials__refused_ones_are_a_fault_of_the_store(front: TlsFront, own_server: RunningValkey) -> None:
    own_server.ask("ACL", "SETUSER", "app", "on", ">token", "~*", "+@all")
    store = ValkeyWarmStore(_tls_url(front), cluster=False, credentials=_Password("wrong"))
    with pytest.raises(StoreUnavailableError, match="AuthenticationError"):
        store.put(ENTRY, now=NOW)


def test_credentials__provider_that_failed_once_leaves_no_connection_without_a_user(
    front: TlsFront, own_server: RunningValkey
) -> None:
    own_server.ask("ACL", "SETUSER", "app", "on", ">token", "~*", "+@all")
    password = _Password("token")
    password.fault = StoreUnavailableError("no AWS credentials")
    store = ValkeyWarmStore(_tls_url(front), cluster=False, credentials=password)
    with pytest.raises(StoreUnavailableError, match="no AWS credentials"):
        store.put(ENTRY, now=NOW)
    password.fault = None
    own_server.ask("ACL", "SETUSER", "default", "-eval", "-evalsha")
    assert store.put(ENTRY, now=NOW)
    store.close()

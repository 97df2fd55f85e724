"""The warm store's fast tier: Valkey, one server or a cluster, over TLS or without.

Nothing is connected before the first call. A client that failed is thrown away, so that the next call starts from the
address in the url: a server that went and came back, changed its address or its role is found again. The caller keeps
a failing tier out of the way (`preheat.adapters.tiered_store`); here at most one quick retry is made.
"""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, cast

from valkey import Valkey, ValkeyCluster
from valkey.backoff import NoBackoff
from valkey.connection import parse_url
from valkey.crc import key_slot
from valkey.exceptions import ConnectionError as ValkeyConnectionError
from valkey.exceptions import NoScriptError, ValkeyClusterException, ValkeyError
from valkey.exceptions import TimeoutError as ValkeyTimeoutError
from valkey.retry import Retry

from preheat.envelope import EXPIRY_AT, MAGIC, ORDER_AT, seal, unseal_live
from preheat.errors import SettingsError, StoreUnavailableError
from preheat.keys import WarmKey, index_key, owner_of, user_partition
from preheat.ports import Entry
from preheat.session import TenantId, UserId

_TLS_PREFIX: Final = "valkeys://"
_PREFIXES: Final = ("valkey://", _TLS_PREFIX)
_DEFAULT_PORT: Final = 6379
_CONNECT_TIMEOUT_S: Final = 0.25
_SOCKET_TIMEOUT_S: Final = 0.25
_RETRIES: Final = 1
_PUT: Final = "put"
_ADD: Final = "add"

_UNREACHABLE: Final = (ValkeyConnectionError, ValkeyTimeoutError, ValkeyClusterException, OSError)

_TIER: Final = "valkey"
# The service takes 3,999 arguments in one command.
_KEYS_PER_REMOVAL: Final = 1_000
# A key is kept on its owner's list this long after its expiry: no writer's clock is further ahead of another's.
_LISTED_LONGER_MS: Final = 3_600_000

# Stores ARGV[1] at KEYS[1] for ARGV[2] milliseconds, unless the entry held there is live at ARGV[3] and, for a put, of
# a higher order. Orders and times are digits of one width, so they compare as text. What is stored is listed at
# KEYS[2], in the same slot, by its expiry ARGV[5]; the list outlives its longest-lived entry and drops what expired
# before ARGV[6].
_HEAD: Final = f"^{MAGIC.decode().replace('.', '%.')}%d+$"
_STORE_SCRIPT: Final = f"""
local function order(sealed) return string.sub(sealed, {ORDER_AT.start + 1}, {ORDER_AT.stop}) end
local head = redis.call('GETRANGE', KEYS[1], 0, {EXPIRY_AT.stop - 1})
local whole = #head == {EXPIRY_AT.stop} and string.match(head, '{_HEAD}')
if whole and string.sub(head, {EXPIRY_AT.start + 1}, {EXPIRY_AT.stop}) > ARGV[3] then
  if ARGV[4] == '{_ADD}' or order(head) > order(ARGV[1]) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[5], KEYS[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. ARGV[6])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return 1
"""
_STORE_SHA: Final = hashlib.sha1(_STORE_SCRIPT.encode()).hexdigest()  # noqa: S324  # the server names scripts so

# Removes KEYS[2] and on, and strikes them off the list at KEYS[1]; returns those that were there. The list itself
# stays: what another writer has just put on it must be found by the next.
_ERASE_SCRIPT: Final = """
local gone = {}
for at = 2, #KEYS do
  if redis.call('UNLINK', KEYS[at]) == 1 then gone[#gone + 1] = KEYS[at] end
  redis.call('ZREM', KEYS[1], KEYS[at])
end
return gone
"""


class CredentialProvider(Protocol):
    """Where a connection's user name and password come from, asked anew for every connection."""

    def get_credentials(self) -> tuple[str, str]:
        """Return user name and password."""
        ...


class _Client(Protocol):
    """What is used of valkey-py's two clients."""

    def execute_command(self, *command: str | bytes | int) -> object: ...

    def close(self) -> None: ...


class ValkeyWarmStore:
    """Keeps sealed entries in Valkey, each with the server's own expiry beside the one in its header.

    Attributes:
        corrupt: Entries read that were not what was written.
    """

    def __init__(self, url: str, *, cluster: bool, credentials: CredentialProvider | None = None) -> None:
        """Keep the address; nothing is connected.

        Args:
            url: `valkey://host:port`, or `valkeys://` for TLS. Its query may hold valkey-py's connection options.
            cluster: Whether the server speaks the cluster protocol; ElastiCache Serverless always does.
            credentials: For users without a fixed password in the url.

        Raises:
            SettingsError: the url cannot be used, or a token would travel without TLS.
        """
        self.corrupt = 0
        self._url = url
        self._address = _address(url)
        self._tls = url.startswith(_TLS_PREFIX)
        if credentials is not None and not self._tls:
            raise SettingsError("tokens must not travel in the clear: the cache url must begin with valkeys://")
        self._cluster = cluster
        self._credentials = credentials
        self._open_client: _Client | None = None
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[WarmKey], *, now: float) -> Mapping[WarmKey, Entry]:
        """Return the entries that are there, whole and not expired, in one round trip for the keys of one user."""
        found: list[tuple[WarmKey, bytes]] = []
        for group in self._slots(keys):
            values = cast("list[bytes | None]", self._ask("MGET", *group))
            found += [(key, sealed) for key, sealed in zip(group, values, strict=True) if sealed is not None]
        live, corrupt = unseal_live(found, now=now)
        if corrupt:
            with self._lock:
                self.corrupt += corrupt
        return live

    def put(self, entry: Entry, *, now: float) -> bool:
        """Store the entry unless a newer, live one is there or it has already expired."""
        return self._store(entry, _PUT, now=now)

    def add(self, entry: Entry, *, now: float) -> bool:
        """Store the entry only when no live one is there and it has not already expired.

        When the server's answer is lost and the call repeated, the one that stored the entry may be told it did not.
        """
        return self._store(entry, _ADD, now=now)

    def delete(self, keys: Sequence[WarmKey]) -> None:
        """Remove the entries."""
        for group in self._slots(keys):
            self._ask("UNLINK", *group)

    def erase_user(self, tenant: TenantId, user: UserId) -> Mapping[str, frozenset[WarmKey]]:
        """Remove all entries of a user; return the keys removed, under this tier's name."""
        listed_at = index_key(user_partition(tenant, user))
        listed = cast("list[bytes]", self._ask("ZRANGE", listed_at, 0, -1))
        gone: set[WarmKey] = set()
        for start in range(0, len(listed), _KEYS_PER_REMOVAL):
            some = listed[start : start + _KEYS_PER_REMOVAL]
            removed = cast("list[bytes]", self._ask("EVAL", _ERASE_SCRIPT, len(some) + 1, listed_at, *some))
            gone.update(WarmKey(key.decode()) for key in removed)
        return {_TIER: frozenset(gone)}

    def faults(self, *, now: float) -> tuple[str, ...]:  # noqa: ARG002  # the port's shape
        """Return nothing: one tier alone keeps no record of faults, its calls raise."""
        return ()

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        with self._lock:
            client, self._open_client = self._open_client, None
        if client is not None:
            client.close()

    def _slots(self, keys: Sequence[WarmKey]) -> list[tuple[WarmKey, ...]]:
        """Group keys that one command may name: all of them on one server, those of one slot in a cluster."""
        wanted = tuple(dict.fromkeys(keys))
        if not self._cluster:
            return [wanted] if wanted else []
        groups: dict[int, list[WarmKey]] = {}
        for key in wanted:
            groups.setdefault(key_slot(key.encode()), []).append(key)
        return [tuple(group) for group in groups.values()]

    def _store(self, entry: Entry, rule: str, *, now: float) -> bool:
        sealed = seal(entry)
        ttl_ms = round(entry.expires_at * 1000) - round(now * 1000)
        if ttl_ms <= 0:
            return False
        now_ms, expires_ms = round(now * 1000), round(entry.expires_at * 1000)
        stored_at = (2, entry.key, index_key(owner_of(entry.key)))
        arguments = (*stored_at, sealed, ttl_ms, b"%016d" % now_ms, rule, expires_ms, now_ms - _LISTED_LONGER_MS)
        try:
            return self._ask("EVALSHA", _STORE_SHA, *arguments) == 1
        except _ScriptUnknownError:
            return self._ask("EVAL", _STORE_SCRIPT, *arguments) == 1

    def _ask(self, *command: str | bytes | int) -> object:
        client = self._open_client
        try:
            if client is None:
                client = self._keep(self._connect())
            return client.execute_command(*command)
        except NoScriptError as error:
            raise _ScriptUnknownError from error
        except StoreUnavailableError:
            self._discard(client)
            raise
        except (ValkeyError, ValkeyClusterException, OSError) as error:
            self._discard(client)
            raise self._unavailable(error) from error

    def _connect(self) -> _Client:
        options = {
            "credential_provider": self._credentials,
            "socket_connect_timeout": _CONNECT_TIMEOUT_S,
            "socket_timeout": _SOCKET_TIMEOUT_S,
            # Naming the client would cost two more round trips for every connection.
            "lib_name": None,
            "lib_version": None,
            **({"ssl_check_hostname": True} if self._tls else {}),
        }
        if not self._cluster:
            # The service drops idle connections, not always with a word: a second, fresh one gets through.
            retry = {
                "retry": Retry(NoBackoff(), _RETRIES),
                "retry_on_error": [ValkeyConnectionError, ValkeyTimeoutError],
            }
            return cast("_Client", Valkey.from_url(self._url, **retry, **options))
        # Only the url's address is asked for the layout: a dead cluster of many nodes must not be tried node by node.
        return cast(
            "_Client",
            ValkeyCluster.from_url(  # type: ignore[no-untyped-call]  # the library leaves it without types
                self._url, cluster_error_retry_attempts=_RETRIES, dynamic_startup_nodes=False, **options
            ),
        )

    def _keep(self, client: _Client) -> _Client:
        """Keep a new client, or return the one that another thread has opened in the meantime."""
        with self._lock:
            if self._open_client is None:
                self._open_client = client
            return self._open_client

    def _discard(self, client: _Client | None) -> None:
        """Forget the client. It is not closed: other threads may be in the middle of a call."""
        with self._lock:
            if self._open_client is client:
                self._open_client = None

    def _unavailable(self, error: Exception) -> StoreUnavailableError:
        message = f"the cache at {self._address} does not serve ({type(error).__name__}: {error})"
        if not self._tls and isinstance(error, _UNREACHABLE):
            message += "; one that speaks only TLS looks the same: its url begins with valkeys://"
        return StoreUnavailableError(message)


def _address(url: str) -> str:
    """Return `host:port`, without user and password."""
    try:
        options = parse_url(url)
    except ValueError as error:
        raise SettingsError("the cache url cannot be read") from error
    if not url.startswith(_PREFIXES) or "host" not in options:
        raise SettingsError("the cache url must look like valkey://host:port or valkeys://host:port")
    return f"{options['host']}:{options.get('port', _DEFAULT_PORT)}"


class _ScriptUnknownError(Exception):
    """The server does not have the script: it is new, or it has restarted."""

"""A deployment whose parts fail on demand, and how a use case sees it: late reads, one step at a time, or whole."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from preheat.adapters.ceiling_counter import CeilingCounter
from preheat.adapters.memory_bus import ManualClock, MemoryBus
from preheat.adapters.memory_records import MemoryRecords
from preheat.adapters.memory_store import MemoryWarmStore
from preheat.adapters.tiered_store import TieredWarmStore
from preheat.errors import PreheatError, SourceUnavailableError, StoreUnavailableError
from preheat.keys import WarmKey
from preheat.policy import PrefillPolicy
from preheat.ports import Delta, Entry, Finished, Limits, Ports, Prefilled, Records, WarmStore
from preheat.prefill import EngineRequest
from preheat.session import TenantId, UserId
from tests.protocol.engine import Engine, Heard
from tests.protocol.lagging_store import LaggingStore, Past
from tests.protocol.stepping import InlineExecutor, Stepped

Pause = Callable[[str], None]
LIMITS = Limits(
    model="fake",
    bundle_ttl_s=600,
    session_ttl_s=3600,
    claim_ttl_s=120,
    prefill=PrefillPolicy(enabled=True, min_tokens=1, ttl_s=300),
)


class Backend(Protocol):
    """Records and tiers of one kind, empty at first."""

    @property
    def records(self) -> Records: ...

    @property
    def tiers(self) -> Mapping[str, WarmStore]:
        """The warm store's tiers by name, the fastest first."""
        ...

    def stepped_records(self, pause: Pause) -> Records:
        """Return the same records, stopping before each of their steps."""
        ...

    def lose(self, tier: str) -> None:
        """Empty one tier."""
        ...


class MemoryBackend:
    """The shipped fakes: a call of the records is one step."""

    def __init__(self) -> None:
        self.records = MemoryRecords()
        self._tiers = {"valkey": MemoryWarmStore(), "dynamodb": MemoryWarmStore()}

    @property
    def tiers(self) -> Mapping[str, WarmStore]:
        return self._tiers

    def stepped_records(self, pause: Pause) -> Records:
        return cast("Records", Stepped(self.records, pause))

    def lose(self, tier: str) -> None:
        self._tiers[tier].sealed.clear()


@dataclass(slots=True)
class Deployment:
    """Everything around the use cases.

    Attributes:
        backend: Records and tiers.
        engine: The model.
        clock: Moved by hand.
        bus: Keeps what was published, to be delivered late, twice or never.
        broken: Names of tiers out of reach.
        unreadable: Names of the records' methods that fail.
    """

    backend: Backend
    engine: Engine = field(default_factory=Engine)
    clock: ManualClock = field(default_factory=ManualClock)
    bus: MemoryBus = field(default_factory=MemoryBus)
    broken: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    _past: Past = field(default_factory=Past)
    _store: WarmStore = field(init=False)

    def __post_init__(self) -> None:
        tiers = [(name, _Breakable(store, name, self.broken)) for name, store in self.backend.tiers.items()]
        self._store = TieredWarmStore(tiers, clock=self.clock, on_fault=_expected)

    @property
    def whole(self) -> bool:
        """Whether nothing is out of service."""
        return not self.unreadable and not self.broken and not self._store.faults(now=self.clock.now())

    def ports(
        self,
        heard: list[Heard] | None = None,
        *,
        lags: tuple[int, ...] = (0,),
        late: bool = False,
        pause: Pause | None = None,
        coarse: bool = False,
    ) -> Ports:
        """Return the ports of one call of a use case.

        Args:
            heard: Gets what the engine hears through these ports.
            lags: How far the cache's reads lag behind, see `LaggingStore`.
            late: Whether reads that are made side by side end in the other order.
            pause: Called before each step, when the call is a flight's.
            coarse: Whether a whole call of the records is one step of a flight.
        """
        records = self.backend.records
        if pause:
            records = cast("Records", Stepped(records, pause)) if coarse else self.backend.stepped_records(pause)
        store: WarmStore = LaggingStore(self._store, self._past, lags)
        endpoint = _Ear(self.engine, heard if heard is not None else [])
        return Ports(
            records=cast("Records", _Unreadable(records, self.unreadable)),
            store=cast("WarmStore", Stepped(store, pause)) if pause else store,
            endpoint=endpoint,
            counter=CeilingCounter(),
            bus=self.bus,
            clock=self.clock,
            executor=InlineExecutor(late=late),
            limits=LIMITS,
        )


def _expected(_tier: str, _error: PreheatError) -> None:
    """Tiers fail because they are told to."""


class _Unreadable:
    """Records of which some methods fail."""

    def __init__(self, records: Records, methods: set[str]) -> None:
        self._records = records
        self._methods = methods

    def __getattr__(self, name: str) -> object:
        if name in self._methods:
            raise SourceUnavailableError("told to fail")
        return getattr(self._records, name)


@dataclass(frozen=True, slots=True)
class _Breakable:
    """A tier that is out of reach while its name is among the broken."""

    inner: WarmStore
    name: str
    broken: set[str]

    def get_many(self, keys: Sequence[WarmKey], *, now: float) -> Mapping[WarmKey, Entry]:
        return self._reached().get_many(keys, now=now)

    def put(self, entry: Entry, *, now: float) -> bool:
        return self._reached().put(entry, now=now)

    def add(self, entry: Entry, *, now: float) -> bool:
        return self._reached().add(entry, now=now)

    def delete(self, keys: Sequence[WarmKey]) -> None:
        self._reached().delete(keys)

    def erase_user(self, tenant: TenantId, user: UserId) -> Mapping[str, frozenset[WarmKey]]:
        return self._reached().erase_user(tenant, user)

    def faults(self, *, now: float) -> tuple[str, ...]:
        return self.inner.faults(now=now)

    def _reached(self) -> WarmStore:
        if self.name in self.broken:
            raise StoreUnavailableError(f"{self.name} was told to fail")
        return self.inner


@dataclass(frozen=True, slots=True)
class _Ear:
    """The engine, and what it hears from one caller."""

    engine: Engine
    heard: list[Heard]

    def prefill(self, request: EngineRequest) -> Prefilled:
        prefilled = self.engine.prefill(request)
        self.heard.append(self.engine.heard[-1])
        return prefilled

    def generate(self, request: EngineRequest) -> Iterator[Delta | Finished]:
        answer = self.engine.generate(request)
        first = next(answer)
        self.heard.append(self.engine.heard[-1])
        yield first
        yield from answer

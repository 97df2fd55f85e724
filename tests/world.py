"""A whole deployment in memory, for use-case tests: shipped fakes behind the real ports, and one tenant."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from preheat.adapters.ceiling_counter import CeilingCounter
from preheat.adapters.memory_bus import ManualClock, MemoryBus
from preheat.adapters.memory_endpoint import MemoryEndpoint
from preheat.adapters.memory_records import MemoryRecords
from preheat.adapters.memory_store import MemoryWarmStore
from preheat.answer import AnswerRequest, answer
from preheat.policy import PrefillPolicy
from preheat.ports import Delta, Limits, NewTurn, Ports, TokenCounter
from preheat.prefill import NewMessage, Sampling
from preheat.register_agent import register_agent
from preheat.report import AnswerReport
from preheat.requests import AgentCall, BudgetsCall
from preheat.session import AgentId, Principal, Scope, SessionId, TenantId, UserId

TENANT, USER, AGENT = TenantId("acme"), UserId("ana"), AgentId("desk")
SERVICE = Principal(TENANT, None, service=True)


def scope(session: str = "s1", *, tenant: TenantId = TENANT, user: UserId = USER) -> Scope:
    """Name one session."""
    return Scope(tenant, user, AGENT, SessionId(session))


@dataclass
class World:
    """The fakes, and what a test does with them."""

    executor: ThreadPoolExecutor
    records: MemoryRecords = field(default_factory=MemoryRecords)
    store: MemoryWarmStore = field(default_factory=MemoryWarmStore)
    endpoint: MemoryEndpoint = field(default_factory=MemoryEndpoint)
    counter: TokenCounter = field(default_factory=CeilingCounter)
    bus: MemoryBus = field(default_factory=MemoryBus)
    clock: ManualClock = field(default_factory=ManualClock)
    prefill: bool = True

    @property
    def ports(self) -> Ports:
        """The fakes as ports."""
        return Ports(
            records=self.records,
            store=self.store,
            endpoint=self.endpoint,
            counter=self.counter,
            bus=self.bus,
            clock=self.clock,
            executor=self.executor,
            limits=Limits(
                model="fake",
                bundle_ttl_s=600,
                session_ttl_s=3600,
                claim_ttl_s=120,
                prefill=PrefillPolicy(enabled=self.prefill, min_tokens=1, ttl_s=300),
            ),
        )

    def add_agent(self, tenant: TenantId = TENANT, *, instructions: str = "Help with travel.") -> None:
        """Register the agent with three tools."""
        tools = [
            {"name": name, "description": f"{name} a thing", "inputSchema": {"type": "object", "properties": {}}}
            for name in ("book", "cancel", "search")
        ]
        call = AgentCall(
            instructions=instructions,
            core_tools=("trips/search",),
            servers={"trips": {"tools": tools}},
            budgets=BudgetsCall(session_tools=1, history_tokens=500),
        )
        register_agent(Principal(tenant, None, service=True), AGENT, call=call, ports=self.ports)

    def add_turns(self, count: int, *, session: str = "before", of: Scope | None = None) -> None:
        """Append plain turns, user and assistant in turn."""
        whose = of or scope()
        seq = self.records.read_user_state(whose.tenant, whose.user).hist_seq
        roles = ("user", "assistant")
        turns = [
            NewTurn(f"{session}-{seq + n}", SessionId(session), roles[n % 2], f"turn {seq + n}")  # type: ignore[arg-type]
            for n in range(count)
        ]
        self.records.append_turns(whose.tenant, whose.user, turns=turns)

    def start(self, of: Scope, *, warm: bool) -> None:
        """Record a session."""
        now = self.clock.now()
        self.records.create_session(of, warm=warm, now=now, expires_at=now + 3600)

    def ask(self, of: Scope, text: str = "where to?", *, request_id: str = "r1") -> tuple[str, AnswerReport]:
        """Ask and return text and report."""
        request = AnswerRequest(
            scope=of,
            new=(NewMessage("user", text),),
            sampling=Sampling(max_tokens=8),
            request_id=request_id,
            accepted_ms=self.clock.monotonic_ms(),
        )
        said: list[str] = []
        report: AnswerReport | None = None
        for item in answer(request, self.ports):
            if isinstance(item, Delta):
                said.append(item.text)
            elif isinstance(item, AnswerReport):
                report = item
        assert report is not None
        return "".join(said), report

    def set_preference(self, key: str, value: str, *, of: Scope | None = None) -> None:
        """Set one preference."""
        whose = of or scope()
        self.records.set_preference(whose.tenant, whose.user, key=key, value=value, now=self.clock.now())

    def last_prompt(self) -> str:
        """Return the body of the engine's last request."""
        return self.endpoint.requests[-1].body.decode()


@contextmanager
def make_world() -> Iterator[World]:
    """Make a world with the agent registered."""
    with ThreadPoolExecutor(4) as executor:
        world = World(executor)
        world.add_agent()
        yield world

"""A hypothesis state machine on the real use cases: whatever happens in whatever order, no answer is stale.

Two tenants with users, sessions and keys of the same names write, warm and ask, while messages come late and twice,
warm-ups crash, caches lag, break and forget, engines restart and time passes. Every prompt is held against the ledger of
what was written, and every claim of "warm" against a second count of what the engine has read.
"""

from collections import Counter
from collections.abc import Callable
from typing import Literal

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from preheat.session import Scope, SessionId, TenantId
from tests.protocol.deployment import Backend
from tests.protocol.driver import AGENT, OWNERS, TENANTS, Driver, FlightKind
from tests.protocol.lagging_store import NOTHING
from tests.protocol.ledger import Owner

Write = Literal["set", "set_own", "delete", "delete_own", "replace", "set_elsewhere", "delete_elsewhere", "erase"]
Trouble = Literal["lose_valkey", "lose_dynamodb", "break_valkey", "break_dynamodb", "mend", "evict", "restart"]

# What is there more often is drawn more often: races need two who want the same.
owners = st.sampled_from((OWNERS[0], OWNERS[0], *OWNERS))
scopes = st.builds(
    lambda owner, session: Scope(owner[0], owner[1], AGENT, SessionId(session)),
    owners,
    st.sampled_from(("s1", "s1", "s2")),
)
preference_keys = st.sampled_from(("seat", "seat", "meal"))
writes: st.SearchStrategy[Write] = st.sampled_from(
    ("set", "set", "set", "set_own", "delete", "delete_own", "replace", "set_elsewhere", "delete_elsewhere", "erase")
)
troubles: st.SearchStrategy[Trouble] = st.sampled_from(
    ("lose_valkey", "lose_dynamodb", "break_valkey", "break_dynamodb", "mend", "mend", "evict", "restart")
)
kinds: st.SearchStrategy[FlightKind] = st.sampled_from(
    ("ask", "ask", "ask", "ask", "delete", "erase", "refresh", "set", "warm", "warm")
)
lags = st.sampled_from(((0,), (0,), (0,), (1,), (2,), (1, 0), (0, 1), (NOTHING,), (NOTHING, 0), (0, NOTHING)))
# Past a claim, a prefix, a bundle, a session.
waits_s = st.sampled_from((1, 1, 121, 301, 601, 3601))
methods_of_rows = st.sampled_from(
    ("read_versions", "list_preferences", "newest_turns", "turns_from", "read_frozen", "put_frozen", "load_agent")
)


class FreshnessMachine(RuleBasedStateMachine):
    """Its rules are what users, messages, machines and time may do. `tally` counts what came of it."""

    def __init__(self, make_backend: Callable[[], Backend], tally: Counter[str]) -> None:
        super().__init__()
        self._driver = Driver(make_backend(), tally)
        self._tally = tally

    @invariant()
    def pass_the_time(self) -> None:
        """After each step: it took a second."""
        self._tally["steps"] += 1
        self._driver.deployment.clock.seconds += 1

    def teardown(self) -> None:
        self._driver.end()

    @rule(owner=owners, key=preference_keys, what=writes, back=st.integers(0, 3))
    def write(self, *, owner: Owner, key: str, what: Write, back: int) -> None:
        driver = self._driver
        match what:
            case "set" | "set_own":
                driver.set_preference(owner, key, back=back, own=what == "set_own")
            case "delete" | "delete_own":
                driver.delete_preference(owner, key, own=what == "delete_own")
            case "replace":
                driver.replace_preferences(owner, {key} if back else ())
            case "set_elsewhere" | "delete_elsewhere":
                driver.change_elsewhere(owner, key, deletes=what == "delete_elsewhere")
            case "erase":
                driver.erase(owner)

    @rule(tenant=st.sampled_from(TENANTS), part=st.sampled_from(("text", "tool")))
    def replace_agent(self, *, tenant: TenantId, part: str) -> None:
        self._driver.replace_agent(tenant, part)

    @rule(scope=scopes)
    def import_turn(self, *, scope: Scope) -> None:
        self._driver.import_turn((scope.tenant, scope.user), scope.session)

    @rule(scope=scopes, warm=st.booleans())
    def start(self, *, scope: Scope, warm: bool) -> None:
        self._driver.start(scope, warm=warm)

    @rule(newest=st.integers(0, 11), lags=lags, late=st.booleans())
    def deliver(self, *, newest: int, lags: tuple[int, ...], late: bool) -> None:
        self._driver.deliver(newest, lags=lags, late=late)

    @rule(scope=scopes, lags=lags, late=st.booleans(), engine_down=st.sampled_from((False, False, False, True)))
    def warm(self, *, scope: Scope, lags: tuple[int, ...], late: bool, engine_down: bool) -> None:
        self._driver.warm(scope, lags=lags, late=late, engine_down=engine_down)

    @rule(scope=scopes, lags=lags, late=st.booleans())
    def ask(self, *, scope: Scope, lags: tuple[int, ...], late: bool) -> None:
        self._driver.ask(scope, lags=lags, late=late)

    @rule(scope=scopes, again=st.booleans())
    def ask_twice(self, *, scope: Scope, again: bool) -> None:
        self._driver.ask(scope)
        self._driver.ask(scope, again=again)

    @rule(scope=scopes, lags=lags, methods=st.sets(methods_of_rows, min_size=1, max_size=2))
    def ask_while_rows_cannot_be_read(self, *, scope: Scope, lags: tuple[int, ...], methods: set[str]) -> None:
        self._driver.deployment.unreadable |= methods
        self._driver.ask(scope, lags=lags)
        self._driver.deployment.unreadable.clear()

    @precondition(lambda self: self._driver.may_take_off)
    @rule(kind=kinds, scope=scopes, lags=lags, late=st.booleans(), steps=st.integers(0, 3))
    def take_off(self, *, kind: FlightKind, scope: Scope, lags: tuple[int, ...], late: bool, steps: int) -> None:
        self._driver.take_off(kind, scope, lags=lags, late=late)
        self._driver.advance(self._driver.aloft - 1, steps)

    @precondition(lambda self: self._driver.aloft)
    @rule(number=st.integers(0, 3), steps=st.integers(1, 4))
    def advance(self, *, number: int, steps: int) -> None:
        self._driver.advance(number, steps)

    @precondition(lambda self: self._driver.aloft)
    @rule(number=st.integers(0, 3), crashes=st.sampled_from((False, False, False, True)))
    def land(self, *, number: int, crashes: bool) -> None:
        if crashes:
            self._driver.crash(number)
        else:
            self._driver.advance(number, 99)

    @rule(
        kind=st.sampled_from(("ask", "refresh", "warm")),
        scope=scopes,
        late=st.booleans(),
        steps=st.integers(0, 8),
        what=writes,
    )
    def race(self, *, kind: FlightKind, scope: Scope, late: bool, steps: int, what: Write) -> None:
        """Let a write in at some step of something else for the same user; then ask."""
        self._driver.take_off(kind, scope, late=late)
        self._driver.advance(self._driver.aloft - 1, steps)
        self.write(owner=(scope.tenant, scope.user), key="seat", what=what, back=0)
        if self._driver.aloft:
            self._driver.advance(self._driver.aloft - 1, 99)
        self._driver.ask(scope)

    @rule(scope=scopes, intruder=owners)
    def look(self, *, scope: Scope, intruder: Owner) -> None:
        self._driver.look(scope)
        self._driver.intrude(intruder, scope)

    @rule(what=troubles)
    def trouble(self, *, what: Trouble) -> None:
        deployment = self._driver.deployment
        match what:
            case "lose_valkey" | "lose_dynamodb":
                deployment.backend.lose(what.removeprefix("lose_"))
            case "break_valkey" | "break_dynamodb":
                deployment.broken.add(what.removeprefix("break_"))
            case "mend":
                deployment.broken.clear()
            case "evict":
                deployment.engine.evict()
            case "restart":
                deployment.engine.restart()

    @rule(seconds=waits_s)
    def wait(self, *, seconds: int) -> None:
        self._driver.deployment.clock.seconds += seconds

"""Values and strategies that the core's tests share: agents, logs, preference sets, and bundles built of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hypothesis import settings
from hypothesis import strategies as st

from preheat import building, freezing
from preheat.agent import Agent, AgentState, Profile
from preheat.budget import Budgets, TextCount, count_tokens
from preheat.bundle import Bundle
from preheat.canonical import canonical_json
from preheat.history import ToolCall, Turn
from preheat.preferences import Preference, PreferenceValue
from preheat.prefill import NewMessage, Sampling, answer_request, prefill_request
from preheat.sections import Section, SectionName
from preheat.session import AgentId, SessionId
from preheat.stamp import Frozen, Stamp
from preheat.tools import Tool

NOW = 1_790_000_000.0
SESSION, EARLIER = SessionId("s1"), SessionId("before")
# For properties over whole bundles: enough examples to meet the odd cases, few enough for a unit test.
few = settings(max_examples=60, deadline=None)


def at(hist_seq: int = 0, *, pref_ver: int = 0, forget_ver: int = 0, agent_ver: int = 1, catalog_ver: int = 1) -> Stamp:
    """Return a stamp of one model and renderer."""
    return Stamp(agent_ver, catalog_ver, forget_ver, pref_ver, hist_seq, "m", "r")


def tool(name: str, description: str = "", **parameters: str) -> Tool:
    """Return a tool whose parameters are texts with the given descriptions."""
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = canonical_json({"type": "object", "properties": properties})
    return Tool(name, description, schema, tuple(sorted(parameters)))


CATALOG = (
    tool("bank/balance", "Show the balance of an account", account="Which account"),
    tool("bank/transfer", "Send money to somebody", account="From which account", amount="How much"),
    tool("flights/search", "Find flights between two airports", origin="From", destination="To"),
    tool("flights/seat", "Choose a seat on a booked flight", booking="Of which booking"),
    tool("hotels/search", "Find rooms in a city", city="Where", nights="How long"),
    tool("notes/write", "Keep a note for later", text="What to keep"),
)


def agent(
    catalog: Iterable[Tool] = CATALOG,
    *,
    instructions: str = "You help people travel.",
    domain_knowledge: str = "",
    core_tools: tuple[str, ...] = ("notes/write",),
    budgets: Budgets | None = None,
) -> Agent:
    """Return an agent at its first versions."""
    profile = Profile(instructions, domain_knowledge, core_tools, budgets or Budgets(session_tools=3))
    return Agent(AgentId("desk"), AgentState(1, 1, "p", "c"), profile, tuple(catalog))


def user(seq: int, content: str = "where to?", *, session: SessionId = EARLIER) -> Turn:
    """Return a user's turn."""
    return Turn(seq, f"t{seq}", session, "user", content)


def assistant(seq: int, content: str = "Lisbon.", *, session: SessionId = EARLIER) -> Turn:
    """Return an answer without tool calls."""
    return Turn(seq, f"t{seq}", session, "assistant", content)


def caller(seq: int, *call_ids: str, name: str = "flights/search", session: SessionId = EARLIER) -> Turn:
    """Return an assistant's turn that calls one tool once per id."""
    calls = tuple(ToolCall(call_id, name, '{"origin":"OPO"}') for call_id in call_ids)
    return Turn(seq, f"t{seq}", session, "assistant", "", calls)


def result(seq: int, call_id: str, content: str = '{"found":2}', *, session: SessionId = EARLIER) -> Turn:
    """Return the result of a tool call."""
    return Turn(seq, f"t{seq}", session, "tool", content, tool_call_id=call_id)


def numbered(turns: Sequence[Turn], *, after: int = 0) -> tuple[Turn, ...]:
    """Return the turns numbered without gaps, as a user's log holds them."""
    return tuple(replace(turn, seq=seq, turn_id=f"t{seq}") for seq, turn in enumerate(turns, start=after + 1))


def preference(key: str, value: PreferenceValue, *, version: int = 1) -> Preference:
    """Return a preference."""
    return Preference(key, value, version, NOW)


@dataclass(frozen=True, slots=True)
class Rows:
    """What a bundle is built from."""

    agent: Agent
    current: tuple[Preference, ...] = ()
    turns: tuple[Turn, ...] = ()

    @property
    def stamp(self) -> Stamp:
        """The counters that go with the rows."""
        return at(
            self.turns[-1].seq if self.turns else 0,
            pref_ver=max((one.version for one in self.current), default=0),
        )


def freeze(rows: Rows, *, count: TextCount = count_tokens) -> Frozen:
    """Choose what a session keeps, as its first builder does."""
    return freezing.freeze(rows.agent, rows.stamp, current=rows.current, turns=rows.turns, count=count)


def assemble(
    rows: Rows, frozen: Frozen, *, session: SessionId = SESSION, now: float = NOW, count: TextCount = count_tokens
) -> Bundle:
    """Build a bundle of the rows for a session that was frozen before."""
    turns = [turn for turn in rows.turns if turn.seq >= frozen.first_seq]
    return building.assemble(
        rows.agent, frozen, rows.stamp, session=session, current=rows.current, turns=turns, count=count, now=now
    )


def build(rows: Rows, *, session: SessionId = SESSION, now: float = NOW, count: TextCount = count_tokens) -> Bundle:
    """Freeze and assemble."""
    return assemble(rows, freeze(rows, count=count), session=session, now=now, count=count)


def section(bundle: Bundle, name: SectionName) -> Section:
    """Return a section that must be there."""
    found = bundle.section(name)
    assert found is not None
    return found


def section_names(bundle: Bundle) -> list[str]:
    """Return the names of the sections in their order."""
    return [one.name for one in bundle.sections]


def prefill_body(bundle: Bundle, *, salt: str = "salt") -> bytes:
    """Return the bytes that a warm-up sends."""
    return prefill_request(bundle, salt=salt, prefix_id=SESSION).body


def answer_body(bundle: Bundle | None, text: str = "and now?", *, salt: str = "salt") -> bytes:
    """Return the bytes that an answer sends."""
    sampling = Sampling(max_tokens=64)
    return answer_request(bundle, [NewMessage("user", text)], salt=salt, prefix_id=SESSION, sampling=sampling).body


texts = st.text(st.characters(codec="utf-8"), max_size=40)
values: st.SearchStrategy[PreferenceValue] = st.one_of(
    texts.filter(bool),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(texts, min_size=1, max_size=4).map(tuple),
)
_keys = st.from_regex(r"[a-z][a-z0-9_.]{0,8}", fullmatch=True)


@st.composite
def preference_sets(draw: st.DrawFn) -> tuple[Preference, ...]:
    """Draw a user's whole set, sorted by key."""
    drawn = draw(st.dictionaries(_keys, values, max_size=6))
    return tuple(preference(key, drawn[key], version=number) for number, key in enumerate(sorted(drawn), start=1))


@st.composite
def catalogs(draw: st.DrawFn) -> tuple[Tool, ...]:
    """Draw tools with unique names, in any order."""
    names = draw(st.lists(st.from_regex(r"[a-c]/[a-z]{1,6}", fullmatch=True), unique=True, min_size=1, max_size=10))
    return tuple(tool(name, draw(texts), **{name[-1]: draw(texts)}) for name in names)


@st.composite
def exchange_of_turns(draw: st.DrawFn, session: SessionId = EARLIER) -> list[Turn]:
    """Draw one user turn and what follows it: whole, or broken in the ways that logs are found broken."""
    said = draw(texts)
    ids = draw(st.sampled_from([("a",), ("a", "b"), ("a", "a"), ("c", "a")]))
    results = [result(0, one, draw(texts), session=session) for one in draw(st.permutations(ids))]
    kept = draw(st.integers(0, len(results)))
    middle = draw(
        st.sampled_from(
            [
                [],
                [caller(0, *ids, session=session), *results],
                [caller(0, *ids, session=session), *results[:kept]],
                [*results, caller(0, *ids, session=session)],
                [*results],
                [caller(0, *ids, session=session), caller(0, *ids, session=session), *results],
                [caller(0, *ids, session=session), assistant(0, "one moment", session=session), *results],
            ]
        )
    )
    answer = [assistant(0, draw(texts), session=session)] if draw(st.booleans()) else []
    return [user(0, said, session=session), *middle, *answer]


@st.composite
def logs(draw: st.DrawFn, *, most: int = 8) -> tuple[Turn, ...]:
    """Draw a user's log over two sessions; it may begin in the middle of an exchange."""
    sessions = st.sampled_from([EARLIER, SessionId("other")])
    exchanges = [draw(exchange_of_turns(draw(sessions))) for _ in range(draw(st.integers(0, most)))]
    turns = [turn for exchange in exchanges for turn in exchange]
    return numbered(turns[draw(st.integers(0, 3)) :])

"""How much of a tenant's data is registered, so that a warm prefix has a wanted number of tokens.

Found by building the very bundle that the functions will build, with the same pure code, and asking the engine's own
tokenizer for its size. Every part grows in proportion first; then single pieces fill what is left, large ones first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from infra.local.demo.tenant import TenantData
from preheat import budget, history
from preheat.agent import Agent, AgentState, Profile
from preheat.budget import Budgets, TextCount
from preheat.building import assemble
from preheat.bundle import Bundle
from preheat.catalog import read_catalog
from preheat.freezing import freeze
from preheat.gather import LOOK_BACK_TURNS
from preheat.history import Turn
from preheat.preferences import Preference
from preheat.prefill import RENDERER, Message, prefix_messages
from preheat.session import AgentId, SessionId
from preheat.stamp import Stamp

CountTokens = Callable[[Sequence[Message]], int]
"""Returns the tokens of a prompt made of these messages, as the engine counts them."""

TOLERANCE: Final = 0.10
_STEPS: Final = 128
_MOST_SESSION_TOOLS: Final = 16
_LARGEST_FIRST: Final = ("exchanges", "session_tools", "core_tools", "paragraphs", "preferences")
_SESSION: Final = SessionId("sizing")
_SMALLEST_MAX_TOKENS: Final = 256
# One preference is needed to change it; one core tool, to show that tools come first.
_FEWEST_PREFERENCES: Final = 2


class UnreachableSizeError(Exception):
    """The data cannot make a prefix of the wanted size; `most_tokens` is the nearest it comes to."""

    def __init__(self, wanted_tokens: int, nearest_tokens: int) -> None:
        super().__init__(f"a prefix of {wanted_tokens} tokens is out of reach, the nearest has {nearest_tokens}")
        self.wanted_tokens = wanted_tokens
        self.nearest_tokens = nearest_tokens


@dataclass(frozen=True, slots=True)
class Composition:
    """How much of each part is registered.

    Attributes:
        core_tools: How many of the core tools.
        paragraphs: How many paragraphs of the domain knowledge.
        preferences: How many preferences.
        session_tools: How many predicted tools.
        exchanges: How many of the newest exchanges.
    """

    core_tools: int
    paragraphs: int
    preferences: int
    session_tools: int
    exchanges: int


@dataclass(frozen=True, slots=True)
class SizedTenant:
    """A tenant's data cut to a size.

    Attributes:
        wanted_tokens: The size asked for.
        tokens: The size that the engine's tokenizer finds.
        composition: How much of each part is in it.
        data: What to register.
        budgets: What to register it with.
        bundle: What the functions will build from it.
    """

    wanted_tokens: int
    tokens: int
    composition: Composition
    data: TenantData
    budgets: Budgets
    bundle: Bundle


class Sizer:
    """Cuts one tenant's data to sizes."""

    def __init__(
        self,
        data: TenantData,
        *,
        count: CountTokens,
        text_count: TextCount = budget.count_tokens,
        exchanges: int | None = None,
    ) -> None:
        """Read the data once.

        Args:
            data: All there is.
            count: The engine's tokenizer.
            text_count: What the functions choose by.
            exchanges: At most this many exchanges; None: as many as a session may start with.
        """
        self._data = data
        self._count = count
        self._text_count = text_count
        self._catalog = read_catalog(dict(data.catalog))
        self._turns = _numbered(data)
        self._windows = _windows(self._turns, Budgets().tool_output_tokens, count=text_count)
        if exchanges is not None:
            self._windows = self._windows[: exchanges + 1]
        self._paragraphs = [part for part in data.domain_knowledge.split("\n\n") if part.strip()]
        self._all = Composition(
            core_tools=len(data.core_tools),
            paragraphs=len(self._paragraphs),
            preferences=len(data.preferences),
            session_tools=min(_MOST_SESSION_TOOLS, len(self._catalog) - len(data.core_tools)),
            exchanges=len(self._windows) - 1,
        )

    def fit(self, wanted_tokens: int) -> SizedTenant:
        """Return the data cut to `wanted_tokens`, give or take `TOLERANCE`.

        Raises:
            UnreachableSizeError: no cut comes that near.
        """
        low, high = 0, _STEPS
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._tokens(self._share(middle)) <= wanted_tokens else (low, middle - 1)
        best = self._topped_up(self._share(low), wanted_tokens)
        sized = self._cut(best, wanted_tokens)
        if abs(sized.tokens - wanted_tokens) > TOLERANCE * wanted_tokens:
            raise UnreachableSizeError(wanted_tokens, sized.tokens)
        return sized

    def _share(self, step: int) -> Composition:
        """Return the same share of every part; step 0 is the least that makes sense, `_STEPS` is all."""
        most = self._all
        return Composition(
            core_tools=-(-most.core_tools * step // _STEPS),
            paragraphs=most.paragraphs * step // _STEPS,
            preferences=max(min(_FEWEST_PREFERENCES, most.preferences), most.preferences * step // _STEPS),
            session_tools=most.session_tools * step // _STEPS,
            exchanges=most.exchanges * step // _STEPS,
        )

    def _topped_up(self, start: Composition, wanted_tokens: int) -> Composition:
        """Add pieces while they fit, large ones first; the last one, a preference, may go over when that is nearer."""
        best, tokens = start, self._tokens(start)
        for part in _LARGEST_FIRST:
            while getattr(best, part) < getattr(self._all, part):
                grown = replace(best, **{part: getattr(best, part) + 1})
                grown_tokens = self._tokens(grown)
                if grown_tokens > wanted_tokens:
                    break
                best, tokens = grown, grown_tokens
        if best.preferences < self._all.preferences:
            grown = replace(best, preferences=best.preferences + 1)
            if self._tokens(grown) - wanted_tokens < wanted_tokens - tokens:
                best = grown
        return best

    def _tokens(self, composition: Composition) -> int:
        return self._cut(composition, 0).tokens

    def _cut(self, composition: Composition, wanted_tokens: int) -> SizedTenant:
        window = self._windows[composition.exchanges]
        data = replace(
            self._data,
            domain_knowledge="\n\n".join(self._paragraphs[: composition.paragraphs]),
            core_tools=self._data.core_tools[: composition.core_tools],
            preferences=self._data.preferences[: composition.preferences],
        )
        # Room for the composition with a half to spare: nothing that was counted may be dropped.
        generous = Budgets(
            max_tokens=_SMALLEST_MAX_TOKENS * 1024,
            history_tokens=window.tokens,
            max_turns=window.turns,
            session_tools=composition.session_tools,
        )
        roomy = self._build(data, generous)
        budgets = replace(generous, max_tokens=max(_SMALLEST_MAX_TOKENS, roomy.tokens * 3 // 2))
        bundle = self._build(data, budgets)
        tokens = self._count(prefix_messages(bundle))
        return SizedTenant(wanted_tokens, tokens, composition, data, budgets, bundle)

    def _build(self, data: TenantData, budgets: Budgets) -> Bundle:
        stamp = Stamp(1, 1, 0, len(data.preferences), len(data.turns), "", RENDERER)
        profile = Profile(data.instructions, data.domain_knowledge, data.core_tools, budgets)
        agent = Agent(AgentId(data.agent), AgentState(1, 1, "", ""), profile, tuple(self._catalog))
        current = [Preference(key, value, 1, 0.0) for key, value in data.preferences]
        turns, count = self._turns, self._text_count
        frozen = freeze(agent, stamp, current=current, turns=turns, count=count)
        return assemble(agent, frozen, stamp, session=_SESSION, current=current, turns=turns, count=count, now=0.0)


@dataclass(frozen=True, slots=True)
class _Window:
    """What the newest exchanges take together: tokens, as the functions count them, and turns."""

    tokens: int
    turns: int


def _numbered(data: TenantData) -> tuple[Turn, ...]:
    """Return the turns that a session looks back on, numbered as the log will number them."""
    numbered = [
        Turn(number, one.turn_id, one.session, one.role, one.content, one.tool_calls, one.tool_call_id)
        for number, one in enumerate(data.turns, start=1)
    ]
    return tuple(numbered[-LOOK_BACK_TURNS:])


def _windows(turns: Sequence[Turn], tool_output_tokens: int, *, count: TextCount) -> list[_Window]:
    """Return the windows of 0, 1, 2, ... newest exchanges."""
    windows = [_Window(0, 0)]
    for group in reversed(history.exchanges(turns)):
        cut = [history.trimmed(turn, max_tokens=tool_output_tokens, count=count) for turn in group]
        taken = sum(history.turn_tokens(turn, count=count) for turn in cut)
        windows.append(_Window(windows[-1].tokens + taken, windows[-1].turns + len(group)))
    return windows

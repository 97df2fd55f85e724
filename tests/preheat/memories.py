"""Memories for the tests of recall: turns and facts of a small life, indexes of them, and strategies for odd ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from preheat.adapters.memory_embedder import MemoryEmbedder
from preheat.additions import Chunk, additions, extended
from preheat.budget import count_tokens
from preheat.facts import Fact
from preheat.history import Turn
from preheat.memory_index import Basis, MemoryIndex, empty_index
from preheat.session import SessionId
from preheat.vectors import Vector
from tests.preheat.material import assistant, caller, numbered, result, texts, user

EMBEDDER = MemoryEmbedder()
OWNER = "T#acme#U#ana"
DAY_S = 86_400.0


def basis(owner: str = OWNER) -> Basis:
    """Return what the tests' indexes stand on."""
    return Basis(owner, EMBEDDER.model, EMBEDDER.dims, "ceiling")


def empty(owner: str = OWNER) -> MemoryIndex:
    """Return an index that knows nothing."""
    return empty_index(basis(owner), count=count_tokens)


def grown(
    index: MemoryIndex,
    *,
    turns: Sequence[Turn] = (),
    facts: Sequence[Fact] = (),
    chunks: Sequence[Chunk] = (),
    said_at: dict[int, float] | None = None,
) -> MemoryIndex:
    """Return the index with what is new, embedded."""
    added = additions(index, turns=turns, facts=facts, chunks=chunks, said_at=said_at, count=count_tokens)
    return extended(index, added, EMBEDDER.embed(added.texts), count=count_tokens)


def vector(text: str) -> Vector:
    """Return a message's embedding."""
    row: Vector = EMBEDDER.embed([text])[0]
    return row


@dataclass(frozen=True, slots=True)
class Life:
    """A user's turns and facts."""

    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    said_at: dict[int, float]

    def index(self, owner: str = OWNER) -> MemoryIndex:
        """Return the index of all of it."""
        return grown(empty(owner), turns=self.turns, facts=self.facts, said_at=self.said_at)


FIRST, SECOND = SessionId("first"), SessionId("second")
ANA = Life(
    turns=numbered(
        [
            user(0, "I went hiking in Geres with my sister Rita", session=FIRST),
            assistant(0, "That sounds lovely, how was it?", session=FIRST),
            user(0, "Two days of rain, but the waterfalls were worth it", session=FIRST),
            assistant(0, "Glad to hear it!", session=FIRST),
            user(0, "I started a pottery course on Mondays", session=SECOND),
            caller(0, "a", name="calendar/add", session=SECOND),
            result(0, "a", '{"added":"pottery"}', session=SECOND),
            assistant(0, "Your calendar has it.", session=SECOND),
            user(0, "My bank is Caixa and I work on project Atlas", session=SECOND),
            assistant(0, "Noted.", session=SECOND),
        ]
    ),
    facts=(
        Fact("hiking", "Ana hiked in Geres with her sister Rita.", (1, 3)),
        Fact("pottery", "Ana takes a pottery course on Mondays.", (5,)),
        Fact("atlas", "Ana works on project Atlas.", (9,)),
    ),
    said_at={seq: 1_790_000_000.0 + DAY_S * (seq > 4) for seq in range(1, 11)},
)

_words = st.lists(st.sampled_from(["pottery", "hiking", "Rita", "rain", "Atlas", "東京", "क्या", "the"]), max_size=6)
_said = st.one_of(_words.map(" ".join), texts)


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """Draw a user's turns over three sessions and facts about them, some of which are retired."""
    sessions = st.sampled_from([FIRST, SECOND, SessionId("third")])
    roles = st.sampled_from([user, assistant])
    turns = numbered([draw(roles)(0, draw(_said), session=draw(sessions)) for _ in range(draw(st.integers(0, 14)))])
    sources = st.lists(st.integers(1, max(1, len(turns))), max_size=3, unique=True).map(
        lambda seqs: tuple(sorted(seqs))
    )
    facts = tuple(
        Fact(f"f{number}", draw(_said), draw(sources), retired=draw(st.booleans()))
        for number in range(draw(st.integers(0, 8)))
    )
    known = draw(st.booleans())
    return Life(turns, facts, {turn.seq: DAY_S * (turn.seq // 4) for turn in turns if known})


def retired(fact: Fact) -> Fact:
    """Return the fact as one that no longer holds."""
    return replace(fact, retired=True)

"""How a memory index grows: piece by piece or at once, with the same result.

Turns are known by their `seq` and never change; facts and chunks are known by their id, of which the last word counts.
What is new is found first, so that whoever calls can have its texts embedded and hand in the vectors.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from preheat import vectors
from preheat.budget import TextCount
from preheat.canonical import quoted
from preheat.errors import InvalidInputError
from preheat.facts import Fact, latest
from preheat.history import Turn, shortened
from preheat.memory_index import MemoryIndex, filled_index
from preheat.passages import Passage, Passages, passage
from preheat.vectors import Rows

# A longer turn keeps head and tail: one pasted text must not take the whole budget of a recall.
_MAX_TURN_TOKENS: Final = 240
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of an agent's document, short enough to be shown whole. `position` is its place in the document."""

    chunk_id: str
    title: str
    position: int
    text: str


@dataclass(frozen=True, slots=True)
class Additions:
    """What is new to an index. The passages are not embedded yet; `texts` are what is to be embedded, in this order."""

    facts: tuple[Passage, ...]
    turns: tuple[Passage, ...]
    documents: tuple[Passage, ...]
    retired: Mapping[str, tuple[int, ...]]

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of all new passages."""
        return tuple(one.text for one in (*self.facts, *self.turns, *self.documents))


def additions(
    index: MemoryIndex,
    *,
    count: TextCount,
    turns: Sequence[Turn] = (),
    facts: Sequence[Fact] = (),
    chunks: Sequence[Chunk] = (),
    said_at: Mapping[int, float] | None = None,
) -> Additions:
    """Return what an index lacks of these. Turns and texts that say nothing are left out.

    Args:
        index: What is known already.
        count: The counter that the index's basis names.
        turns: Of the owner, in any order.
        facts: The latest state of each, retired ones too.
        chunks: Of the owner's documents.
        said_at: When turns were said, epoch seconds by `seq`, where it is known.
    """
    times = said_at or {}
    known_turns = {one.position for one in index.turns.items}
    current = latest(facts).values()
    return Additions(
        facts=_changed(index.facts, (_fact_passage(fact, count=count) for fact in current if not fact.retired)),
        turns=tuple(
            passage(
                str(turn.seq),
                text,
                count=count,
                position=turn.seq,
                group=turn.session,
                label=turn.role,
                heading=_day(times[turn.seq]) if turn.seq in times else "",
                sources=(turn.seq,),
            )
            for turn in {turn.seq: turn for turn in turns if turn.seq not in known_turns}.values()
            if (text := _said(turn, count=count))
        ),
        documents=_changed(
            index.documents,
            (
                passage(
                    chunk.chunk_id,
                    chunk.text,
                    count=count,
                    position=chunk.position,
                    group=chunk.title,
                    heading=quoted(chunk.title),
                )
                for chunk in {chunk.chunk_id: chunk for chunk in chunks if chunk.text.strip()}.values()
            ),
        ),
        retired={fact.fact_id: fact.sources for fact in current if fact.retired},
    )


def extended(index: MemoryIndex, added: Additions, rows: Rows, *, count: TextCount) -> MemoryIndex:
    """Return the index with what is new.

    Args:
        index: The one that `added` was found for.
        added: What is new.
        rows: One embedding for each of `added.texts`, shape (n, dims), by the index's embedder.
        count: The counter that the index's basis names.

    Raises:
        InvalidInputError: the rows are not as many or as wide as asked, or the documents are too large together.
    """
    wanted = (len(added.texts), index.basis.dims)
    if rows.shape != wanted:
        raise InvalidInputError(f"have shape {rows.shape}, wanted {wanted}", field="embeddings")
    packed = iter(vectors.pack(rows))
    new_facts, new_turns, new_chunks = (
        [replace(one, packed=next(packed).tobytes()) for one in kind]
        for kind in (added.facts, added.turns, added.documents)
    )
    turns = _merged(index.turns, new_turns)
    said = {one.position: one for one in turns.values()}
    facts = _merged(index.facts, new_facts)
    retired = {key: seqs for key, seqs in index.retired.items() if key not in facts}
    return filled_index(
        index.basis,
        facts=[_under_its_day(one, said) for key, one in facts.items() if key not in added.retired],
        turns=turns.values(),
        documents=_merged(index.documents, new_chunks).values(),
        retired={**retired, **added.retired},
        count=count,
    )


def _changed(known: Passages, candidates: Iterable[Passage]) -> tuple[Passage, ...]:
    """Return the candidates that are not known just so; a fact's heading follows from its turn and does not count."""
    there = {one.passage_id: (one.text, one.sources, one.position, one.group) for one in known.items}
    return tuple(
        one for one in candidates if there.get(one.passage_id) != (one.text, one.sources, one.position, one.group)
    )


def _merged(known: Passages, new: Iterable[Passage]) -> dict[str, Passage]:
    return {one.passage_id: one for one in (*known.items, *new)}


def _fact_passage(fact: Fact, *, count: TextCount) -> Passage:
    return passage(fact.fact_id, fact.text, count=count, position=min(fact.sources, default=0), sources=fact.sources)


def _under_its_day(fact: Passage, said: Mapping[int, Passage]) -> Passage:
    """Return the fact under the heading of the turn that told it first, also when that turn came later."""
    first = said.get(fact.position)
    return replace(fact, heading=first.heading) if first and first.heading != fact.heading else fact


def _said(turn: Turn, *, count: TextCount) -> str:
    calls = (f"{call.name} {call.arguments}" for call in turn.tool_calls)
    said = "\n".join(part for part in (turn.content.strip(), *calls) if part)
    return shortened(said, max_tokens=_MAX_TURN_TOKENS, count=count)


def _day(said_at: float) -> str:
    day = datetime.fromtimestamp(said_at, UTC)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"

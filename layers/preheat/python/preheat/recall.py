"""Lever history, on arrival: which facts, turns and documents the message calls for, within a token budget.

Every passage is ranked by the sum of two z-scores, words (BM25) and meaning (embedding); a turn or a chunk together
with what stands next to it, a fact together with the turns that told it. A second look adds how close each is to the
best of the first. Half of the budget goes to facts, the rest to turns as they were said; no turn is told twice. Newer
is not better, unless the message only asks to go on. The weights are round numbers, fitted to no data.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from preheat.lexical import content_words, is_small_talk, z_scores
from preheat.memory_index import MemoryIndex
from preheat.passages import Passage, Passages, Scores
from preheat.recalled import Basket, Recalled
from preheat.vectors import Vector

# Weight of newness for a message like "go on", which names nothing to look for.
CONTINUE_RECENCY: Final = 2.0
_HALF_LIFE_PASSAGES: Final = 40
# How many of the best facts and turns the second look goes by.
_BEST: Final = 3
# Of a longer message, head and tail say what it is about.
_QUERY_CHARACTERS: Final = 4_000
_SMALL_TALK: Final = Recalled(why="small talk: nothing to look for")


@dataclass(frozen=True, slots=True)
class Tuning:
    """Weights of the ranking, and the share of the budget that facts may take before turns do."""

    words: float = 1.0
    meaning: float = 1.0
    near: float = 0.75
    told: float = 0.5
    second_look: float = 0.5
    facts_share: float = 0.5


TUNING: Final = Tuning()


def recall(
    index: MemoryIndex,
    query: str,
    *,
    query_vector: Vector | None,
    max_tokens: int,
    exclude_seqs: Collection[int] = frozenset(),
    exclude_facts: Collection[str] = frozenset(),
    recency: float = 0.0,
    tuning: Tuning = TUNING,
) -> Recalled:
    """Choose what a user's memory has for a message.

    Args:
        index: The user's.
        query: The message.
        query_vector: Its embedding by the index's embedder, shape (dims,); None when there is none: words decide.
        max_tokens: What the rendered text may take, its headings included.
        exclude_seqs: Turns that the model sees anyway.
        exclude_facts: Ids of facts that the model sees anyway.
        recency: Weight of newness, see `CONTINUE_RECENCY`.
        tuning: Weights of the ranking.
    """
    if is_small_talk(query[:_QUERY_CHARACTERS]) and not recency:
        return _SMALL_TALK
    fact_scores, turn_scores = _memory_scores(index, _asked(query), query_vector, tuning)
    fact_scores += recency * _newness(len(fact_scores))
    turn_scores += recency * _newness(len(turn_scores))
    hidden, seen = frozenset(exclude_facts), frozenset(exclude_seqs)
    facts = [one for one in index.facts.ranked(fact_scores) if one.passage_id not in hidden]
    basket = Basket()
    chosen_facts = basket.fill(
        index.facts, (one for one in facts if not _is_told(one, seen)), max_tokens=int(max_tokens * tuning.facts_share)
    )
    told = seen.union(index.outdated, *(one.sources for one in chosen_facts))
    chosen_turns = basket.fill(
        index.turns, (one for one in index.turns.ranked(turn_scores) if one.position not in told), max_tokens=max_tokens
    )
    told = told.union(one.position for one in chosen_turns)
    taken = {one.passage_id for one in chosen_facts}
    rest = (one for one in facts if one.passage_id not in taken and not _is_told(one, told))
    chosen_facts += basket.fill(index.facts, rest, max_tokens=max_tokens)
    why = f"{len(chosen_facts)} of {len(fact_scores)} facts and {len(chosen_turns)} of {len(turn_scores)} turns"
    return Recalled(chosen_facts, chosen_turns, tokens=basket.tokens, why=f"{why}, {_by(query_vector)}")


def recall_documents(
    index: MemoryIndex, query: str, *, query_vector: Vector | None, max_tokens: int, tuning: Tuning = TUNING
) -> Recalled:
    """Choose what an agent's documents have for a message, within a budget of their own; see `recall`."""
    if is_small_talk(query[:_QUERY_CHARACTERS]):
        return _SMALL_TALK
    shelf = index.documents
    scores = _matches(shelf, _asked(query), query_vector, tuning)
    scores += tuning.near * shelf.best_near(scores)
    if query_vector is not None:
        scores += tuning.second_look * shelf.by_likeness(_best(shelf, scores))
    basket = Basket()
    chosen = basket.fill(shelf, shelf.ranked(scores), max_tokens=max_tokens)
    why = f"{len(chosen)} of {len(scores)} chunks, {_by(query_vector)}"
    return Recalled(documents=chosen, tokens=basket.tokens, why=why)


def _asked(query: str) -> list[str]:
    if len(query) <= 2 * _QUERY_CHARACTERS:
        return content_words(query)
    return content_words(f"{query[:_QUERY_CHARACTERS]} {query[-_QUERY_CHARACTERS:]}")


def _memory_scores(
    index: MemoryIndex, asked: Sequence[str], query_vector: Vector | None, tuning: Tuning
) -> tuple[Scores, Scores]:
    """Return the scores of facts and of turns, higher is better."""
    turns = _matches(index.turns, asked, query_vector, tuning)
    facts = _matches(index.facts, asked, query_vector, tuning) + tuning.told * _told(index, turns)
    turns += tuning.near * index.turns.best_near(turns)
    if query_vector is not None:
        best = _best(index.turns, turns) + _best(index.facts, facts)
        turns += tuning.second_look * index.turns.by_likeness(best)
        facts += tuning.second_look * index.facts.by_likeness(best)
    return facts, turns


def _matches(shelf: Passages, asked: Sequence[str], query_vector: Vector | None, tuning: Tuning) -> Scores:
    scores = tuning.words * shelf.by_words(asked)
    return scores if query_vector is None else scores + tuning.meaning * shelf.by_meaning(query_vector)


def _told(index: MemoryIndex, turns: Scores) -> Scores:
    """Return for each fact the score of the best turn that told it, at least 0, shape (n,)."""
    by_seq = {one.position: score for one, score in zip(index.turns.items, turns.tolist(), strict=True)}
    best = [max([by_seq.get(seq, 0.0) for seq in one.sources], default=0.0) for one in index.facts.items]
    return np.maximum(np.array(best, dtype=np.float64), 0.0)


def _best(shelf: Passages, scores: Scores) -> Vector:
    """Return the mean direction of the best passages; zeros when there are none."""
    best = np.argsort(-scores, kind="stable")[:_BEST]
    direction: Vector = shelf.rows[best].sum(axis=0) / np.float32(max(1, len(best)))
    return direction


def _newness(count: int) -> Scores:
    age = np.arange(count - 1, -1, -1, dtype=np.float64)
    return z_scores(np.power(0.5, age / _HALF_LIFE_PASSAGES))


def _is_told(fact: Passage, seqs: frozenset[int]) -> bool:
    """Tell whether all turns that told the fact are among these."""
    return bool(fact.sources) and seqs.issuperset(fact.sources)


def _by(query_vector: Vector | None) -> str:
    return "by words alone" if query_vector is None else "by words and meaning"

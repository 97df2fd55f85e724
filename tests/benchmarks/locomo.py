"""LoCoMo: long conversations, and questions whose evidence is known turn by turn.

How much of the evidence stands in what the model would see, when a question is recalled for through the product's own
path: index, stored form, recall, rendered text. A fact counts through the turns that it names as its sources.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from preheat.adapters.ceiling_counter import CeilingCounter
from preheat.additions import additions, extended
from preheat.budget import count_tokens
from preheat.facts import Fact
from preheat.history import Turn
from preheat.memory_index import Basis, MemoryIndex, empty_index
from preheat.ports import Embedder
from preheat.recall import TUNING, Tuning, recall
from preheat.recalled import Recalled, render
from preheat.session import SessionId
from preheat.stored_index import dump_index, load_index

BUDGETS: Final = (1_000, 2_000, 4_000)
CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_RUNS: Final = 3
_DATE: Final = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and the `seq` of the turns that answer it."""

    text: str
    category: str
    evidence: frozenset[int]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One user's history, as the product would have it, and what is asked about it."""

    name: str
    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    said_at: dict[int, float]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a ranking brought into a budget, over all questions.

    Attributes:
        share: Mean over questions of the share of their evidence.
        of_all_evidence: Share of all evidence turns; questions with much evidence weigh more.
        by_category: `share` by kind of question.
        tokens: Mean tokens of the rendered text, by a careful count.
    """

    share: float
    of_all_evidence: float
    by_category: dict[str, float]
    tokens: float


def load_conversations(path: Path) -> tuple[Conversation, ...]:
    """Read the conversations of a file, one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        return tuple(read_conversation(json.loads(line)) for line in lines if line.strip())


def read_conversation(record: dict[str, Any]) -> Conversation:
    """Return a record as a user's history. The first speaker is the user; names stand in the text, as was said."""
    seq_of = {turn["id"]: seq for seq, turn in enumerate(record["turns"], start=1)}
    return Conversation(
        name=record["id"],
        turns=tuple(
            Turn(
                seq=seq_of[turn["id"]],
                turn_id=turn["id"],
                session=SessionId(f"session-{turn['session']}"),
                role="user" if turn["speaker"] == record["speakers"][0] else "assistant",
                content=f"{turn['speaker']}: {turn['text']}",
            )
            for turn in record["turns"]
        ),
        facts=tuple(
            Fact(
                f"fact-{number:04d}", one["fact"], tuple(sorted(seq_of[turn] for turn in one["src"] if turn in seq_of))
            )
            for number, one in enumerate(record["observations"])
        ),
        said_at={
            seq_of[turn["id"]]: datetime.strptime(turn["date"], _DATE).replace(tzinfo=UTC).timestamp()
            for turn in record["turns"]
        },
        questions=tuple(
            Question(one["q"], CATEGORIES[one["category"]], frozenset(seq_of[turn] for turn in one["evidence"]))
            for one in record["qa"]
            if one["evidence"]
        ),
    )


def build_index(conversation: Conversation, embedder: Embedder) -> MemoryIndex:
    """Return the conversation's index as a reader gets it: built, stored and loaded."""
    basis = Basis(conversation.name, embedder.model, embedder.dims, CeilingCounter.name)
    index = empty_index(basis, count=count_tokens)
    added = additions(
        index,
        turns=conversation.turns,
        facts=conversation.facts,
        said_at=conversation.said_at,
        count=count_tokens,
    )
    stored = dump_index(extended(index, added, embedder.embed(added.texts), count=count_tokens))
    return load_index(stored, basis=basis, count=count_tokens)


def joined(conversations: Sequence[Conversation], *, at_least_turns: int) -> Conversation:
    """Return the first conversations as one user's history of so many turns and more, to time recall on."""
    turns: list[Turn] = []
    facts: list[Fact] = []
    questions: list[Question] = []
    for one in conversations:
        if len(turns) >= at_least_turns:
            break
        after = len(turns)
        turns += [
            replace(turn, seq=turn.seq + after, session=SessionId(f"{one.name}-{turn.session}")) for turn in one.turns
        ]
        facts += [
            replace(fact, fact_id=f"{one.name}-{fact.fact_id}", sources=tuple(seq + after for seq in fact.sources))
            for fact in one.facts
        ]
        questions += one.questions
    return Conversation("joined", tuple(turns), tuple(facts), {}, tuple(questions))


def measure(
    histories: Iterable[tuple[Conversation, MemoryIndex]],
    embedder: Embedder,
    *,
    max_tokens: int,
    tuning: Tuning = TUNING,
    recency: float = 0.0,
) -> Measured:
    """Recall for every question and hold what came against its evidence."""
    shares: defaultdict[str, list[float]] = defaultdict(list)
    found, wanted = 0, 0
    tokens: list[int] = []
    for conversation, index in histories:
        for question in conversation.questions:
            (vector,) = embedder.embed([question.text])
            recalled = recall(
                index, question.text, query_vector=vector, max_tokens=max_tokens, tuning=tuning, recency=recency
            )
            seen = question.evidence & _shown(recalled)
            shares[question.category].append(len(seen) / len(question.evidence))
            found, wanted = found + len(seen), wanted + len(question.evidence)
            tokens.append(recalled.tokens)
    return Measured(
        share=float(np.mean([share for kind in shares.values() for share in kind])),
        of_all_evidence=found / wanted,
        by_category={kind: float(np.mean(shares[kind])) for kind in CATEGORIES.values() if kind in shares},
        tokens=float(np.mean(tokens)),
    )


def check_budget(histories: Iterable[tuple[Conversation, MemoryIndex]], embedder: Embedder, *, max_tokens: int) -> None:
    """Count what the model would read, question by question.

    Raises:
        AssertionError: a text takes more than it was allowed, or more than recall said.
    """
    for conversation, index in histories:
        for question in conversation.questions:
            (vector,) = embedder.embed([question.text])
            recalled = recall(index, question.text, query_vector=vector, max_tokens=max_tokens)
            if not count_tokens(render(recalled)) <= recalled.tokens <= max_tokens:
                raise AssertionError(f"recalled over the {max_tokens} tokens allowed")


def time_recall(conversation: Conversation, index: MemoryIndex, embedder: Embedder, *, max_tokens: int) -> list[float]:
    """Return what each question takes in milliseconds: embedding, recall and rendering, the best of a few runs.

    The best, because the rest is what else the machine does: the work itself is the same every time.
    """
    best_ms: list[float] = []
    for question in conversation.questions:
        times: list[float] = []
        for _ in range(_RUNS):
            started = time.perf_counter()
            (vector,) = embedder.embed([question.text])
            render(recall(index, question.text, query_vector=vector, max_tokens=max_tokens))
            times.append((time.perf_counter() - started) * 1000)
        best_ms.append(min(times))
    return best_ms


def _shown(recalled: Recalled) -> frozenset[int]:
    return frozenset(seq for one in (*recalled.facts, *recalled.turns) for seq in one.sources)


def full_tokens(index: MemoryIndex) -> int:
    """Return what all turns of a history take when they are shown the same way."""
    return count_tokens(render(Recalled(turns=index.turns.items)))


def facts_tokens(index: MemoryIndex) -> int:
    """Return what all facts of a history take: its compact form."""
    return count_tokens(render(Recalled(facts=index.facts.items)))

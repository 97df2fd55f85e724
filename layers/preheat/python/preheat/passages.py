"""Texts that can be recalled, ready to be ranked: their words, their vectors, and which stand next to which."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from preheat import vectors
from preheat.budget import TextCount
from preheat.canonical import quoted
from preheat.lexical import Postings, content_words, postings, z_scores
from preheat.vectors import Rows, Vector

Scores = NDArray[np.float64]

# A passage is ranked together with so many before and after it.
_NEAR: Final = 2
# What a passage takes beside its text, its names, its words and its vector, when it is stored; what a word takes.
_FIXED_BYTES: Final = 64
_WORD_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Passage:
    """One text that can be recalled: a turn, a fact, or a chunk of a document.

    Attributes:
        passage_id: Unique among its kind.
        position: Its place among its kind: a turn's `seq`, a fact's first source turn, a chunk's place in its document.
        group: Passages of one group stand next to each other: a session's turns, a document's chunks; empty for none.
        label: Who says it: a turn's role; empty for others.
        heading: The line it is shown under: a day, a document's title; empty for none.
        text: What is shown.
        sources: The `seq` of the turns that it stands for.
        words: What it is found by, beside its vector.
        tokens: Of its line and the line break.
        packed: Its vector, see `preheat.vectors`; empty until it is embedded.
    """

    passage_id: str
    position: int
    group: str
    label: str
    heading: str
    text: str
    sources: tuple[int, ...]
    words: tuple[str, ...]
    tokens: int
    packed: bytes = b""

    @property
    def line(self) -> str:
        """What the model reads."""
        return _line(self.label, self.text)

    @property
    def stored_bytes(self) -> int:
        """An upper bound for what it takes when it is stored, before compression."""
        names = len(self.passage_id) + len(self.group) + len(self.heading.encode())
        words = sum(len(word.encode()) + _WORD_BYTES for word in self.words)
        return len(self.packed) + names + len(self.text.encode()) + words + 8 * len(self.sources) + _FIXED_BYTES


def passage(
    passage_id: str,
    text: str,
    *,
    count: TextCount,
    position: int,
    group: str = "",
    label: str = "",
    heading: str = "",
    sources: tuple[int, ...] = (),
) -> Passage:
    """Return a passage that is not embedded yet."""
    return Passage(
        passage_id=passage_id,
        position=position,
        group=group,
        label=label,
        heading=heading,
        text=text,
        sources=sources,
        words=tuple(content_words(text)),
        tokens=line_tokens(_line(label, text), count=count),
    )


def _line(label: str, text: str) -> str:
    """Return a text as quoted data, said by whom."""
    return f"{label}:{quoted(text)}" if label else quoted(text)


def line_tokens(shown: str, *, count: TextCount) -> int:
    """Return the tokens of a line and its line break. Lines take no more together than one by one."""
    return count(shown) + 1


@dataclass(frozen=True, slots=True)
class Passages:
    """Passages of one kind, oldest first, and what they are ranked by.

    Attributes:
        items: Sorted by position and id.
        common: What all vectors have in common, shape (dims,).
        rows: Vectors without the common part, unit length, shape (n, dims).
        found_by: Their words.
        near: Indices of those that stand next to each one, shape (4, n); n where there is none.
        title: The line above all of them, whenever one is shown.
        heading_tokens: Of the title and every heading, with its line break.
        smallest: Tokens of the shortest passage.
    """

    items: tuple[Passage, ...]
    common: Vector
    rows: Rows
    found_by: Postings
    near: NDArray[np.intp]
    title: str
    heading_tokens: Mapping[str, int]
    smallest: int

    def by_words(self, query: Sequence[str]) -> Scores:
        """Return how well the words of each passage match, z-scored, shape (n,)."""
        return z_scores(self.found_by.bm25(query))

    def by_meaning(self, query: Vector) -> Scores:
        """Return how close each passage's vector is to a vector of the embedder, z-scored, shape (n,)."""
        return self.by_likeness(query - self.common)

    def by_likeness(self, direction: Vector) -> Scores:
        """Return how close each passage is to a direction among the rows, z-scored, shape (n,)."""
        return z_scores((self.rows @ vectors.unit(direction)).astype(np.float64))

    def best_near(self, scores: Scores) -> Scores:
        """Return for each passage the best score of those next to it, at least 0, shape (n,)."""
        best: Scores = np.append(scores, 0.0)[self.near].max(axis=0, initial=0.0)
        return best

    def ranked(self, scores: Scores) -> Iterator[Passage]:
        """Yield the passages, best first; of equal ones the newest first."""
        order = len(scores) - 1 - np.argsort(-scores[::-1], kind="stable")
        return (self.items[index] for index in order.tolist())


def arrange(items: Iterable[Passage], *, dims: int, title: str, count: TextCount) -> Passages:
    """Make embedded passages ready to be ranked. The order they come in does not matter.

    Args:
        items: Of one kind, embedded, and counted by `count`.
        dims: Numbers in a vector.
        title: The line above all of them.
        count: Counts tokens.
    """
    ordered = tuple(sorted(items, key=lambda one: (one.position, one.passage_id)))
    packed = np.frombuffer(b"".join(one.packed for one in ordered), dtype=np.uint8)
    rows = vectors.unpack(packed.reshape(len(ordered), vectors.packed_bytes(dims)), dims=dims)
    common = vectors.common_part(rows)
    headings = sorted({title, *(one.heading for one in ordered)})
    return Passages(
        items=ordered,
        common=common,
        rows=vectors.unit(rows - common),
        found_by=postings([one.words for one in ordered]),
        near=_near(ordered),
        title=title,
        heading_tokens={heading: line_tokens(heading, count=count) if heading else 0 for heading in headings},
        smallest=min((one.tokens for one in ordered), default=0),
    )


def _near(items: Sequence[Passage]) -> NDArray[np.intp]:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(items):
        groups[one.group].append(index)
    groups.pop("", None)
    near = np.full((2 * _NEAR, len(items)), len(items), dtype=np.intp)
    for members in groups.values():
        for step in range(1, _NEAR + 1):
            near[2 * step - 2, members[step:]] = members[:-step]
            near[2 * step - 1, members[:-step]] = members[step:]
    return near

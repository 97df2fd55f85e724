"""The stored form of a memory index: columns as JSON, word numbers and packed vectors, in as few entries as hold it.

One entry of the warm store holds `MAX_BODY_BYTES`, so an index is cut into at most `MAX_PARTS`. Every part names the
whole that it belongs to: parts of two writers are never put together. What was written on another basis or by another
schema is refused, which makes it a miss.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from pydantic import TypeAdapter, ValidationError

from preheat import vectors
from preheat.budget import TextCount
from preheat.envelope import MAX_BODY_BYTES
from preheat.errors import EntryCorruptError, EntryTooLargeError
from preheat.memory_index import Basis, MemoryIndex, filled_index
from preheat.passages import Passage, Passages

MAX_PARTS: Final = 4
_SCHEMA: Final = 1
# Magic, digest of the whole, number of this part, number of parts.
_PART: Final = struct.Struct("<4s16sBB")
_MAGIC: Final = b"PHM1"
_SIZES: Final = struct.Struct("<II")
# Balances the builder's time against what every reader has to fetch.
_LEVEL: Final = 6


@dataclass(frozen=True, slots=True)
class _Columns:
    """Passages of one kind by column; `word_counts` says how many of the word numbers are each passage's."""

    ids: list[str]
    positions: list[int]
    groups: list[str]
    labels: list[str]
    headings: list[str]
    texts: list[str]
    sources: list[tuple[int, ...]]
    tokens: list[int]
    word_counts: list[int]


@dataclass(frozen=True, slots=True)
class _Document:
    schema: int
    basis: Basis
    words: list[str]
    retired: dict[str, tuple[int, ...]]
    facts: _Columns
    turns: _Columns
    documents: _Columns


_DOCUMENT: Final = TypeAdapter(_Document)


def dump_index(index: MemoryIndex) -> tuple[bytes, ...]:
    """Return the index's stored bytes, each part short enough for an entry; at most `MAX_PARTS`.

    Raises:
        EntryTooLargeError: text that grows when it is written as JSON and does not compress has used up the reserve.
    """
    kinds = (index.facts, index.turns, index.documents)
    vocabulary = sorted({word for kind in kinds for one in kind.items for word in one.words})
    number_of = {word: number for number, word in enumerate(vocabulary)}
    numbers = np.array([number_of[word] for kind in kinds for one in kind.items for word in one.words], dtype="<u4")
    facts, turns, documents = (_columns(kind) for kind in kinds)
    document = _Document(
        schema=_SCHEMA,
        basis=index.basis,
        words=vocabulary,
        retired=dict(index.retired),
        facts=facts,
        turns=turns,
        documents=documents,
    )
    described = zlib.compress(_DOCUMENT.dump_json(document), _LEVEL)
    numbered = zlib.compress(numbers.tobytes(), _LEVEL)
    packed = b"".join(one.packed for kind in kinds for one in kind.items)
    return tuple(_parts(_SIZES.pack(len(described), len(numbered)) + described + numbered + packed))


def load_index(parts: Iterable[bytes], *, basis: Basis, count: TextCount) -> MemoryIndex:
    """Return the index that the parts hold.

    Args:
        parts: In any order.
        basis: What the index must stand on.
        count: The counter that the basis names.

    Raises:
        EntryCorruptError: the parts are not all of one index, or it stands on another basis or schema.
    """
    body = _whole(parts)
    try:
        described, numbered = _SIZES.unpack_from(body)
        vectors_at = _SIZES.size + described + numbered
        document = _DOCUMENT.validate_json(zlib.decompress(body[_SIZES.size : _SIZES.size + described]))
        numbers = np.frombuffer(zlib.decompress(body[_SIZES.size + described : vectors_at]), dtype="<u4")
    except (struct.error, zlib.error, ValidationError) as error:
        raise EntryCorruptError("the stored bytes are not a memory index of this schema") from error
    if (document.schema, document.basis) != (_SCHEMA, basis):
        raise EntryCorruptError("the memory index stands on another basis or schema")
    words = iter([document.words[number] for number in numbers.tolist()])
    packed = _slices(body[vectors_at:], size=vectors.packed_bytes(basis.dims))
    facts, turns, documents = (
        _passages(columns, words, packed) for columns in (document.facts, document.turns, document.documents)
    )
    return filled_index(basis, facts=facts, turns=turns, documents=documents, retired=document.retired, count=count)


def _columns(kind: Passages) -> _Columns:
    items = kind.items
    return _Columns(
        ids=[one.passage_id for one in items],
        positions=[one.position for one in items],
        groups=[one.group for one in items],
        labels=[one.label for one in items],
        headings=[one.heading for one in items],
        texts=[one.text for one in items],
        sources=[one.sources for one in items],
        tokens=[one.tokens for one in items],
        word_counts=[len(one.words) for one in items],
    )


def _passages(columns: _Columns, words: Iterator[str], packed: Iterator[bytes]) -> list[Passage]:
    return [
        Passage(
            passage_id=passage_id,
            position=columns.positions[row],
            group=columns.groups[row],
            label=columns.labels[row],
            heading=columns.headings[row],
            text=columns.texts[row],
            sources=columns.sources[row],
            words=tuple(islice(words, columns.word_counts[row])),
            tokens=columns.tokens[row],
            packed=next(packed),
        )
        for row, passage_id in enumerate(columns.ids)
    ]


def _slices(body: bytes, *, size: int) -> Iterator[bytes]:
    return (body[start : start + size] for start in range(0, len(body), size))


def _parts(body: bytes) -> Iterator[bytes]:
    room = MAX_BODY_BYTES - _PART.size
    count = -(-len(body) // room)
    if count > MAX_PARTS:
        raise EntryTooLargeError(f"the memory index has {len(body)} bytes, {MAX_PARTS} entries hold less")
    digest = _digest(body)
    for number in range(count):
        yield _PART.pack(_MAGIC, digest, number, count) + body[number * room : (number + 1) * room]


def _whole(parts: Iterable[bytes]) -> bytes:
    """Return what was cut into these parts; of another count, order or whole they are refused."""
    found = sorted((_PART.unpack_from(part), part[_PART.size :]) for part in parts if len(part) >= _PART.size)
    body = b"".join(piece for _, piece in found)
    expected = [(_MAGIC, _digest(body), number, len(found)) for number in range(len(found))]
    if not found or [head for head, _ in found] != expected:
        raise EntryCorruptError("the parts are not those of one memory index")
    return body


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:16]

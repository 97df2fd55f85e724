"""Lexical ranking: words of any script and the BM25 score of documents for a query."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

_WORDS: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# The usual BM25 constants: how fast repeats saturate, and how much long documents are held back.
_K1: Final = 1.2
_B: Final = 0.75
_STEM_OVER: Final = 3


def words(text: str) -> list[str]:
    """Return the text's words in lower case, `camelCase` and `snake_case` names taken apart, plurals cut."""
    found = (word.lower() for word in _WORDS.findall(_CAMEL.sub(" ", text)))
    return [word[:-1] if len(word) > _STEM_OVER and word.endswith("s") else word for word in found]


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return one score per document, shape (len(documents),), higher is closer, 0 where no word is shared."""
    scores = np.zeros(len(documents))
    if not documents:
        return scores
    counts = [Counter(document) for document in documents]
    lengths = np.array([len(document) for document in documents], dtype=float)
    mean_length = float(lengths.mean()) or 1.0
    for word in sorted(set(query)):
        frequency = np.array([count[word] for count in counts], dtype=float)
        containing = int((frequency > 0).sum())
        if not containing:
            continue
        rarity = math.log(1 + (len(documents) - containing + 0.5) / (containing + 0.5))
        held_back = _K1 * (1 - _B + _B * lengths / mean_length)
        scores += rarity * frequency * (_K1 + 1) / (frequency + held_back)
    return scores


def z_scores(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values centred and scaled to unit spread; all zero when there is no spread."""
    spread = float(values.std()) if values.size else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)

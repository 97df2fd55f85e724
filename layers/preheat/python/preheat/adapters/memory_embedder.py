"""An embedder without weights: the shipped fake. Texts that share words are close, others are not."""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from preheat.errors import EmbedderUnavailableError, InvalidInputError
from preheat.lexical import content_words

_DIMS: Final = 64
_MIDDLE: Final = 127.5


class MemoryEmbedder:
    """`preheat.ports.Embedder` by hashing: every word has a direction of its own, a text has their sum.

    Attributes:
        model: As given; another name stands for other weights and gives other vectors.
        dims: Numbers in a vector.
        calls: How many texts each call embedded.
        unavailable: Set it and every call raises `EmbedderUnavailableError`.
    """

    def __init__(self, *, model: str = "hashed-words/1", dims: int = _DIMS) -> None:
        self.model = model
        self.dims = dims
        self.calls: list[int] = []
        self.unavailable = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 for each text, shape (len(texts), dims).

        Raises:
            InvalidInputError: a text is blank; `field` says which.
            EmbedderUnavailableError: it was made unavailable.
        """
        if self.unavailable:
            raise EmbedderUnavailableError("the embedder was made unavailable")
        self.calls.append(len(texts))
        rows = np.empty((len(texts), self.dims), dtype=np.float32)
        for index, text in enumerate(texts):
            if not text.strip():
                raise InvalidInputError("is blank, so it has no direction", field=f"texts[{index}]")
            total = sum((self._direction(word) for word in content_words(text) or [text]), np.zeros(self.dims))
            rows[index] = total / np.linalg.norm(total)
        return rows

    def _direction(self, word: str) -> NDArray[np.float64]:
        drawn = hashlib.shake_256(f"{self.model}:{word}".encode(errors="replace")).digest(self.dims)
        return np.frombuffer(drawn, dtype=np.uint8).astype(np.float64) - _MIDDLE

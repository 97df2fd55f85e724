"""Embeddings from a static table: each token has a vector, a text has the mean of its tokens'. No network, no model.

Table and tokenizer are those inside the wheel `wordllama` (MIT), taken as files: its own code is not imported. Trained
on Llama's vocabulary, they know every script. A text takes 0.05 ms; the table is mapped, not read, so that a function
pays for the rows it meets.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from preheat.errors import EmbedderUnavailableError, InvalidInputError

_WHEEL: Final = "wordllama"
_TABLE: Final = "wordllama/weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR: Final = "embedding.weight"
_VOCABULARY: Final = 32_000
_DIMS: Final = 256
# The mean of more text than this says nothing any more, but takes its time.
_MAX_CHARACTERS: Final = 8_000


class StaticEmbedder:
    """`preheat.ports.Embedder` over the table; loads it when it is first used. May be shared by threads.

    Attributes:
        model: Names table and pooling.
        dims: Numbers in a vector.
    """

    model: str = "wordllama-l2-supercat-256/mean-1"
    dims: int = _DIMS

    def __init__(self, *, wheel: str = _WHEEL) -> None:
        self._wheel = wheel

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 for each text, shape (len(texts), dims). Only its first 8,000 characters count.

        Raises:
            InvalidInputError: a text is blank; `field` says which.
            EmbedderUnavailableError: the wheel is not installed, or its files are not what they should be.
        """
        rows = np.empty((len(texts), _DIMS), dtype=np.float32)
        for index, text in enumerate(texts):
            rows[index] = self._embed_one(text, field=f"texts[{index}]")
        return rows

    def _embed_one(self, text: str, *, field: str) -> NDArray[np.float32]:
        if not text.strip():
            raise InvalidInputError("is blank, so it has no direction", field=field)
        # A lone surrogate becomes a question mark: the tokenizer takes what UTF-8 can say.
        readable = text.strip()[:_MAX_CHARACTERS].encode(errors="replace").decode()
        tokens = self._tokenizer.encode(readable, add_special_tokens=False).ids
        total: NDArray[np.float32] = self._table[tokens].astype(np.float32).sum(axis=0)
        return total / np.linalg.norm(total)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        path = self._file(_TOKENIZER)
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing narrower
            raise EmbedderUnavailableError("the embedder's tokenizer cannot be read") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _table(self) -> NDArray[np.float16]:
        """Map the one tensor of the safetensors file: 8 bytes of header length, the header as JSON, the numbers."""
        path = self._file(_TABLE)
        try:
            with path.open("rb") as file:
                header_bytes = int.from_bytes(file.read(8), "little")
                tensor = json.loads(file.read(header_bytes))[_TENSOR]
            if (tensor["dtype"], tensor["shape"]) != ("F16", [_VOCABULARY, _DIMS]):
                raise EmbedderUnavailableError("the embedder's table has another shape")
            offset = 8 + header_bytes + int(tensor["data_offsets"][0])
            return np.memmap(path, dtype=np.float16, mode="r", offset=offset, shape=(_VOCABULARY, _DIMS))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbedderUnavailableError("the embedder's table cannot be read") from error

    def _file(self, name: str) -> Path:
        try:
            return Path(str(metadata.distribution(self._wheel).locate_file(name)))
        except metadata.PackageNotFoundError as error:
            raise EmbedderUnavailableError("the embedder's weights are not installed") from error

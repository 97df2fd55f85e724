"""The static table: read as a file, when it is first needed, and refused when it is not what it should be."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from preheat.adapters.static_embedder import StaticEmbedder
from preheat.errors import EmbedderUnavailableError


def _installed(folder: Path, *, table: bytes | None = None, tokenizer: str | None = None) -> str:
    """Make a distribution as an installer leaves it, with these files; return its name."""
    name = f"weights-{folder.name}".replace("_", "-").lower()
    info = folder / f"{name.replace('-', '_')}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n", encoding="utf-8")
    for path, content in (
        ("weights/l2_supercat_256.safetensors", table),
        ("tokenizers/l2_supercat_tokenizer_config.json", tokenizer),
    ):
        if content is not None:
            file = folder / "wordllama" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def _tokenizer() -> str:
    """Return a tokenizer that knows two words."""
    model = {"type": "WordLevel", "vocab": {"<unk>": 0, "red": 1, "blue": 2}, "unk_token": "<unk>"}
    parts: dict[str, object] = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    return json.dumps(
        {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model, **parts}
    )


def _header(*, dtype: str = "F16", dims: int = 256) -> bytes:
    """Return the head of a safetensors file with one tensor."""
    header = {"embedding.weight": {"dtype": dtype, "shape": [32_000, dims], "data_offsets": [0, 32_000 * dims * 2]}}
    written = json.dumps(header).encode()
    return len(written).to_bytes(8, "little") + written


def _table() -> bytes:
    """Return a table in which the first word points one way and the second another."""
    numbers = np.zeros((32_000, 256), dtype=np.float16)
    numbers[1, 0], numbers[2, 1] = 3, 3
    return _header() + numbers.tobytes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python looks for distributions in."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_embed__is_the_mean_of_the_rows_of_its_tokens(folder: Path) -> None:
    wheel = _installed(folder, table=_table(), tokenizer=_tokenizer())

    (row,) = StaticEmbedder(wheel=wheel).embed([" red blue "])

    assert row[:3].tolist() == pytest.approx([2**-0.5, 2**-0.5, 0])


def test_embed__does_not_import_the_wheel() -> None:
    StaticEmbedder().embed(["something"])

    assert "wordllama" not in sys.modules


def test_embed__without_the_wheel_says_so() -> None:
    with pytest.raises(EmbedderUnavailableError, match="not installed"):
        StaticEmbedder(wheel="no-such-weights").embed(["something"])


@pytest.mark.parametrize(
    ("table", "tokenizer", "message"),
    [
        (None, _tokenizer(), "table cannot be read"),
        (b"", _tokenizer(), "table cannot be read"),
        (_header()[:60], _tokenizer(), "table cannot be read"),
        (_header(), _tokenizer(), "table cannot be read"),
        (_header(dims=128), _tokenizer(), "another shape"),
        (_header(dtype="F32"), _tokenizer(), "another shape"),
        (b"", None, "tokenizer cannot be read"),
        (b"", "{}", "tokenizer cannot be read"),
    ],
)
def test_embed__files_that_are_not_what_they_should_be_are_refused(
    folder: Path, table: bytes | None, tokenizer: str | None, message: str
) -> None:
    embedder = StaticEmbedder(wheel=_installed(folder, table=table, tokenizer=tokenizer))

    with pytest.raises(EmbedderUnavailableError, match=message):
        embedder.embed(["red"])

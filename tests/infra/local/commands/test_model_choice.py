"""The options that choose the model."""

from pathlib import Path

import pytest

from infra.local.commands.failures import BadUseError
from infra.local.commands.model_choice import check_choice, name_model
from infra.local.parts import DEFAULT_MODEL_ID


def test_check_choice__takes_a_file_a_url_or_neither(tmp_path: Path) -> None:
    (tmp_path / "own.gguf").touch()
    check_choice(tmp_path / "own.gguf", None)
    check_choice(None, "http://127.0.0.1:8000")
    check_choice(None, None)


@pytest.mark.parametrize(
    ("model", "endpoint", "fault"),
    [
        (Path("a.gguf"), "http://x", "exclude each other"),
        (Path("/none/a.gguf"), None, "there is no file"),
        (None, "127.0.0.1:8000", "is no http or https URL"),
        (None, "ftp://x", "is no http or https URL"),
    ],
)
def test_check_choice__names_the_fault(model: Path | None, endpoint: str | None, fault: str) -> None:
    with pytest.raises(BadUseError, match=fault):
        check_choice(model, endpoint)


@pytest.mark.parametrize(
    ("model", "endpoint", "name"),
    [
        (Path("x/own-model.gguf"), None, "own-model"),
        (None, "http://gpu:8000/v1", "gpu:8000"),
        (None, None, DEFAULT_MODEL_ID),
    ],
)
def test_name_model__follows_the_choice(model: Path | None, endpoint: str | None, name: str) -> None:
    assert name_model(model, endpoint) == name

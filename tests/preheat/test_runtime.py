"""What the wiring makes of the settings."""

from pathlib import Path

import pytest

from preheat import names
from preheat.errors import SettingsError
from preheat.runtime import Runtime
from preheat.settings import from_env
from tests.preheat.tiny_tokenizer import write_tiny_tokenizer

LEAST = {
    names.ENV_RECORDS_TABLE: "preheat-records",
    names.ENV_WARM_TABLE: "preheat-warm",
    names.ENV_ENDPOINT_NAME: "preheat-model",
    names.ENV_MODEL_ID: "tiny",
}


def runtime(**environment: str) -> Runtime:
    return Runtime(from_env(LEAST | environment))


def test_counter__without_a_tokenizer_is_the_careful_ceiling() -> None:
    assert runtime().counter.name == "ceiling-1"


def test_counter__with_the_models_tokenizer_is_exact(tmp_path: Path) -> None:
    counter = runtime(**{names.ENV_TOKENIZER_FILE: str(write_tiny_tokenizer(tmp_path))}).counter

    assert counter.name.startswith("tokenizer-")
    assert counter.count("hello") == 1


def test_prepare__finds_out_that_a_tokenizer_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=names.ENV_TOKENIZER_FILE):
        runtime(**{names.ENV_TOKENIZER_FILE: str(tmp_path / "none.json")}).prepare()

"""The commands and environments of the parts."""

import sys
from pathlib import Path
from typing import Any

import pytest

from infra.local.addresses import Addresses
from infra.local.environment import ENV_TOKEN_SECRET
from infra.local.parts import CACHE, GATEWAY, MODEL, Blueprint, Part, StackOptions
from preheat import names
from preheat.adapters.tokenizer_counter import TokenizerCounter


def build(options: StackOptions) -> dict[str, Part]:
    blueprint = Blueprint(
        options=options,
        addresses=Addresses(aws=1, cache=2, model=3, gateway=4),
        token_secret="hush",
        parent={"PATH": "/bin"},
    )
    return {part.name: part for part in blueprint.parts()}


def test_parts__one_worker_for_each_function_that_reads_a_queue(tmp_path: Path) -> None:
    assert list(build(StackOptions(state_dir=tmp_path))) == [
        "aws",
        "model",
        "gateway",
        "warm_session",
        "refresh_preferences",
        "cache",
    ]


def test_parts__workers_are_capped_by_the_functions_concurrency(tmp_path: Path) -> None:
    parts = build(StackOptions(state_dir=tmp_path, workers=9))
    assert [name for name in parts if name.startswith("warm_session")] == ["warm_session", "warm_session-2"]


def test_parts__options_of_the_model_are_passed_on(tmp_path: Path) -> None:
    own_file = build(StackOptions(state_dir=tmp_path, model=Path("own.gguf")))[MODEL]
    assert own_file.command[:5] == (sys.executable, "-m", "infra.local.model", "--port", "3")
    assert own_file.command[-2:] == ("--model", "own.gguf")
    elsewhere = build(StackOptions(state_dir=tmp_path, endpoint="http://host:8000"))[MODEL]
    assert elsewhere.command[-2:] == ("--endpoint", "http://host:8000")
    own_server = build(StackOptions(state_dir=tmp_path, model_command=("serve", "--at={port}")))[MODEL]
    assert own_server.command == ("serve", "--at=3")


def test_parts__the_shipped_models_tokenizer_is_there_before_a_handler_runs(tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    parts = Blueprint(
        StackOptions(state_dir=state_dir), Addresses(aws=1, cache=2, model=3, gateway=4), token_secret="hush", parent={}
    ).parts()

    gateway = next(part for part in parts if part.name == GATEWAY)

    counter = TokenizerCounter(Path(gateway.environment[names.ENV_TOKENIZER_FILE]))
    assert counter.count("Where is my booking?") == 5


@pytest.mark.parametrize(
    "options",
    [
        {"model": Path("own.gguf")},
        {"endpoint": "http://host:8000"},
        {"model_command": ("serve", "{port}")},
    ],
    ids=["model", "endpoint", "command"],
)
def test_parts__another_model_has_only_the_tokenizer_that_is_given(tmp_path: Path, options: dict[str, Any]) -> None:
    without = build(StackOptions(state_dir=tmp_path, **options))
    given = build(StackOptions(state_dir=tmp_path, tokenizer=tmp_path / "own.json", **options))

    for name in (GATEWAY, names.WARM_SESSION, names.REFRESH_PREFERENCES):
        assert without[name].environment[names.ENV_TOKENIZER_FILE] == ""
        assert given[name].environment[names.ENV_TOKENIZER_FILE] == str(tmp_path / "own.json")
    assert list(tmp_path.iterdir()) == []


def test_parts__the_token_secret_is_known_to_the_gateway_alone_and_on_no_command_line(tmp_path: Path) -> None:
    parts = build(StackOptions(state_dir=tmp_path))
    assert [name for name, part in parts.items() if ENV_TOKEN_SECRET in part.environment] == [GATEWAY]
    assert not any("hush" in word for part in parts.values() for word in part.command)


def test_parts__the_cache_listens_here_alone_and_keeps_nothing(tmp_path: Path) -> None:
    command = " ".join(build(StackOptions(state_dir=tmp_path))[CACHE].command)
    assert "--bind 127.0.0.1" in command
    assert "--save  " in command
    assert "--appendonly no" in command


def test_parts__a_worker_has_the_environment_of_its_function(tmp_path: Path) -> None:
    environment = build(StackOptions(state_dir=tmp_path))[names.WARM_SESSION].environment
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == names.WARM_SESSION
    assert environment[names.ENV_DEAD_LETTER_URL].endswith(names.WARM_DEAD_LETTERS)

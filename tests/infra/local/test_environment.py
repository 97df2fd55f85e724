"""The environment that the handlers find."""

import os
from pathlib import Path

import pytest

from infra.local.addresses import Addresses
from infra.local.environment import (
    HandlerSettings,
    function_environment,
    handler_environment,
    process_environment,
)
from infra.topology import FUNCTIONS
from preheat import names
from preheat.settings import from_env

ADDRESSES = Addresses(aws=1, cache=2, model=3, gateway=4)
SETTINGS = HandlerSettings(model_id="tiny", overrides={})


def test_handler_environment__points_at_the_stack() -> None:
    env = handler_environment(ADDRESSES, SETTINGS)
    assert env["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert env["AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME"] == "http://127.0.0.1:3"
    assert env[names.ENV_CACHE_URL] == "valkey://127.0.0.1:2"
    assert env[names.ENV_MODEL_ID] == "tiny"
    assert env[names.ENV_RECORDS_TABLE] == names.RECORDS_TABLE
    assert env[names.ENV_BUS] == names.BUS


def test_handler_environment__names_the_tokenizer_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = HandlerSettings(model_id="tiny", overrides={}, tokenizer=Path("tokenizer.json"))

    assert handler_environment(ADDRESSES, settings)[names.ENV_TOKENIZER_FILE] == str(tmp_path / "tokenizer.json")


def test_handler_environment__without_a_tokenizer_takes_no_other(tmp_path: Path) -> None:
    parent = {names.ENV_TOKENIZER_FILE: str(tmp_path / "of-another-model.json")}

    env = process_environment(parent, handler_environment(ADDRESSES, SETTINGS))

    assert env[names.ENV_TOKENIZER_FILE] == ""
    assert from_env(env).tokenizer_file is None


def test_handler_environment__overrides_win() -> None:
    settings = HandlerSettings(model_id="tiny", overrides={names.ENV_PREFILL: "off", names.ENV_MODEL_ID: "other"})
    env = handler_environment(ADDRESSES, settings)
    assert env[names.ENV_PREFILL] == "off"
    assert env[names.ENV_MODEL_ID] == "other"


def test_function_environment__each_reader_has_its_own_dead_letters() -> None:
    urls = {
        function.folder: function_environment(function, ADDRESSES).get(names.ENV_DEAD_LETTER_URL)
        for function in FUNCTIONS
    }
    assert urls == {
        names.WARM_SESSION: "http://127.0.0.1:1/123456789012/preheat-warm-dead-letters",
        names.REFRESH_PREFERENCES: "http://127.0.0.1:1/123456789012/preheat-preference-dead-letters",
        names.API: None,
        names.CHAT: None,
    }


def test_process_environment__nothing_of_the_developers_account_is_passed_on() -> None:
    parent = {"PATH": "/bin", "AWS_PROFILE": "production", "AWS_SESSION_TOKEN": "real", "PREHEAT_PREFILL": "off"}
    env = process_environment(parent, handler_environment(ADDRESSES, SETTINGS))
    assert "AWS_PROFILE" not in env
    assert "AWS_SESSION_TOKEN" not in env
    assert env["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert env["PATH"] == "/bin"
    assert env["PREHEAT_PREFILL"] == "off"


def test_process_environment__calls_to_this_machine_go_through_no_proxy() -> None:
    env = process_environment({"NO_PROXY": "example.org", "HTTPS_PROXY": "http://proxy:1"})
    assert env["NO_PROXY"] == "127.0.0.1,example.org"
    assert env["no_proxy"] == "127.0.0.1"

"""Settings come from the environment once; what cannot be used is named, its value is not."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from preheat import names
from preheat.errors import SettingsError
from preheat.settings import from_env

LEAST = {
    names.ENV_RECORDS_TABLE: "preheat-records",
    names.ENV_WARM_TABLE: "preheat-warm",
    names.ENV_ENDPOINT_NAME: "preheat-model",
    names.ENV_MODEL_ID: "smollm2-135m",
}


def test_from_env__the_least_gives_a_deployment_without_a_cache() -> None:
    settings = from_env(LEAST)

    assert (settings.records_table, settings.endpoint_name) == ("preheat-records", "preheat-model")
    assert (settings.cache_url, settings.cache_cluster, settings.cache_iam_user) == (None, False, None)
    assert (settings.dead_letter_url, settings.cache_name, settings.inference_component) == (None, None, None)
    assert (settings.bus, settings.prefill, settings.tokenizer_file) == (names.BUS, True, None)
    assert 0 < settings.prefix_ttl_s <= settings.bundle_ttl_s <= settings.session_ttl_s


def test_from_env__reads_every_variable() -> None:
    settings = from_env(
        LEAST
        | {
            names.ENV_DEAD_LETTER_URL: "https://sqs.example/1/dead",
            names.ENV_CACHE_URL: "valkeys://cache.example:6379",
            names.ENV_CACHE_CLUSTER: "true",
            names.ENV_CACHE_IAM_USER: "preheat",
            names.ENV_CACHE_NAME: "preheat-cache",
            names.ENV_INFERENCE_COMPONENT: "smollm2",
            names.ENV_BUS: "other-bus",
            names.ENV_BUNDLE_TTL_S: "120",
            names.ENV_SESSION_TTL_S: "7200.5",
            names.ENV_PREFIX_TTL_S: "60",
            names.ENV_PREFILL: "false",
            names.ENV_MIN_PREFIX_TOKENS: "1024",
            names.ENV_TOKENIZER_FILE: "/opt/tokenizer.json",
        }
    )

    assert settings.dead_letter_url == "https://sqs.example/1/dead"
    assert (settings.cache_url, settings.cache_cluster) == ("valkeys://cache.example:6379", True)
    assert (settings.cache_iam_user, settings.cache_name) == ("preheat", "preheat-cache")
    assert (settings.bus, settings.inference_component) == ("other-bus", "smollm2")
    assert (settings.bundle_ttl_s, settings.session_ttl_s, settings.prefix_ttl_s) == (120.0, 7200.5, 60.0)
    assert (settings.prefill, settings.min_prefix_tokens) == (False, 1024)
    assert settings.tokenizer_file == Path("/opt/tokenizer.json")


@pytest.mark.parametrize("name", sorted(LEAST))
def test_from_env__missing_variable_is_named(name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        from_env({key: value for key, value in LEAST.items() if key != name})


@pytest.mark.parametrize("name", sorted(LEAST))
def test_from_env__empty_variable_counts_as_missing(name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        from_env(LEAST | {name: ""})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (names.ENV_CACHE_URL, "redis://secret@cache.example"),
        (names.ENV_CACHE_CLUSTER, "secret"),
        (names.ENV_BUNDLE_TTL_S, "0"),
        (names.ENV_SESSION_TTL_S, "-5"),
        (names.ENV_PREFIX_TTL_S, "secret"),
        (names.ENV_MIN_PREFIX_TOKENS, "-1"),
        (names.ENV_RECORDS_TABLE, "x"),
    ],
)
def test_from_env__unusable_variable_is_named_without_its_value(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name) as caught:
        from_env(LEAST | {name: value})

    assert "secret" not in str(caught.value)


def test_from_env__other_programs_variables_are_not_read() -> None:
    assert from_env(LEAST | {"BUS": "other", "PATH": "/bin", "records_table": "other"}) == from_env(LEAST)


def test_settings__cannot_be_changed() -> None:
    settings = from_env(LEAST)

    with pytest.raises(ValidationError):
        settings.bus = "other"  # type: ignore[misc]  # what is tested

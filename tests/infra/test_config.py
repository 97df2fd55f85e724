"""The settings of a deployment."""

from pathlib import Path

import pytest

from infra.config import ConfigError, parse

IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/vllm:1.2"


def test_parse__nothing_given_is_the_smallest_deployment() -> None:
    config = parse({})
    assert (config.stage, config.cache, config.model) == ("dev", "none", "external")
    assert (config.endpoint, config.component, config.image) == ("preheat-dev", None, None)
    assert config.tokenizer is None


def test_parse__context_of_the_cdk_itself_is_passed_over() -> None:
    assert parse({"@aws-cdk/x:y": True, "aws:cdk:z": [], "acknowledged-issue-numbers": [1]}) == parse({})


def test_parse__own_model_is_called_as_an_inference_component() -> None:
    config = parse({"model": "sagemaker", "stage": "prod", "max_instances": 4, "image": IMAGE})
    assert (config.endpoint, config.component) == ("preheat-prod", "preheat-prod-model")
    assert (config.max_instances, config.image) == (4, IMAGE)


def test_parse__existing_endpoint_may_have_a_component() -> None:
    config = parse({"endpoint": "Team-Llama", "component": "llama-1", "model_id": "meta/llama"})
    assert (config.endpoint, config.component, config.model_id) == ("Team-Llama", "llama-1", "meta/llama")


def test_parse__tokenizer_is_a_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.touch()

    assert parse({"tokenizer": str(path)}).tokenizer == path


def test_physical__stages_do_not_share_a_name() -> None:
    assert parse({"stage": "prod"}).physical("preheat-warm") == "preheat-warm-prod"


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ({"stage": "test"}, "stage must be dev or prod, not 'test'"),
        ({"cache": "redis"}, "cache must be none or valkey, not 'redis'"),
        ({"model": "bedrock"}, "model must be external or sagemaker, not 'bedrock'"),
        ({"cahce": "valkey"}, "unknown setting 'cahce'"),
        ({"endpoint": "a_b"}, "endpoint does not have the form"),
        ({"endpoint": "a" * 57}, "endpoint does not have the form"),
        ({"model_id": "a b"}, "model_id does not have the form"),
        ({"model": "sagemaker", "instance_type": "g6.xlarge"}, "instance_type does not have the form"),
        ({"model": "sagemaker", "image": "docker.io/vllm:1"}, "image does not have the form"),
        ({"model": "sagemaker", "max_instances": "0"}, "max_instances must be a whole number from 1 to 64"),
        ({"model": "sagemaker", "max_instances": "65"}, "max_instances must be a whole number from 1 to 64"),
        ({"model": "sagemaker", "max_instances": "two"}, "max_instances must be a whole number from 1 to 64"),
        (
            {"tokenizer": "none/tokenizer.json"},
            "tokenizer must be a .json file that is there, not 'none/tokenizer.json'",
        ),
        ({"tokenizer": "."}, "tokenizer must be a .json file"),
        ({"max_instances": 2}, "max_instances has no effect with model=external"),
        ({"model": "sagemaker", "component": "c"}, "component has no effect with model=sagemaker"),
    ],
)
def test_parse__wrong_setting_is_refused_in_one_line(context: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(context)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)

"""What one deployment chooses: its stage, its cache, its model.

The settings are context keys: `cdk -c cache=valkey`, the same in `cdk.json` and `python -m infra.app cache=valkey` are
one thing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

Stage = Literal["dev", "prod"]
Cache = Literal["none", "valkey"]
Model = Literal["external", "sagemaker"]

STAGES: tuple[Stage, ...] = ("dev", "prod")
CACHES: tuple[Cache, ...] = ("none", "valkey")
MODELS: tuple[Model, ...] = ("external", "sagemaker")
DEFAULT_MODEL_ID = "Qwen/Qwen2.5-7B-Instruct"
DEFAULT_INSTANCE_TYPE = "ml.g6.xlarge"
MOST_INSTANCES = 64

_OWN_KEY = re.compile(r"[a-z][a-z0-9_]*")
# SageMaker allows 63 characters; seven are kept for the inference component's suffix.
_NAME = re.compile(r"(?=.{1,56}$)[a-zA-Z0-9](-*[a-zA-Z0-9])*")
_MODEL_ID = re.compile(r"[\w./:-]{1,200}")
_FILE_NAME = re.compile(r"[\w.-]+\.json", re.ASCII)
_INSTANCE_TYPE = re.compile(r"ml\.[a-z0-9-]+\.[a-z0-9]+")
_IMAGE = re.compile(r"\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[a-z0-9._/-]+[:@][\w.:-]+")
_SAGEMAKER_ONLY = ("instance_type", "max_instances", "image")
_EXTERNAL_ONLY = ("component",)
_KEYS = ("stage", "cache", "model", "endpoint", "model_id", "tokenizer", *_SAGEMAKER_ONLY, *_EXTERNAL_ONLY)

_Choice = TypeVar("_Choice", bound=str)


class ConfigError(ValueError):
    """A setting is unknown, not allowed, or has no effect. The message is one line for whoever typed it."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one deployment.

    Attributes:
        stage: `prod` keeps durable data when a stack is deleted; `dev` leaves nothing behind.
        cache: `valkey` adds ElastiCache Serverless and the VPC that it needs; `none` has neither.
        model: `sagemaker` deploys a GPU endpoint; `external` calls one that exists.
        endpoint: Name of the SageMaker endpoint, ours or the existing one.
        component: Name of the inference component to call on it; None when the endpoint hosts none.
        model_id: The model served there: part of every stamp, and what the GPU endpoint loads.
        tokenizer: The model's `tokenizer.json`, from where the command runs; the functions count tokens by
            it. None: they count by a careful ceiling.
        instance_type: Instance of the GPU endpoint.
        max_instances: Most instances of the GPU endpoint, 1 to 64.
        image: Container image of the GPU endpoint in ECR; None is AWS's own vLLM image in the region.
    """

    stage: Stage
    cache: Cache
    model: Model
    endpoint: str
    component: str | None
    model_id: str
    tokenizer: Path | None
    instance_type: str
    max_instances: int
    image: str | None

    def physical(self, name: str) -> str:
        """Return the name that a resource has in the account, where two stages may live side by side."""
        return f"{name}-{self.stage}"


def parse(context: Mapping[str, object]) -> Config:
    """Read the settings out of the CDK's context.

    Keys that the CDK or its command line own hold `@`, `:` or `-` and are passed over; ours never do.

    Args:
        context: Context keys and values. A value is a string as it was typed, or what `cdk.json` holds.

    Raises:
        ConfigError: a key is unknown, a value is not allowed, or a setting would have no effect.
    """
    given = {key: str(value) for key, value in context.items() if _OWN_KEY.fullmatch(key)}
    for key in given:
        if key not in _KEYS:
            raise ConfigError(f"unknown setting {key!r}; there are {', '.join(_KEYS)}")
    stage = _choose(given, "stage", STAGES)
    model = _choose(given, "model", MODELS)
    for key in _EXTERNAL_ONLY if model == "sagemaker" else _SAGEMAKER_ONLY:
        if key in given:
            raise ConfigError(f"{key} has no effect with model={model}")
    endpoint = _match(given, "endpoint", _NAME) or f"preheat-{stage}"
    return Config(
        stage=stage,
        cache=_choose(given, "cache", CACHES),
        model=model,
        endpoint=endpoint,
        component=f"{endpoint}-model" if model == "sagemaker" else _match(given, "component", _NAME),
        model_id=_match(given, "model_id", _MODEL_ID) or DEFAULT_MODEL_ID,
        tokenizer=_file(given, "tokenizer"),
        instance_type=_match(given, "instance_type", _INSTANCE_TYPE) or DEFAULT_INSTANCE_TYPE,
        max_instances=_count(given, "max_instances", MOST_INSTANCES),
        image=_match(given, "image", _IMAGE),
    )


def _choose(given: Mapping[str, str], key: str, allowed: tuple[_Choice, ...]) -> _Choice:
    """Return the allowed word that was given; the first one when none was."""
    value = given.get(key, allowed[0])
    for choice in allowed:
        if choice == value:
            return choice
    raise ConfigError(f"{key} must be {' or '.join(allowed)}, not {value!r}")


def _match(given: Mapping[str, str], key: str, pattern: re.Pattern[str]) -> str | None:
    """Return what was given when it has the setting's form; None when nothing was."""
    value = given.get(key)
    if value is not None and not pattern.fullmatch(value):
        raise ConfigError(f"{key} does not have the form {pattern.pattern}: {value!r}")
    return value


def _file(given: Mapping[str, str], key: str) -> Path | None:
    """Return the JSON file that was given; None when none was."""
    if key not in given:
        return None
    path = Path(given[key])
    if not _FILE_NAME.fullmatch(path.name) or not path.is_file():
        raise ConfigError(f"{key} must be a .json file that is there, not {given[key]!r}")
    return path


def _count(given: Mapping[str, str], key: str, most: int) -> int:
    """Return the whole number that was given, 1 to `most`; 1 when none was."""
    value = given.get(key, "1")
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= most:
        raise ConfigError(f"{key} must be a whole number from 1 to {most}, not {value!r}")
    return int(value)

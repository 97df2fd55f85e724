"""The deployment's settings: one frozen model, read once from the environment that CDK or the local stack sets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from preheat import names
from preheat.errors import SettingsError

_HOUR_S: Final = 3600.0


class Settings(BaseModel):
    """Everything that differs between deployments. Lifetimes in seconds.

    Attributes:
        records_table: DynamoDB table of the source of truth.
        warm_table: DynamoDB table of what can be built again.
        bus: EventBridge bus name.
        dead_letter_url: Where this function rejects records to; None for functions that read no queue.
        cache_url: `valkey://` or `valkeys://` (TLS); None deploys without a cache.
        cache_cluster: Whether the cache speaks the cluster protocol (ElastiCache Serverless always does).
        cache_iam_user: User for IAM authentication; None connects without.
        cache_name: The cache's name (not its address), which an IAM token is made for.
        inference_component: The component that an endpoint of several must be told; None for an endpoint of one model.
        endpoint_name: SageMaker endpoint.
        model_id: Names the model; part of every key and stamp.
        tokenizer_file: The model's tokenizer.json, by which tokens are counted; None counts by a careful ceiling.
        bundle_ttl_s: How long a bundle stays ready.
        session_ttl_s: How long a session may rest.
        prefix_ttl_s: How long the engine is expected to keep a prefix.
        prefill: Whether prefixes are prefilled at all.
        min_prefix_tokens: The engine's cacheable minimum.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, extra="ignore")

    records_table: Annotated[str, Field(alias=names.ENV_RECORDS_TABLE, min_length=3)]
    warm_table: Annotated[str, Field(alias=names.ENV_WARM_TABLE, min_length=3)]
    bus: Annotated[str, Field(alias=names.ENV_BUS, min_length=1)] = names.BUS
    dead_letter_url: Annotated[str | None, Field(alias=names.ENV_DEAD_LETTER_URL)] = None
    cache_url: Annotated[str | None, Field(alias=names.ENV_CACHE_URL, pattern=r"^valkeys?://")] = None
    cache_cluster: Annotated[bool, Field(alias=names.ENV_CACHE_CLUSTER)] = False
    cache_iam_user: Annotated[str | None, Field(alias=names.ENV_CACHE_IAM_USER)] = None
    cache_name: Annotated[str | None, Field(alias=names.ENV_CACHE_NAME)] = None
    inference_component: Annotated[str | None, Field(alias=names.ENV_INFERENCE_COMPONENT)] = None
    endpoint_name: Annotated[str, Field(alias=names.ENV_ENDPOINT_NAME, min_length=1)]
    model_id: Annotated[str, Field(alias=names.ENV_MODEL_ID, min_length=1)]
    tokenizer_file: Annotated[Path | None, Field(alias=names.ENV_TOKENIZER_FILE)] = None
    bundle_ttl_s: Annotated[float, Field(alias=names.ENV_BUNDLE_TTL_S, gt=0)] = _HOUR_S
    session_ttl_s: Annotated[float, Field(alias=names.ENV_SESSION_TTL_S, gt=0)] = 24 * _HOUR_S
    prefix_ttl_s: Annotated[float, Field(alias=names.ENV_PREFIX_TTL_S, gt=0)] = 600.0
    prefill: Annotated[bool, Field(alias=names.ENV_PREFILL)] = True
    min_prefix_tokens: Annotated[int, Field(alias=names.ENV_MIN_PREFIX_TOKENS, ge=0)] = 64


def from_env(environment: Mapping[str, str]) -> Settings:
    """Read the settings; empty variables count as absent.

    Raises:
        SettingsError: a variable is missing or cannot be used; the message names it.
    """
    given = {name: value for name, value in environment.items() if value and name.startswith("PREHEAT_")}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(f"environment variable {where}: {first['msg']}") from error

"""The environment that the handlers find, as CDK would set it, with the local stack's addresses in it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.local.addresses import ACCESS_KEY, REGION, Addresses
from infra.local.ports import HOST
from infra.topology import QUEUES, Function
from preheat import names

ENDPOINT_NAME = "preheat"

# Not part of the handlers' environment: what the gateway verifies tokens with.
ENV_TOKEN_SECRET = "PREHEAT_LOCAL_TOKEN_SECRET"  # noqa: S105 - the variable's name, not a secret

# A developer's own account must be out of reach of everything that the stack starts.
_FOREIGN_PREFIX = "AWS_"


@dataclass(frozen=True, slots=True)
class HandlerSettings:
    """What a caller of the stack chooses for the handlers.

    Attributes:
        model_id: The model's name in every stamp.
        overrides: Variables that win over those of the stack, such as `PREHEAT_PREFILL`.
        tokenizer: The model's `tokenizer.json`; None: tokens are counted by the careful ceiling.
    """

    model_id: str
    overrides: Mapping[str, str]
    tokenizer: Path | None = None


def handler_environment(addresses: Addresses, settings: HandlerSettings) -> dict[str, str]:
    """Return the variables that every handler gets, whichever function it is."""
    return {
        "AWS_ENDPOINT_URL": addresses.aws_url,
        "AWS_ENDPOINT_URL_SAGEMAKER_RUNTIME": addresses.model_url,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        names.ENV_RECORDS_TABLE: names.RECORDS_TABLE,
        names.ENV_WARM_TABLE: names.WARM_TABLE,
        names.ENV_BUS: names.BUS,
        names.ENV_CACHE_URL: addresses.cache_url,
        names.ENV_ENDPOINT_NAME: ENDPOINT_NAME,
        names.ENV_MODEL_ID: settings.model_id,
        # Empty counts as absent; said all the same, so that the parent's does not come through.
        names.ENV_TOKENIZER_FILE: str(settings.tokenizer.absolute()) if settings.tokenizer else "",
        "POWERTOOLS_SERVICE_NAME": "preheat",
        "POWERTOOLS_METRICS_NAMESPACE": names.METRIC_NAMESPACE,
        "POWERTOOLS_LOG_LEVEL": "INFO",
        "POWERTOOLS_TRACE_DISABLED": "true",
        **settings.overrides,
    }


def function_environment(function: Function, addresses: Addresses) -> dict[str, str]:
    """Return what only this function gets: its name and size, and where its rejected records go."""
    variables = {
        "AWS_LAMBDA_FUNCTION_NAME": function.folder,
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
    }
    for queue in QUEUES:
        if queue.name == function.queue:
            variables[names.ENV_DEAD_LETTER_URL] = addresses.queue_url(queue.dead_letters)
    return variables


def process_environment(parent: Mapping[str, str], *layers: Mapping[str, str]) -> dict[str, str]:
    """Return a process's whole environment: the parent's without its AWS settings, then each layer over the last.

    Calls to 127.0.0.1 are kept from a proxy that the parent may name.
    """
    merged = {name: value for name, value in parent.items() if not name.startswith(_FOREIGN_PREFIX)}
    for layer in layers:
        merged.update(layer)
    for name in ("NO_PROXY", "no_proxy"):
        merged[name] = ",".join(filter(None, (HOST, merged.get(name))))
    merged["PYTHONUNBUFFERED"] = "1"
    return merged

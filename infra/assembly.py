"""The CDK app: which stacks a deployment has, and the checks that every synthesis runs."""

from collections.abc import Mapping
from pathlib import Path

from aws_cdk import App, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from infra.config import parse
from infra.stacks.app import AppStack
from infra.stacks.model import ModelStack
from infra.stacks.network import NetworkStack
from infra.stacks.storage import StorageStack


def synthesise(*, defaults: Mapping[str, object], given: Mapping[str, str], folder: Path | None) -> Path:
    """Write the templates and return their folder.

    Args:
        defaults: Context of `cdk.json`; the command line of the CDK goes before it.
        given: Settings typed after `python -m infra.app`; they go before everything else.
        folder: Where to write; None is where the CDK's command line wants it.

    Raises:
        ConfigError: a setting is wrong.
        RuntimeError: a check of cdk-nag or of the CDK itself failed; the report is on stderr and beside the templates.
    """
    app = App(context=dict(defaults), post_cli_context=dict(given), outdir=None if folder is None else str(folder))
    config = parse(app.node.get_all_context())
    prefix = f"Preheat-{config.stage}"
    network = NetworkStack(app, f"{prefix}-Network", config=config) if config.cache == "valkey" else None
    storage = StorageStack(app, f"{prefix}-Storage", config=config)
    if config.model == "sagemaker":
        ModelStack(app, f"{prefix}-Model", config=config)
    AppStack(app, f"{prefix}-App", config=config, storage=storage, network=network)
    Tags.of(app).add("application", "preheat")
    Tags.of(app).add("stage", config.stage)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return Path(app.synth().directory)

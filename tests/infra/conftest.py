"""Two syntheses for all tests: everything off in `dev`, everything on in `prod`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.infra.assembly import Assembly, run_app


def _synthesise(out: Path, *settings: str, context: Mapping[str, str]) -> Assembly:
    ended = run_app(*settings, context=context, out=out)
    assert ended.returncode == 0, ended.stderr
    return Assembly.read(out)


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The deployment without settings."""
    return _synthesise(tmp_path_factory.mktemp("plain"), context={})


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The deployment with cache, model and tokenizer, asked for half in one way and half in the other."""
    weights = tmp_path_factory.mktemp("weights")
    for name in ("tokenizer.json", "model.safetensors"):
        (weights / name).write_text(name, encoding="utf-8")
    return _synthesise(
        tmp_path_factory.mktemp("full"),
        f"tokenizer={weights / 'tokenizer.json'}",
        "model=sagemaker",
        "max_instances=3",
        context={"stage": "prod", "cache": "valkey", "max_instances": "2"},
    )

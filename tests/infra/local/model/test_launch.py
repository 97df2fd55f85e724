"""Starting a server from Python."""

from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from infra.local.model.errors import StartError
from infra.local.model.launch import start_model_server

if TYPE_CHECKING:
    from tests.infra.local.model.conftest import Caller


def test_start_model_server__a_restart_is_another_engine(model_caller: "Caller") -> None:
    with start_model_server(slots=1, context=256) as server:
        other = httpx.get(f"{server.url}/engine").json()["engine_id"]

    assert other != model_caller.engine()["engine_id"]
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/ping")


def test_start_model_server__says_that_it_did_not_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="code 2"), start_model_server(model=tmp_path / "none.gguf"):
        pass

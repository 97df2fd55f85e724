"""Servers that several test folders share: started when first asked for, stopped when the tests end."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.servers import RunningValkey


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator["RunningValkey"]:
    from tests.servers import running_valkey  # noqa: PLC0415  # tests without a server do not pay for its client

    with running_valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture(scope="session")
def valkey_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple["RunningValkey", ...]]:
    from tests.servers import running_cluster  # noqa: PLC0415  # see above

    with running_cluster(tmp_path_factory.mktemp("valkey-cluster")) as nodes:
        yield nodes

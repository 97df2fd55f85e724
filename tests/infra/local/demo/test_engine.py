"""The model server's extras, asked over HTTP."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import httpx
import pytest

from infra.local.demo.engine import Engine

FACTS = {"engine_id": "e", "url": "http://x", "model": "tiny", "cache_salt": "native", "template_shared_tokens": None}


class Extras(BaseHTTPRequestHandler):
    """Answers both extras; `status` is that of the count."""

    status: ClassVar[int] = 200
    asked: ClassVar[list[dict[str, object]]] = []

    def do_GET(self) -> None:
        self._send(200, FACTS)

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._send(self.status, {"tokens": 42})

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _send(self, status: int, body: object) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[Engine, type[Extras]]]:
    handler = type("Handler", (Extras,), {"status": getattr(request, "param", 200), "asked": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    with Engine(f"http://127.0.0.1:{server.server_port}") as engine:
        yield engine, handler
    server.shutdown()
    server.server_close()
    serving.join()


def test_view__an_engine_that_isolates_by_itself_shares_nothing(engine: tuple[Engine, type[Extras]]) -> None:
    view = engine[0].view()
    assert (view.model, view.template_tokens, view.slots) == ("tiny", 0, None)


def test_count__asks_with_a_tenants_salt(engine: tuple[Engine, type[Extras]]) -> None:
    asked, handler = engine
    assert asked.count([{"role": "user", "content": "hi"}]) == 42
    assert asked.counts_exactly
    (body,) = handler.asked
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert len(str(body["cache_salt"])) == 16


@pytest.mark.parametrize("engine", [501], indirect=True)
def test_count__estimates_where_the_engine_does_not_count(engine: tuple[Engine, type[Extras]]) -> None:
    assert engine[0].count([{"role": "user", "content": "plain words"}]) > 4
    assert not engine[0].counts_exactly


@pytest.mark.parametrize("engine", [500], indirect=True)
def test_count__any_other_failure_is_one(engine: tuple[Engine, type[Extras]]) -> None:
    with pytest.raises(httpx.HTTPStatusError):
        engine[0].count([{"role": "user", "content": "x"}])

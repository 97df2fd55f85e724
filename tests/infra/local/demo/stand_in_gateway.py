"""A gateway that answers from a script: what the demo sees of the stack, without the stack."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

HOST = "127.0.0.1"


@dataclass
class Script:
    """What the gateway answers, and what it was asked.

    Attributes:
        states: What a session's reads answer, one after another; the last one stays.
        answers: State and reasons of chat answers, one after another; then what the session is: warm or cold.
        refuse: Path and status of a call that is refused.
        calls: Method, path and body of every call.
    """

    states: list[str] = field(default_factory=lambda: ["warming", "warm"])
    answers: list[tuple[str, list[str]]] = field(default_factory=list)
    refuse: tuple[str, int] | None = None
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    warm: dict[str, bool] = field(default_factory=dict)

    def bodies(self, method: str, path: str) -> list[Any]:
        """Return the bodies of the calls of one method whose path ends so."""
        return [body for called, at, body in self.calls if called == method and at.endswith(path)]


def token(tenant: str, user: str, *, service: bool = False) -> str:
    """Mint a token that says who it is for."""
    return f"{tenant}/{user}" + ("/service" if service else "")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write per answer: two would wait for each other
    script: ClassVar[Script]

    def do_GET(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        script = self.script
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(raw) if raw else {}
        tenant = self.headers.get("Authorization", "").removeprefix("Bearer ").split("/")[0]
        script.calls.append((self.command, self.path, body))
        if script.refuse is not None and self.path.endswith(script.refuse[0]):
            problem = {"detail": "must be shorter", "field": "turns.0.content"}
            self._send(script.refuse[1], json.dumps(problem).encode())
        elif self.path == "/v1/chat/completions":
            self._send(200, b"".join(_answer(script, warm=script.warm.get(tenant, False))))
        elif self.command == "GET" and "/sessions/" in self.path:
            self._send(200, json.dumps(_session(script)).encode())
        else:
            if self.path.endswith("/sessions"):
                script.warm[tenant] = body["warm"]
            self._send(200, b"{}")

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def stand_in_gateway(script: Script) -> Iterator[str]:
    """Serve the script on a free port; yields the URL."""
    server = ThreadingHTTPServer((HOST, 0), type("Handler", (_Handler,), {"script": script}))
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    serving.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def _session(script: Script) -> dict[str, object]:
    state = script.states.pop(0) if len(script.states) > 1 else script.states[0]
    return {
        "session_id": "demo",
        "state": state,
        "reason": "",
        "stamp": "a1.c1.f0.p1.h1",
        "warmed_tokens": 500,
        "sections": [{"name": "instructions", "tokens": 9, "why": "the profile", "sha256": "x"}],
    }


def _answer(script: Script, *, warm: bool) -> Iterator[bytes]:
    state, reasons = script.answers.pop(0) if script.answers else ("warm" if warm else "cold", [])
    yield _event({"choices": [{"delta": {"content": "Yes."}}]})
    yield _event(
        {
            "choices": [{"delta": {}}],
            "usage": {"prompt_tokens": 540},
            "preheat": {
                "state": state,
                "stamp": "a1.c1.f0.p2.h1",
                "ttft_ms": 0.1,
                "ms": dict.fromkeys(("check", "retrieval", "tools", "assembly", "prefill", "decode"), 0.01),
                "warmed_tokens": 500 if warm else 0,
                "reused_tokens": 500 if warm else 3,
                "reasons": reasons,
            },
        }
    )
    yield b"data: [DONE]\n\n"


def _event(body: object) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()

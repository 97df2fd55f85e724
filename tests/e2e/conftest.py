"""The whole chain as it runs on one machine: every part a process of its own, a real Valkey, a real model."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from infra.local.parts import StackOptions
from infra.local.stack import Stack, start_stack
from preheat import names

AGENT, USER = "desk", "ada"
INSTRUCTIONS = (
    "You work at the front desk of a small hotel by the sea. Guests ask about rooms, meals, the beach and the boats to"
    " the islands. Breakfast is from seven to ten in the garden room. The boat to the lighthouse leaves at nine and at"
    " three from the old pier. Late arrivals ring the bell at the side door. Answer in one short, friendly sentence."
)
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Answer:
    """One answer as a client sees it."""

    status: int
    text: str
    usage: dict[str, Any]
    preheat: dict[str, Any]
    problem: dict[str, Any]


class Client:
    """Talks to a running stack as an app's backend would, for one tenant."""

    def __init__(self, stack: Stack, tenant: str, *, user: str = USER) -> None:
        self.stack = stack
        self.tenant = tenant
        self.user = user
        headers = {"Authorization": f"Bearer {stack.token(tenant, 'app', service=True)}"}
        self.http = httpx.Client(base_url=stack.urls["gateway"], headers=headers, timeout=60)
        self._twins: list[Client] = []

    def twin(self, suffix: str) -> "Client":
        """Return another tenant with the same agent: its salt shares nothing with this one."""
        made = self._keep(Client(self.stack, f"{self.tenant}-{suffix}"))
        made.register()
        return made

    def for_user(self, user: str) -> "Client":
        """Return the same tenant for another user."""
        return self._keep(Client(self.stack, self.tenant, user=user))

    def _keep(self, made: "Client") -> "Client":
        self._twins.append(made)
        return made

    def close(self) -> None:
        """Close the connections, the twins' too."""
        self.http.close()
        for one in self._twins:
            one.close()

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Make a call that must succeed."""
        response = self.http.request(method, path, json=body)
        assert response.is_success, response.text
        parsed: dict[str, Any] = response.json()
        return parsed

    def register(self, instructions: str = INSTRUCTIONS) -> None:
        self.call("PUT", f"/v1/agents/{AGENT}", {"instructions": instructions})

    def prefer(self, key: str, value: str) -> None:
        self.call("PUT", f"/v1/users/{self.user}/preferences/{key}", {"value": value})

    def start(self, session: str, *, warm: bool = True) -> None:
        body = {"agent": AGENT, "session_id": session, "warm": warm}
        self.call("POST", f"/v1/users/{self.user}/sessions", body)

    def session(self, session: str) -> dict[str, Any]:
        return self.call("GET", f"/v1/users/{self.user}/sessions/{session}")

    def wait_until(self, session: str, state: str) -> dict[str, Any]:
        """Wait until the session's view shows `state`."""
        deadline = time.monotonic() + _PATIENCE_S
        while (shown := self.session(session))["state"] != state:
            assert time.monotonic() < deadline, shown
            time.sleep(0.1)
        return shown

    def start_warm(self, session: str) -> dict[str, Any]:
        self.start(session)
        return self.wait_until(session, "warm")

    def ask(self, session: str, text: str = "When is breakfast?", *, max_tokens: int = 8) -> Answer:
        """Ask, streaming, and put the answer together."""
        body = {
            "model": AGENT,
            "user": self.user,
            "session_id": session,
            "messages": [{"role": "user", "content": text}],
            "max_tokens": max_tokens,
            "stream": True,
        }
        with self.http.stream("POST", "/v1/chat/completions", json=body) as response:
            if not response.is_success:
                return Answer(response.status_code, "", {}, {}, json.loads(response.read()))
            lines = [line.removeprefix("data: ") for line in response.iter_lines() if line]
        assert lines.pop() == "[DONE]"
        chunks = [json.loads(line) for line in lines]
        said = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
        return Answer(200, said, chunks[-1]["usage"], chunks[-1]["preheat"], {})

    def publish(self, detail: object, detail_type: str = names.SESSION_STARTED, *, times: int = 1) -> None:
        """Put an event on the bus, as an app outside would."""
        entry = {
            "EventBusName": names.BUS,
            "Source": names.EVENT_SOURCE,
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
        }
        events = self.stack.client("events")
        for _ in range(times):
            assert events.put_events(Entries=[entry])["FailedEntryCount"] == 0  # type: ignore[list-item]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with start_stack(StackOptions(state_dir=tmp_path_factory.mktemp("stack"), retry_s=1)) as running:
        yield running


@pytest.fixture
def client(stack: Stack, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A tenant of the test's own: its salt keeps other tests' prefixes apart."""
    made = Client(stack, request.node.name.replace("__", "-").replace("[", "-").replace("]", "")[:100])
    made.register()
    yield made
    made.close()

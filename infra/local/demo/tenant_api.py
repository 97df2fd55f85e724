"""The HTTP API as a customer's backend and app call it, with the time to the first token measured at the caller."""

import json
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Protocol, Self

import httpx
from pydantic import BaseModel, ConfigDict

from infra.local.demo.answers import Answer, BrokenAnswerError, read_answer
from infra.local.demo.tenant import TenantData
from preheat.budget import Budgets
from preheat.ports import NewTurn
from preheat.preferences import PreferenceValue
from preheat.rows import MAX_TURNS

_BATCH_CHARACTERS: Final = 300_000
_POLL_S: Final = 0.2
_TIMEOUT: Final = httpx.Timeout(150.0, connect=5.0)


class CallFailedError(Exception):
    """The API did not do what it was asked. The message is one line."""


class WarmUpError(Exception):
    """A session did not become warm in time. The message is one line."""


class MintToken(Protocol):
    """Makes bearer tokens, as `infra.local.stack.Stack.token` does."""

    def __call__(self, tenant: str, user: str, *, service: bool = False) -> str:
        """Return a token of a tenant's user, or of its backend."""
        ...


class SectionView(BaseModel):
    """One section of a bundle as the API shows it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    tokens: int
    why: str


class SessionView(BaseModel):
    """What the API says of a session: how warm it is, and what its bundle holds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    session_id: str
    state: str
    reason: str = ""
    stamp: str = ""
    warmed_tokens: int = 0
    sections: tuple[SectionView, ...] = ()


class TenantApi:
    """Calls on behalf of one tenant's user. Closes its connections at the end of its context."""

    def __init__(self, url: str, *, tenant: str, user: str, token: MintToken) -> None:
        """Open no connection yet. Nothing of the environment's proxies is used."""
        self.tenant = tenant
        self.user = user
        service = {"Authorization": f"Bearer {token(tenant, 'backend', service=True)}"}
        self._client = httpx.Client(base_url=url, headers=service, timeout=_TIMEOUT, trust_env=False)
        self._own = {"Authorization": f"Bearer {token(tenant, user)}", "Content-Type": "application/json"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def load(self, data: TenantData, budgets: Budgets) -> None:
        """Register the agent, set every preference, append every turn.

        Raises:
            CallFailedError: a call was refused.
        """
        self._call("PUT", f"/v1/agents/{data.agent}", _agent_body(data, budgets))
        for key, value in data.preferences:
            self.set_preference(key, value)
        for batch in batches(data.turns):
            self._call("POST", f"/v1/users/{self.user}/turns", {"turns": [_turn_body(turn) for turn in batch]})

    def set_preference(self, key: str, value: PreferenceValue) -> None:
        """Set one preference.

        Raises:
            CallFailedError: the call was refused.
        """
        shown = list(value) if isinstance(value, tuple) else value
        self._call("PUT", f"/v1/users/{self.user}/preferences/{key}", {"value": shown})

    def start_session(self, data: TenantData, session: str, *, warm: bool) -> None:
        """Start a session; `warm` publishes `session.started`.

        Raises:
            CallFailedError: the call was refused.
        """
        body = {"agent": data.agent, "session_id": session, "warm": warm}
        self._call("POST", f"/v1/users/{self.user}/sessions", body)

    def read_session(self, session: str) -> SessionView:
        """Return how warm the session is.

        Raises:
            CallFailedError: the call was refused.
        """
        return SessionView.model_validate(self._call("GET", f"/v1/users/{self.user}/sessions/{session}"))

    def await_warm(self, session: str, *, timeout_s: float, is_idle: Callable[[], bool]) -> tuple[SessionView, float]:
        """Poll until the session is warm; return how it looks then, and the milliseconds that the wait took.

        Args:
            session: Which session.
            timeout_s: How long to wait.
            is_idle: Tells that no event waits or is being handled: then nothing will change any more.

        Raises:
            CallFailedError: a call was refused.
            WarmUpError: the warm-up failed, was given up, or took longer than `timeout_s`.
        """
        started = time.monotonic()
        while True:
            idle = is_idle()
            view = self.read_session(session)
            if view.state == "warm":
                return view, (time.monotonic() - started) * 1000
            if idle or view.state == "failed" or time.monotonic() > started + timeout_s:
                state = f"{view.state} ({view.reason})" if view.reason else view.state
                raise WarmUpError(f"session {session} of {self.tenant} is {state} instead of warm")
            time.sleep(_POLL_S)

    def ask(self, data: TenantData, session: str, *, question: str, max_tokens: int) -> Answer:
        """Ask, and stream the answer.

        Raises:
            CallFailedError: the call was refused, or the stream broke off.
        """
        body = json.dumps(
            {
                "model": data.agent,
                "user": self.user,
                "session_id": session,
                "messages": [{"role": "user", "content": question}],
                "max_tokens": max_tokens,
                "temperature": 0,
                "stream": True,
            }
        )
        # The connection is there already, as that of an app is that has just started a session.
        self._client.get("/healthz")
        submitted = time.perf_counter()
        try:
            with self._client.stream("POST", "/v1/chat/completions", content=body, headers=self._own) as response:
                if not response.is_success:
                    response.read()
                    raise CallFailedError(_refusal("POST", "/v1/chat/completions", response))
                return read_answer(response.iter_bytes(), submitted=submitted)
        except BrokenAnswerError as error:
            raise CallFailedError(f"POST /v1/chat/completions: {error}") from error
        except httpx.HTTPError as error:
            raise CallFailedError(f"POST /v1/chat/completions: {type(error).__name__}: {error}") from error

    def _call(self, method: str, path: str, body: object | None = None) -> dict[str, object]:
        try:
            response = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise CallFailedError(f"{method} {path}: {type(error).__name__}: {error}") from error
        if not response.is_success:
            raise CallFailedError(_refusal(method, path, response))
        shown = response.json()
        return shown if isinstance(shown, dict) else {}


def batches(turns: tuple[NewTurn, ...]) -> Iterator[tuple[NewTurn, ...]]:
    """Yield the turns in order, as many at once as the API takes."""
    batch: list[NewTurn] = []
    size = 0
    for turn in turns:
        taken = len(turn.content) + sum(len(call.arguments) for call in turn.tool_calls)
        if batch and (len(batch) == MAX_TURNS or size + taken > _BATCH_CHARACTERS):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(turn)
        size += taken
    if batch:
        yield tuple(batch)


def _agent_body(data: TenantData, budgets: Budgets) -> dict[str, object]:
    return {
        "instructions": data.instructions,
        "domain_knowledge": data.domain_knowledge,
        "core_tools": list(data.core_tools),
        "budgets": {name: getattr(budgets, name) for name in budgets.__slots__},
        **data.catalog,
    }


def _turn_body(turn: NewTurn) -> dict[str, object]:
    body: dict[str, object] = {
        "id": turn.turn_id,
        "session": turn.session,
        "role": turn.role,
        "content": turn.content,
    }
    if turn.tool_calls:
        body["tool_calls"] = [
            {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in turn.tool_calls
        ]
    if turn.tool_call_id is not None:
        body["tool_call_id"] = turn.tool_call_id
    return body


def _refusal(method: str, path: str, response: httpx.Response) -> str:
    try:
        shown = response.json()
        detail = f"{shown.get('field', '')} {shown.get('detail', '')}".strip()
    except ValueError:
        detail = response.text[:200]
    return f"{method} {path} was answered {response.status_code}: {detail}"

"""The engine by itself: the same bytes, sent to its own OpenAI URL, with nothing of ours in between.

Its cold/warm ratio is what there is to gain on this engine; ours is compared with it.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import httpx

from infra.local.demo.answers import content_of, sse_events
from infra.local.demo.engine import EngineView
from infra.local.model.salt import salted
from preheat.prefill import Message

_PATH: Final = "/v1/chat/completions"
# As long as it takes on our side to see that a session is warm: both find the engine's threads at rest.
_PAUSE_S: Final = 0.2
_TIMEOUT: Final = httpx.Timeout(300.0, connect=5.0)


@dataclass(frozen=True, slots=True)
class DirectAnswer:
    """One answer of the engine itself.

    Attributes:
        ttft_ms: From submit to the first piece of text.
        prompt_tokens: The engine's count.
        reused_tokens: How many of them it already had.
    """

    ttft_ms: float
    prompt_tokens: int
    reused_tokens: int


class DirectEngine:
    """Calls an engine. Every measurement has a salt of its own. Closes its connection at the end of its context."""

    def __init__(self, view: EngineView) -> None:
        """Open no connection yet. On an engine with slots, the last one is used, so that cold and warm are alike."""
        self._view = view
        self._client = httpx.Client(base_url=view.url, timeout=_TIMEOUT, trust_env=False)
        self._rest: dict[str, object] = {"model": view.model, "temperature": 0}
        if view.slots is not None:
            self._rest["id_slot"] = view.slots - 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def cold(self, messages: Sequence[Message], *, max_tokens: int) -> DirectAnswer:
        """Ask with a salt that the engine has not seen.

        Raises:
            httpx.HTTPError: the engine refused, or is not there.
        """
        return self._ask(messages, secrets.token_hex(8), max_tokens=max_tokens)

    def warm(self, prefix: Sequence[Message], messages: Sequence[Message], *, max_tokens: int) -> DirectAnswer:
        """Let the engine read the prefix with a fresh salt, then ask with the same.

        Raises:
            httpx.HTTPError: the engine refused, or is not there.
        """
        salt = secrets.token_hex(8)
        self._client.post(_PATH, json=self._body(prefix, salt, max_tokens=1, stream=False)).raise_for_status()
        time.sleep(_PAUSE_S)
        return self._ask(messages, salt, max_tokens=max_tokens)

    def _ask(self, messages: Sequence[Message], salt: str, *, max_tokens: int) -> DirectAnswer:
        body = self._body(messages, salt, max_tokens=max_tokens, stream=True)
        request = self._client.build_request("POST", _PATH, json=body)
        # The connection is there already, as that of our own side is.
        self._client.get("/v1/models")
        submitted = time.perf_counter()
        response = self._client.send(request, stream=True)
        first: float | None = None
        usage: Mapping[str, object] = {}
        try:
            if not response.is_success:
                response.read()
                response.raise_for_status()
            for event in sse_events(response.iter_bytes()):
                if content_of(event):
                    first = first or time.perf_counter()
                found = event.get("usage")
                usage = found if isinstance(found, dict) else usage
        finally:
            response.close()
        details = usage.get("prompt_tokens_details")
        return DirectAnswer(
            ttft_ms=((first or time.perf_counter()) - submitted) * 1000,
            prompt_tokens=int(str(usage.get("prompt_tokens", 0))),
            reused_tokens=int(details.get("cached_tokens") or 0) if isinstance(details, dict) else 0,
        )

    def _body(self, messages: Sequence[Message], salt: str, *, max_tokens: int, stream: bool) -> dict[str, object]:
        plain = [{"role": str(one["role"]), "content": str(one["content"])} for one in messages]
        body: dict[str, object] = {"messages": plain, "max_tokens": max_tokens, "stream": stream, **self._rest}
        if self._view.cache_salt == "text":
            body["messages"] = salted([{**one} for one in plain], salt)
        else:
            body["cache_salt"] = salt
        if stream:
            body["stream_options"] = {"include_usage": True}
        return body

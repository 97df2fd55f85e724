"""The model server's two extras, `GET /engine` and `POST /tokenize`, as demo and benchmark need them."""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

import httpx
from pydantic import BaseModel, ConfigDict

from preheat.budget import count_message_tokens, count_tokens
from preheat.keys import tenant_salt
from preheat.prefill import Message
from preheat.session import TenantId

_TIMEOUT: Final = httpx.Timeout(60.0, connect=5.0)
_NOT_IMPLEMENTED: Final = 501
# Any tenant's salt: all are equally long.
_SALT: Final = tenant_salt(TenantId("sizing"))


class EngineView(BaseModel):
    """What the engine is; see `infra.local.model.backend.EngineFacts`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    engine_id: str
    url: str
    model: str
    context: int | None = None
    slots: int | None = None
    cache_salt: str
    template_shared_tokens: int | None = None
    lacks: tuple[str, ...] = ()

    @property
    def template_tokens(self) -> int:
        """Tokens that prompts of two tenants share; 0 when the engine keeps tenants apart by itself."""
        return self.template_shared_tokens or 0


class Engine:
    """The model server of a stack. Closes its connection at the end of its context."""

    def __init__(self, url: str) -> None:
        """Open no connection yet."""
        self._client = httpx.Client(base_url=url, timeout=_TIMEOUT, trust_env=False)
        self.counts_exactly = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def view(self) -> EngineView:
        """Return what the engine is.

        Raises:
            httpx.HTTPError: the server does not answer.
        """
        return EngineView.model_validate(self._client.get("/engine").raise_for_status().json())

    def count(self, messages: Sequence[Message]) -> int:
        """Return the tokens of a prompt of these messages, a tenant's salt included.

        By the engine's own tokenizer; where the engine does not count (`counts_exactly` is False then), by our careful
        estimate, which errs to the high side.

        Raises:
            httpx.HTTPError: the server does not answer.
        """
        response = self._client.post("/tokenize", json={"messages": list(messages), "cache_salt": _SALT})
        if response.status_code == _NOT_IMPLEMENTED:
            self.counts_exactly = False
            return sum(count_message_tokens(str(message["content"]), count=count_tokens) for message in messages)
        return int(response.raise_for_status().json()["tokens"])

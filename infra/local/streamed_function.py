"""A function that streams: an ASGI app that gets the request itself, as behind the Lambda Web Adapter."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infra.local.execution_environment import InvocationError, OverrunError
from infra.local.request_body import replay
from infra.topology import Function
from preheat import names

# What the adapter sets and a caller must not.
_ADAPTER_HEADERS: Final = (names.REQUEST_CONTEXT_HEADER.encode(), b"x-amzn-lambda-context")


@dataclass(frozen=True, slots=True)
class StreamedFunction:
    """The function and its app."""

    function: Function
    app: ASGIApp

    async def invoke(
        self, scope: Scope, receive: Receive, *, send: Send, body: bytes, context: Mapping[str, object]
    ) -> None:
        """Let the app answer the request.

        Args:
            scope: The request's ASGI scope.
            receive: Where the caller's departure is heard of; its body is already read.
            send: Takes the answer.
            body: The whole body.
            context: API Gateway's request context, put into `x-amzn-request-context`.

        Raises:
            InvocationError: the app failed before it began to answer.
            OverrunError: it took longer than the function's timeout, and had not begun to answer.
            Exception: the app failed in the middle of its answer, which is then cut off.
        """
        began = False

        async def send_on(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _ADAPTER_HEADERS]
        headers.append((names.REQUEST_CONTEXT_HEADER.encode(), json.dumps(context).encode()))
        try:
            async with asyncio.timeout(self.function.timeout_s):
                await self.app({**scope, "headers": headers}, replay(body, receive), send_on)
        except TimeoutError as error:
            if began:
                raise
            raise OverrunError(self.function) from error
        except Exception as error:
            if began:
                raise
            raise InvocationError(f"{self.function.folder} failed with {type(error).__name__}") from error
        if not began:
            raise InvocationError(f"{self.function.folder} gave no answer")

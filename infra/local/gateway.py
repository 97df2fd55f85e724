"""The HTTP API in front of the functions, as API Gateway is in the cloud: routes, authorizer, limits.

    python -m infra.local.gateway --port 8000

The function `api` is called with proxy events, one at a time; `chat` is an ASGI app that answers the request itself, as
behind the Lambda Web Adapter.
"""

import argparse
import asyncio
import logging
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Final, cast

import uvicorn
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from infra.local.environment import ENV_TOKEN_SECRET
from infra.local.execution_environment import ExecutionEnvironment, InvocationError, OverrunError, load_attribute
from infra.local.ports import HOST
from infra.local.problem import RefusedError, problem
from infra.local.proxy_event import HttpRequest, http_response, proxy_event, request_context
from infra.local.request_body import DisconnectedError, read_body
from infra.local.routing import match_route
from infra.local.streamed_function import StreamedFunction
from infra.local.tokens import TokenVerifier
from infra.topology import FUNCTIONS, MAX_BODY_BYTES, ROUTES
from preheat import names

HEALTH_PATH: Final = "/healthz"
_REQUEST_ID: Final = "x-amzn-requestid"
_GRACE_S: Final = 1

logger = logging.getLogger(__name__)


class Gateway:
    """ASGI app that serves the topology's routes.

    Its own refusals are problem documents: 401 without a valid token, 404 and 405 for what is no route, 413 for a body
    over the limit, 502 and 504 when a function failed or overran. Nothing of a failure's cause is shown to the caller;
    it is in the log.
    """

    def __init__(self, *, api: ExecutionEnvironment, chat: StreamedFunction, verifier: TokenVerifier) -> None:
        self._api = api
        self._chat = chat
        self._verifier = verifier
        # One thread: invocations of one environment come one after another.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=api.function.folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the server's start and stop, which are the app's."""
        if scope["type"] == "lifespan":
            await self._chat.app(scope, receive, send)
            return
        try:
            answer = await self._serve(scope, receive, send)
        except DisconnectedError:
            return
        except RefusedError as error:
            answer = problem(error.status, str(error), headers=error.headers)
        except InvocationError as error:
            logger.exception("function failed", exc_info=error)
            status = HTTPStatus.GATEWAY_TIMEOUT if isinstance(error, OverrunError) else HTTPStatus.BAD_GATEWAY
            answer = problem(status, "the function gave no valid answer; the cause is in the gateway's log")
        if answer is not None:
            await answer(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Serve one request; return what is still to be sent, or None when a function has sent its answer itself."""
        path = scope["raw_path"].decode("latin-1")
        if path == HEALTH_PATH:
            return JSONResponse({"status": "ok"})
        request = _read_request(scope, path)
        claims = self._verifier.verify(dict(request.headers).get("authorization"), now=request.received_at)
        body = await read_body(receive, limit_bytes=MAX_BODY_BYTES)
        context = request_context(request, claims)
        if request.match.route.function == names.API:
            return await self._call_api(request, body=body, context=context)
        await self._chat.invoke(scope, receive, send=send, body=body, context=context)
        return None

    async def _call_api(self, request: HttpRequest, *, body: bytes, context: Mapping[str, object]) -> Response:
        event = proxy_event(request, body=body, context=context)
        call = asyncio.get_running_loop().run_in_executor(self._thread, self._api.invoke, event)
        try:
            returned = http_response(await asyncio.wait_for(call, self._api.function.timeout_s))
        except TimeoutError as error:
            raise OverrunError(self._api.function) from error
        response = Response(returned.body, status_code=returned.status)
        response.raw_headers += [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in (*returned.headers, (_REQUEST_ID, str(context["requestId"])))
        ]
        return response


def _read_request(scope: Scope, path: str) -> HttpRequest:
    client = scope.get("client") or (HOST, 0)
    return HttpRequest(
        match=match_route(ROUTES, scope["method"], path=path),
        path=path,
        headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]),
        query=scope["query_string"].decode("latin-1"),
        source_ip=client[0],
        received_at=time.time(),
    )


def main() -> None:
    """Load the functions, then serve until the process is ended. The token secret comes in the environment."""
    parser = argparse.ArgumentParser(prog="infra.local.gateway", description=main.__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--functions", default="functions", help="package that holds the functions")
    options = parser.parse_args()

    logging.basicConfig(level=logging.WARNING)
    functions = {function.folder: function for function in FUNCTIONS}
    chat = functions[names.CHAT]
    gateway = Gateway(
        api=ExecutionEnvironment.load(functions[names.API], package=options.functions),
        chat=StreamedFunction(chat, cast("ASGIApp", load_attribute(chat, "app", package=options.functions))),
        verifier=TokenVerifier(os.environ[ENV_TOKEN_SECRET]),  # a door: this process's own settings
    )
    uvicorn.run(
        gateway,
        host=HOST,
        port=options.port,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
        ws="none",
    )


if __name__ == "__main__":
    main()

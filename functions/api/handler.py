"""The JSON API: agents, users, preferences, turns, sessions. Errors are problem+json.

API Gateway hands path parameters over percent-encoded; the routes decode them. No id may hold a `%`, so this is safe.
"""

import json
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError as RouteNotFoundError
from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.api import agents, preferences, sessions, turns, users
from preheat.adapters.http import PROBLEM_JSON, problem
from preheat.adapters.observability import logger
from preheat.errors import NotFoundError, PreheatError

app = APIGatewayRestResolver(serializer=lambda body: json.dumps(body, ensure_ascii=False, separators=(",", ":")))
for part in (agents, preferences, sessions, turns, users):
    app.include_router(part.router, prefix="/v1")


@app.exception_handler(PreheatError)  # type: ignore[untyped-decorator]  # Powertools publishes no type for it
def refuse(error: PreheatError) -> Response[str]:
    """Answer an error of ours as what it is."""
    status, body = problem(error)
    logger.info("request refused", status=status, code=error.code)
    return Response(status_code=status, content_type=PROBLEM_JSON, body=json.dumps(body))


@app.not_found
def no_route(_: RouteNotFoundError) -> Response[str]:
    """Answer a path that is not served."""
    shown: Response[str] = refuse(NotFoundError("no such path"))
    return shown


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Serve one call; see events/api_*.json."""
    return app.resolve(event, context)

"""Route of a user as a whole."""

from dataclasses import asdict
from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler.router import APIGatewayRouter

from preheat.adapters.http import principal
from preheat.adapters.observability import logger
from preheat.erase_user import erase_user
from preheat.runtime import get_runtime

router = APIGatewayRouter()


@router.delete("/users/<user>")
def delete_user(user: str) -> dict[str, Any]:
    """Erase a user from every tier and answer with the receipt."""
    receipt = erase_user(principal(router.current_event["requestContext"]), unquote(user), get_runtime().ports)
    logger.info("user erased", tiers=receipt.tiers)
    return asdict(receipt)

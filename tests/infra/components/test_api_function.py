"""The function behind the JSON routes."""

from preheat import names
from tests.infra.assembly import Assembly


def test_api__is_started_by_its_handler(plain: Assembly) -> None:
    assert plain.function(names.API)["Handler"] == "functions.api.handler.handler"


def test_api__calls_neither_model_nor_queue(plain: Assembly) -> None:
    assert not [action for action in plain.allowed(names.API) if action.startswith(("sagemaker:", "sqs:"))]

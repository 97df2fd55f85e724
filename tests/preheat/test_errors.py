"""One tree of errors, each with a code of its own and a word on whether to try again."""

import inspect

import pytest

from preheat import errors
from preheat.errors import InvalidInputError, PreheatError

_TREE = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, PreheatError) and kind is not PreheatError
]


def test_errors__every_one_is_in_the_tree_that_the_module_shows() -> None:
    assert errors.__doc__ is not None
    tree = [line for line in errors.__doc__.splitlines() if "──" in line]
    shown = {word for line in tree for word in line.split() if word.endswith("Error")}

    assert shown == {kind.__name__ for kind in _TREE}


def test_errors__codes_are_unique_and_stable_words() -> None:
    codes = [kind.code for kind in _TREE]

    assert len(set(codes)) == len(codes)
    assert all(code.islower() and code.replace("_", "").isalpha() for code in codes)


@pytest.mark.parametrize("kind", _TREE, ids=lambda kind: kind.__name__)
def test_errors__name_ends_in_error_and_says_why(kind: type[PreheatError]) -> None:
    assert kind.__name__.endswith("Error")
    assert kind.__doc__


def test_errors__only_what_passes_by_itself_is_retryable() -> None:
    assert {kind.__name__ for kind in _TREE if kind.retryable} == {
        "ConflictError",
        "EmbedderUnavailableError",
        "EndpointUnavailableError",
        "EraseIncompleteError",
        "SourceUnavailableError",
        "StoreUnavailableError",
    }


def test_invalid_input__names_the_field() -> None:
    error = InvalidInputError("must be text", field="messages.0.content")

    assert (error.field, str(error)) == ("messages.0.content", "must be text")

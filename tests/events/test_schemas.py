"""The schemas that lie in `events/schemas` are those of the models."""

import json

import pytest
from jsonschema import Draft202012Validator

from infra.local.schemas import FOLDER, build_schemas

SCHEMAS = build_schemas()


def test_schemas__folder_holds_exactly_what_the_models_generate() -> None:
    there = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}

    assert there == SCHEMAS, "run `make schemas`"


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_schemas__each_is_a_valid_schema_that_says_what_it_is_of(name: str) -> None:
    schema = json.loads(SCHEMAS[name])

    Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert schema["description"]
    assert schema["type"] == "object"

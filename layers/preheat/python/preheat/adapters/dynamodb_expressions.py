"""Conditions and assignments on plain fields, in the language of the table."""

from typing import TYPE_CHECKING

from preheat.adapters.dynamodb_items import Fields, stored_fields

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


def assigned(fields: Fields) -> str:
    """Return the assignments of `fields`, whose values are bound by `bound`."""
    return ", ".join(f"{name} = :{name}" for name in fields)


def unmoved(seen: Fields) -> str:
    """Return the condition that counters are what was read; a zero may also be one that was never written."""
    return " AND ".join(
        f"{name} = :seen_{name}" if value else f"(attribute_not_exists({name}) OR {name} = :seen_{name})"
        for name, value in seen.items()
    )


def bound_as_seen(seen: Fields) -> "dict[str, AttributeValueTypeDef]":
    """Return the values of which `unmoved` speaks."""
    return bound({f"seen_{name}": value for name, value in seen.items()})


def bound(values: Fields) -> "dict[str, AttributeValueTypeDef]":
    """Return values under the names by which an expression speaks of them."""
    return {f":{name}": value for name, value in stored_fields(values).items()}

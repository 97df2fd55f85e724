"""Rows of the records table as plain fields, and what they mean, checked by pydantic when they are read back."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from preheat import keys, names
from preheat.agent import AgentState
from preheat.errors import SourceUnavailableError
from preheat.session import TenantId, UserId
from preheat.stamp import UserState

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

Key = tuple[str, str]
Field = str | int | float | bool | bytes | None
Fields = Mapping[str, Field]
Read = TypeVar("Read")

_AGENT_STATE: Final = TypeAdapter(AgentState)
_USER_STATE: Final = TypeAdapter(UserState)


def key_attributes(key: Key) -> "dict[str, AttributeValueTypeDef]":
    """Return partition and sort key as the table names them."""
    return {names.PARTITION_KEY: {"S": key[0]}, names.SORT_KEY: {"S": key[1]}}


def stored_fields(fields: Fields) -> "dict[str, AttributeValueTypeDef]":
    """Return fields as attributes; None is left out."""
    return {name: _attribute(value) for name, value in fields.items() if value is not None}


def _attribute(value: str | float | bool | bytes) -> "AttributeValueTypeDef":  # noqa: FBT001  # one of several kinds
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bytes):
        return {"B": value}
    return {"N": repr(value)}


def read_fields(item: "Mapping[str, AttributeValueTypeDef]") -> dict[str, Field]:
    """Return an item's attributes as fields; numbers as int or float, exact."""
    return {name: _field(attribute) for name, attribute in item.items()}


def _field(attribute: "AttributeValueTypeDef") -> Field:
    if "N" in attribute:
        number: int | float = json.loads(attribute["N"])
        return number
    return attribute.get("S", attribute.get("B", attribute.get("BOOL")))


def checked(adapter: TypeAdapter[Read], fields: Mapping[str, object]) -> Read:
    """Return what a row means.

    Raises:
        SourceUnavailableError: the row was not written by this schema.
    """
    try:
        return adapter.validate_python(fields)
    except ValidationError as error:
        raise SourceUnavailableError("a stored row is not of this schema") from error


def agent_state(fields: Fields | None) -> AgentState | None:
    """Return an agent's counters; None when there is no row."""
    return checked(_AGENT_STATE, fields) if fields else None


def user_state(fields: Fields | None) -> UserState:
    """Return a user's counters; zeros where nothing was written yet."""
    return checked(_USER_STATE, fields or {})


def user_state_key(tenant: TenantId, user: UserId) -> Key:
    """Key of a user's counters."""
    return keys.user_partition(tenant, user), keys.STATE

"""The shapes of API calls, checked at the door. Every size is bounded; unknown fields are refused by name."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from preheat.budget import Budgets
from preheat.errors import BodyTooLargeError, InvalidInputError
from preheat.preferences import MAX_PREFERENCES, Kind, PreferenceValue, Source, kind_of
from preheat.rows import MAX_TEXT_BYTES, MAX_TURNS
from preheat.session import ID_PATTERN

Id = Annotated[str, Field(pattern=ID_PATTERN)]
PREFERENCE_KEY_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
PreferenceKey = Annotated[str, Field(pattern=PREFERENCE_KEY_PATTERN)]
MAX_BODY_BYTES: Final = 1_048_576
# Turns are numbered in twelve digits; nobody comes near.
MAX_SEQ: Final = 10**11


_DEFAULTS: Final = Budgets()


def _within_bytes(text: str) -> str:
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise ValueError(f"must be at most {MAX_TEXT_BYTES} bytes in UTF-8")
    return text


BoundedText = Annotated[str, AfterValidator(_within_bytes)]


class Call(BaseModel):
    """Base of the calls: frozen, and nothing beyond what is named."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class BudgetsCall(Call):
    """An agent's limits in tokens; see `preheat.budget.Budgets`."""

    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = _DEFAULTS.max_tokens
    history_tokens: Annotated[int, Field(ge=0, le=1_000_000)] = _DEFAULTS.history_tokens
    tool_output_tokens: Annotated[int, Field(ge=32, le=100_000)] = _DEFAULTS.tool_output_tokens
    max_turns: Annotated[int, Field(ge=0, le=60)] = _DEFAULTS.max_turns
    session_tools: Annotated[int, Field(ge=0, le=128)] = _DEFAULTS.session_tools


class AgentCall(Call):
    """PUT /v1/agents/{agent}: register or replace. Tools come as `servers` (MCP, by name) or as a `tools` list."""

    instructions: Annotated[str, Field(min_length=1, max_length=100_000)]
    domain_knowledge: Annotated[str, Field(max_length=400_000)] = ""
    core_tools: Annotated[tuple[str, ...], Field(max_length=64)] = ()
    servers: dict[str, Any] | None = None
    tools: list[Any] | None = None
    budgets: BudgetsCall = BudgetsCall()

    @model_validator(mode="after")
    def _one_catalogue(self) -> Self:
        if self.servers is not None and self.tools is not None:
            raise ValueError("give servers or tools, not both")
        return self


Text = Annotated[str, Field(min_length=1, max_length=2_000)]
TextList = Annotated[tuple[Annotated[str, Field(max_length=200)], ...], Field(min_length=1, max_length=50)]
AnyValue = Text | bool | int | float | TextList
Option = Annotated[str, Field(min_length=1, max_length=200)]


def one_fault(value: object, check: ValidatorFunctionWrapHandler) -> PreferenceValue:
    """Return a preference's value, or say what is allowed once, instead of once per member of the union.

    Raises:
        ValueError: the value is not of any kind that is allowed.
    """
    try:
        checked: PreferenceValue = check(value)
    except ValidationError as error:
        raise ValueError("must be text of 1-2,000 characters, a number, true or false, or 1-50 texts") from error
    return checked


class PreferenceTerms(Call):
    """What a preference may say beside its value, which must fit a `type` where one is given.

    `options` are those of a choice. With `agent` it holds for that agent alone, in the place of the general one.
    """

    type: Kind | None = None
    options: Annotated[tuple[Option, ...], Field(max_length=50, validate_default=True)] = ()
    source: Source = "stated"
    agent: Id | None = None

    @field_validator("options")
    @classmethod
    def _of_a_choice(cls, options: tuple[str, ...], said: ValidationInfo) -> tuple[str, ...]:
        if "type" in said.data and (said.data["type"] == "choice") != bool(options):
            raise ValueError("only a choice has options, and it must have some")
        return options


def fitting(value: PreferenceValue, terms: Mapping[str, Any]) -> PreferenceValue:
    """Return a value that fits the terms; `terms` holds those fields of `PreferenceTerms` that are valid.

    Raises:
        ValueError: it is of another type, or none of the options.
    """
    kind, options = terms.get("type"), terms.get("options", ())
    if kind == "choice":
        if options and value not in options:
            raise ValueError("must be one of the options")
    elif kind is not None and kind_of(value) != kind:
        raise ValueError(f"is not of the type {kind}")
    return value


class PreferenceCall(PreferenceTerms):
    """PUT /v1/users/{user}/preferences/{key}."""

    value: AnyValue

    @field_validator("value", mode="wrap")
    @classmethod
    def _fits(cls, value: object, check: ValidatorFunctionWrapHandler, said: ValidationInfo) -> PreferenceValue:
        return fitting(one_fault(value, check), said.data)


class PreferenceEntry(PreferenceCall):
    """One preference of a whole set."""

    key: PreferenceKey


class PreferencesCall(Call):
    """PUT /v1/users/{user}/preferences: the whole set, over all agents; what is not in it is deleted."""

    preferences: Annotated[tuple[PreferenceEntry, ...], Field(max_length=MAX_PREFERENCES)]


class ObservationCall(Call):
    """POST /v1/users/{user}/preferences/{key}/observations: what behaviour showed, with `agent` where it did."""

    value: AnyValue
    agent: Id | None = None

    @field_validator("value", mode="wrap")
    @classmethod
    def _one_fault(cls, value: object, check: ValidatorFunctionWrapHandler) -> PreferenceValue:
        return one_fault(value, check)


class ToolCallFunction(Call):
    """The function part of an OpenAI tool call."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    arguments: Annotated[str, Field(max_length=100_000)] = "{}"


class ToolCallPart(Call):
    """One OpenAI tool call."""

    id: Id
    type: Literal["function"] = "function"
    function: ToolCallFunction


class TurnPart(Call):
    """One turn to append."""

    id: Id
    role: Literal["user", "assistant", "tool"]
    content: BoundedText = ""
    tool_calls: Annotated[tuple[ToolCallPart, ...], Field(max_length=32)] = ()
    tool_call_id: Id | None = None
    session: Id | None = None

    @model_validator(mode="after")
    def _fits_its_role(self) -> Self:
        if self.tool_calls and self.role != "assistant":
            raise ValueError("only an assistant's turn has tool_calls")
        if (self.tool_call_id is not None) != (self.role == "tool"):
            raise ValueError("a tool's turn, and no other, has a tool_call_id")
        return self


class TurnsCall(Call):
    """POST /v1/users/{user}/turns. `session` holds for the turns that name none."""

    session: Id = "imported"
    turns: Annotated[tuple[TurnPart, ...], Field(min_length=1, max_length=MAX_TURNS)]


class TurnsQuery(Call):
    """The query of GET /v1/users/{user}/turns: the part of the log after the turn numbered `after`."""

    after: Annotated[int, Field(ge=0, le=MAX_SEQ)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    session: Id | None = None


class SessionCall(Call):
    """POST /v1/users/{user}/sessions. `warm: false` starts a session that nothing is done for ahead."""

    agent: Id
    session_id: Id | None = None
    warm: bool = True


class MessagePart(Call):
    """One new message of a chat call."""

    role: Literal["user", "tool"]
    content: Annotated[BoundedText, Field(min_length=1)]
    tool_call_id: Id | None = None


class ChatCall(Call):
    """POST /v1/chat/completions, OpenAI's shape: `model` is the agent, `messages` only what is new in the session."""

    model: Id
    user: Id
    session_id: Id
    messages: Annotated[tuple[MessagePart, ...], Field(min_length=1, max_length=16)]
    max_tokens: Annotated[int, Field(ge=1, le=32_768)] = 256
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    stream: bool = False
    stream_options: dict[str, bool] | None = None


Parsed = TypeVar("Parsed", bound=BaseModel)


def parse(shape: type[Parsed], body: str | bytes | None) -> Parsed:
    """Return the body as `shape`.

    Raises:
        InvalidInputError: not JSON, or not of this shape; `field` names the first fault.
        BodyTooLargeError: over `MAX_BODY_BYTES`.
    """
    size_bytes = len(body.encode(errors="replace")) if isinstance(body, str) else len(body or b"")
    if size_bytes > MAX_BODY_BYTES:
        raise BodyTooLargeError(f"the body is over {MAX_BODY_BYTES} bytes")
    try:
        return shape.model_validate_json(body or b"")
    except ValidationError as error:
        raise _named(error) from error


def parse_value(shape: type[Parsed], value: object) -> Parsed:
    """Return an already decoded value as `shape`, with the same errors as `parse`."""
    try:
        return shape.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise _named(error) from error


def _named(error: ValidationError) -> InvalidInputError:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(map(str, first["loc"])) or "body"
    message = "must be JSON" if first["type"] == "json_invalid" else first["msg"].removeprefix("Value error, ")
    return InvalidInputError(message, field=field)

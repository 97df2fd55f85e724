"""What was done and why, in numbers and names without user text: for logs, metrics, callers and people."""

from dataclasses import dataclass, field
from typing import Literal

from preheat.bundle import Bundle, Missing
from preheat.history import ToolCall
from preheat.ports import Delta
from preheat.prefill import Usage

State = Literal["cold", "warm", "stale-rebuilt", "degraded"]


@dataclass(frozen=True, slots=True)
class SectionLine:
    """One section of a bundle, without its content. `age_s` counts from when it was built."""

    name: str
    tokens: int
    sha256: str
    versions: str
    age_s: float
    why: str


def section_lines(bundle: Bundle | None, *, now: float) -> tuple[SectionLine, ...]:
    """Return the bundle's sections for people to read."""
    return tuple(
        SectionLine(one.name, one.tokens, one.sha256, one.versions, round(max(0.0, now - one.built_at), 3), one.why)
        for one in (bundle.sections if bundle else ())
    )


@dataclass(frozen=True, slots=True)
class Phases:
    """Where a request's time went, in milliseconds, none of them overlapping.

    Attributes:
        check: The strong version read and the cache read, side by side.
        retrieval: Reading rows that the cache did not have at the right versions.
        tools: Choosing and freezing what the session keeps.
        assembly: Building sections and rendering the engine's request.
        prefill: From handing the request to the engine to its first token.
        decode: From the first token to the last.
    """

    check: float = 0.0
    retrieval: float = 0.0
    tools: float = 0.0
    assembly: float = 0.0
    prefill: float = 0.0
    decode: float = 0.0


@dataclass(frozen=True, slots=True)
class WarmReport:
    """The outcome of one warm-up.

    `outcome` is the policy's reason, `in_flight`, `warm`, or `failed`; `detail` says more where there is more.
    """

    session: str
    stamp: str
    outcome: str
    detail: str = ""
    bundle_tokens: int = 0
    warmed_tokens: int = 0
    reused_tokens: int = 0
    prefill_ms: float = 0.0
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """What an answer was built on, what it cost, and what the engine says of it."""

    state: State
    stamp: str
    ttft_ms: float
    ms: Phases
    warmed_tokens: int
    reused_tokens: int
    usage: Usage
    engine_id: str
    finish_reason: str
    hist_seq: int
    reasons: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    sections: tuple[SectionLine, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class CallsMade:
    """The tool calls that an answer ends with, for the caller to run."""

    calls: tuple[ToolCall, ...]


AnswerItem = Delta | CallsMade | AnswerReport

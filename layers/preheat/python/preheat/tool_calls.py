"""Lever tools, the answer's side: takes the calls that a model writes as text out of the stream.

A model that is told of its tools as text answers with `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`. The
reader passes plain text on as it comes, holds back what may be the beginning of a call, and gives the calls at the end.
Text that only looks like a call is text.
"""

import json
from dataclasses import dataclass, field
from typing import Final

from preheat.canonical import canonical_json
from preheat.history import ToolCall

OPENING: Final = "<tool_call>"
CLOSING: Final = "</tool_call>"


@dataclass(slots=True)
class ToolCallReader:
    """Reads one answer. `id_prefix` makes the calls' ids unique over the session."""

    id_prefix: str
    calls: list[ToolCall] = field(default_factory=list)
    _held: str = ""

    def feed(self, text: str) -> str:
        """Take the next piece of the answer; return the text that may be shown."""
        self._held += text
        shown: list[str] = []
        while (start := self._held.find(OPENING)) >= 0:
            shown.append(self._held[:start])
            self._held = self._held[start:]
            end = self._held.find(CLOSING)
            if end < 0:
                return "".join(shown)
            written, self._held = self._held[len(OPENING) : end], self._held[end + len(CLOSING) :]
            shown.append(self._take(written))
        keep = _beginning_of(OPENING, self._held)
        cut = len(self._held) - keep
        shown.append(self._held[:cut])
        self._held = self._held[cut:]
        return "".join(shown)

    def finish(self) -> str:
        """Return what was held back and is no call after all."""
        rest, self._held = self._held, ""
        return rest

    def _take(self, written: str) -> str:
        call = _read_call(written, f"{self.id_prefix}-{len(self.calls)}")
        if call is None:
            return f"{OPENING}{written}{CLOSING}"
        self.calls.append(call)
        return ""


def _beginning_of(mark: str, text: str) -> int:
    """Return how many characters at the text's end may be the beginning of the mark."""
    return next((size for size in range(min(len(mark) - 1, len(text)), 0, -1) if mark.startswith(text[-size:])), 0)


def _read_call(written: str, call_id: str) -> ToolCall | None:
    try:
        value = json.loads(written)
        if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
            return None
        arguments = value.get("arguments", {})
        return ToolCall(call_id, value["name"], arguments if isinstance(arguments, str) else canonical_json(arguments))
    except ValueError:
        return None

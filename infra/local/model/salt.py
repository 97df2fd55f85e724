"""Tenants kept apart in an engine that has no `cache_salt`: the salt becomes the first characters of the prompt.

A prefix cache reuses what is equal from the first token on. With a salt at the head of the first message, prompts of
two salts part there, so they share the template's opening tokens and no KV block of anybody's text. An engine with a
`cache_salt` of its own (vLLM) is handed the field as it is; then the prompt keeps its text, which is better: here the
salt costs about ten tokens and is read by the model.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

Message = dict[str, JsonValue]

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_LENGTH: Final = 16


def salt_text(salt: str) -> str:
    """Return sixteen letters that stand for the salt (75 bits of its SHA-256).

    Letters, not hexadecimal digits: a tokenizer takes digits one by one, so one pair of salts in sixteen would share
    a first token; letters are taken several at a time.
    """
    number = int.from_bytes(hashlib.sha256(salt.encode()).digest(), "big")
    letters = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "".join(letters)


def salted(messages: Sequence[Message], salt: str) -> list[Message]:
    """Return the messages with the salt as the first characters of the first one.

    A system message is inserted when none is first: a template may otherwise put a text of its own before the salt.
    """
    head = salt_text(salt)
    first, *rest = messages
    if first.get("role") != "system":
        return [{"role": "system", "content": head}, *messages]
    content = first.get("content")
    if isinstance(content, list):
        return [{**first, "content": [{"type": "text", "text": f"{head}\n"}, *content]}, *rest]
    return [{**first, "content": f"{head}\n{content or ''}"}, *rest]


def plain_text(messages: Sequence[Message]) -> str:
    """Return roles and texts in order: equal beginnings mean equal first tokens, whatever the template."""
    return "\n".join(f"{message.get('role')}\n{_text(message.get('content'))}" for message in messages)


def _text(content: JsonValue) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")

"""How many tokens there are to fill, and how many a text may take.

The order of dropping, from first to last: oldest turns, lowest-ranked session tools. Core tools, instructions and
preferences are never dropped. An agent whose core tools and instructions alone are over `max_tokens` is refused when it
is registered; when a user's preferences take the rest, the bundle names what had no room.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

TextCount = Callable[[str], int]
"""Returns how many tokens a text takes: exactly, or too many; never too few."""

# Runs of ASCII letters as a byte-pair vocabulary sees them: HTTP, Http, http.
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Digits and signs, one by one; runs of JSON's own signs, which merge; blanks that no word takes with it.
_SIGNS: Final = re.compile(
    r'["{}\[\],:\\]+|[^A-Za-z"{}\[\],:\\ \n\x80-\U0010ffff]| {2,}| (?=[0-9\x80-\U0010ffff]|$)', re.MULTILINE
)
_BEYOND_ASCII: Final = re.compile(r"[\x80-\U0010ffff]")
# Hashes, keys and encoded bytes: their letters make no words.
_BLOBS: Final = re.compile(r"[A-Za-z0-9+/]{32,}")
# The commonest words of English, of schemas and of code: where one word in ten is among them, words are cheap.
_CHEAP_WORDS: Final = frozenset(
    "the and of to for with that this you your it is are be by or not have can will if from none"  # noqa: SIM905  # a list of 40 lines reads worse
    " type string name description properties required object integer array null true false"
    " return self def import class function const int".split()
)
_CHEAP_SHARE: Final = 0.1
# Letters that one token carries at the least: cheap words, names among them, words of other languages, capitals.
_LETTERS_CHEAP: Final = 5
_LETTERS_NAME: Final = 4
_LETTERS_OTHER: Final = 2.5
_LETTERS_CAPITALS: Final = 2
_SHORT_WORD: Final = 3
# Longer words are compounds, or no words at all.
_LONG_WORD: Final = 16
_LETTERS_LONG: Final = 1.5
_BLANKS_PER_TOKEN: Final = 16
# No count is below the characters divided by this: a run of blanks is the cheapest text.
CHARACTERS_PER_TOKEN: Final = _BLANKS_PER_TOKEN
# Tokens of one character, by script (first and last code point); the first that holds it counts. Elsewhere it is one
# per UTF-8 byte, which no byte-pair tokenizer exceeds.
_SCRIPTS: Final = (
    (0x00A0, 0x00FF, 1.0),  # Latin, western
    (0x0370, 0x03FF, 1.1),  # Greek
    (0x0400, 0x045F, 1.0),  # Cyrillic
    (0x05D0, 0x05EA, 1.25),  # Hebrew
    (0x0621, 0x064A, 1.0),  # Arabic
    (0x0900, 0x097F, 1.5),  # Devanagari
    (0x0E00, 0x0E7F, 2.0),  # Thai
    (0x2000, 0x206F, 2.0),  # dashes and quotes
    (0x3000, 0x30FF, 2.0),  # kana
    (0x4E00, 0x9FFF, 2.5),  # ideographs
    (0x0080, 0x07FF, 2.0),
    (0x0800, 0xFFFF, 3.0),
    (0x10000, 0x10FFFF, 4.0),
)
# What a chat template writes around a message: marks, the role, line breaks.
TOKENS_PER_MESSAGE: Final = 6


@dataclass(frozen=True, slots=True)
class Budgets:
    """An agent's limits, in tokens unless the name says otherwise.

    Attributes:
        max_tokens: The whole warm prefix.
        history_tokens: Recent turns.
        tool_output_tokens: One tool result inside the recent turns; longer ones keep head and tail.
        max_turns: Recent turns (messages) kept at most when a session starts.
        session_tools: Predicted tools loaded for the session, beside the core tools.
    """

    max_tokens: int = 4096
    history_tokens: int = 1200
    tool_output_tokens: int = 200
    max_turns: int = 10
    session_tools: int = 8


def count_tokens(text: str) -> int:
    """Return a careful count of the tokens in `text`, for any byte-pair tokenizer of 32k entries and more.

    Measured on SmolLM2 (49k entries), Mistral v1 (32k) and Tekken (131k): for a paragraph and more of prose, JSON,
    schemas, code or numbers it is at or over the real count: by 10-20 % in English, by 30-50 % in JSON and code, and in
    other scripts by what lies between those vocabularies. A few words alone may count one too low. Lines count on their
    own, so that texts joined by a line break count as their parts and one more.
    """
    total: float = text.count("\n")
    for line in text.split("\n"):
        if words := _WORDS.findall(line):
            total += _word_tokens(words)
    signs = _SIGNS.findall(text)
    total += len(signs) + sum(_merged(run) for run in signs if len(run) > 1)
    total += sum(len(blob) for blob in _BLOBS.findall(text)) * 3 // 10
    if not text.isascii():
        total += sum(_character_tokens(ord(one)) * count for one, count in Counter(_BEYOND_ASCII.findall(text)).items())
    return math.ceil(total)


def _word_tokens(words: Sequence[str]) -> int:
    cheap = sum(map(_CHEAP_WORDS.__contains__, words)) >= _CHEAP_SHARE * len(words)
    return sum(math.ceil(len(word) / _letters_per_token(word, cheap=cheap)) for word in words)


def _letters_per_token(word: str, *, cheap: bool) -> float:
    if len(word) > _LONG_WORD:
        return _LETTERS_LONG
    if word.isupper():
        return _LETTERS_CAPITALS
    if len(word) <= _SHORT_WORD:
        return _SHORT_WORD
    if not cheap:
        return _LETTERS_OTHER
    return _LETTERS_CHEAP if word.islower() else _LETTERS_NAME


def _merged(run: str) -> int:
    """Return what a run of signs or blanks takes beyond one token."""
    return len(run) // _BLANKS_PER_TOKEN if run[0] == " " else (len(run) - 1) // 2


def _character_tokens(code: int) -> float:
    return next(tokens for first, last, tokens in _SCRIPTS if first <= code <= last)


def count_message_tokens(content: str, *, count: TextCount) -> int:
    """Return what a message takes in a prompt: its content and what a chat template puts around it."""
    return count(content) + TOKENS_PER_MESSAGE

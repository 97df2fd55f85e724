"""How many tokens there are to fill, and how many a text may take.

The order of dropping, from first to last: oldest turns, lowest-ranked session tools. Core tools, instructions and
preferences are never dropped. An agent whose core tools and instructions alone are over `max_tokens` is refused when it
is registered; when a user's preferences take the rest, the bundle names what had no room.
"""

import re
from dataclasses import dataclass
from typing import Final

# One word of letters, one digit, one run of blanks, one line break, or one other character.
_PIECES: Final = re.compile(r"[A-Za-z]+|[0-9]|[ \t]+|\n|[^A-Za-z0-9 \t\n]")
# Letters that one token carries at the least in plain words, measured on byte-pair vocabularies of 32k and more.
_LETTERS_PER_TOKEN: Final = 4
_ASCII_LIMIT: Final = 128
_TOKENS_PER_MESSAGE: Final = 6


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

    Words count one token per four letters begun, digits and signs one each, other scripts one per UTF-8 byte less one,
    so that Japanese, Arabic and emoji are not taken for cheap. It is meant to err to the high side.
    """
    total = 0
    for piece in _PIECES.findall(text):
        if piece[0].isalpha() and ord(piece[0]) < _ASCII_LIMIT:
            total += -(-len(piece) // _LETTERS_PER_TOKEN)
        elif piece[0] in " \t":
            total += 0 if piece == " " else 1
        else:
            total += max(1, len(piece.encode()) - 1)
    return total


def count_message_tokens(content: str) -> int:
    """Return `count_tokens` of a message's content plus what a chat template puts around it."""
    return count_tokens(content) + _TOKENS_PER_MESSAGE

"""Same value, same bytes: the one JSON form and the one hash that prefixes, stamps and stored bodies use."""

import hashlib
import json
from typing import Final

_ESCAPED: Final = {code: f"\\u{code:04x}" for code in (ord("<"), 0x2028, 0x2029, *range(0x7F, 0xA0))}


def canonical_json(value: object) -> str:
    """Return `value` as JSON with sorted keys, no blanks and non-ASCII text kept as it is.

    Raises:
        ValueError: the value holds NaN or infinity, which JSON cannot say.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def quoted(value: object) -> str:
    """Return stored data as JSON on one line that no prompt can mistake for more than data.

    Line breaks, C1 controls and `<` are escaped too, so that no line, no tag and no token of a chat template can be
    spelled.

    Raises:
        ValueError: the value holds NaN or infinity, which JSON cannot say.
    """
    return canonical_json(value).translate(_ESCAPED)


def as_data(text: str) -> str:
    """Return the text with no control token in it: engines read `<|im_end|>` in content as the end of the message."""
    return text.replace("<|", "< |")


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes, 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()

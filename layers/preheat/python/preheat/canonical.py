"""Same value, same bytes: the one JSON form and the one hash that prefixes, stamps and stored bodies use."""

import hashlib
import json


def canonical_json(value: object) -> str:
    """Return `value` as JSON with sorted keys, no blanks and non-ASCII text kept as it is.

    Raises:
        ValueError: the value holds NaN or infinity, which JSON cannot say.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes, 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()

"""The stored form of bundles and receipts: compressed JSON, checked by pydantic when it is read back."""

import zlib
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from preheat.bundle import Bundle
from preheat.errors import EntryCorruptError
from preheat.prefill import Receipt

_BUNDLE: Final = TypeAdapter(Bundle)
_RECEIPT: Final = TypeAdapter(Receipt)
Stored = TypeVar("Stored")
# Level 1: a bundle is read on the way to an answer, and higher levels save little on prose and schemas.
_LEVEL: Final = 1


def dump_bundle(bundle: Bundle) -> bytes:
    """Return the bundle's stored bytes."""
    return zlib.compress(_BUNDLE.dump_json(bundle), _LEVEL)


def load_bundle(body: bytes) -> Bundle:
    """Return the bundle that `body` holds.

    Raises:
        EntryCorruptError: the bytes are not a bundle of this schema.
    """
    return _load(_BUNDLE, body)


def dump_receipt(receipt: Receipt) -> bytes:
    """Return the receipt's stored bytes."""
    return zlib.compress(_RECEIPT.dump_json(receipt), _LEVEL)


def load_receipt(body: bytes) -> Receipt:
    """Return the receipt that `body` holds.

    Raises:
        EntryCorruptError: the bytes are not a receipt of this schema.
    """
    return _load(_RECEIPT, body)


def _load(adapter: TypeAdapter[Stored], body: bytes) -> Stored:
    try:
        return adapter.validate_json(zlib.decompress(body))
    except (zlib.error, ValidationError) as error:
        raise EntryCorruptError("the stored bytes are not of this schema") from error

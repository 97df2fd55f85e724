"""What is stored comes back as it was; what is not a bundle of this schema is a miss, never a guess."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.errors import EntryCorruptError
from preheat.history import Turn
from preheat.preferences import Preference, PreferenceValue
from preheat.prefill import Receipt
from preheat.stored import dump_bundle, dump_receipt, load_bundle, load_receipt
from tests.preheat.material import (
    NOW,
    Rows,
    agent,
    answer_body,
    build,
    few,
    logs,
    preference,
    preference_sets,
    prefill_body,
    values,
)

RECEIPT = Receipt("warm", "a1.c1.f0.p1.h2", "ab" * 32, 2048, 12, "replica-1", NOW, NOW + 600, 812.5, "")
BUNDLE = build(Rows(agent(), (preference("seat", "aisle"),)))


@few
@given(preference_sets(), logs())
def test_bundle__comes_back_equal_and_renders_the_same_bytes(
    current: tuple[Preference, ...], turns: tuple[Turn, ...]
) -> None:
    bundle = build(Rows(agent(), current, turns))

    loaded = load_bundle(dump_bundle(bundle))

    assert loaded == bundle
    assert prefill_body(loaded) == prefill_body(bundle)
    assert answer_body(loaded) == answer_body(bundle)


@few
@given(values)
def test_bundle__a_preference_keeps_its_kind(value: PreferenceValue) -> None:
    bundle = build(Rows(agent(), (preference("k", value),)))

    (loaded,) = load_bundle(dump_bundle(bundle)).frozen.preferences

    assert type(loaded.value) is type(value)
    assert loaded.value == value


def test_load_bundle__of_an_earlier_build_with_plain_preferences_is_read() -> None:
    document = json.loads(zlib.decompress(dump_bundle(BUNDLE)))
    for one in document["frozen"]["preferences"]:
        for added in ("agent", "options", "source", "drift"):
            del one[added]

    assert load_bundle(zlib.compress(json.dumps(document).encode())) == BUNDLE


def test_receipt__comes_back_equal() -> None:
    assert load_receipt(dump_receipt(RECEIPT)) == RECEIPT


@few
@given(st.data())
def test_load__any_flipped_byte_is_corrupt_or_the_same(data: st.DataObject) -> None:
    body = dump_bundle(BUNDLE)
    position = data.draw(st.integers(0, len(body) - 1))
    flipped = body[:position] + bytes([body[position] ^ data.draw(st.integers(1, 255))]) + body[position + 1 :]

    try:
        loaded = load_bundle(flipped)
    except EntryCorruptError:
        return
    assert loaded == BUNDLE  # only zlib's header has bits that change nothing


def _without(field: str) -> bytes:
    document = json.loads(zlib.decompress(dump_bundle(BUNDLE)))
    del document[field]
    return zlib.compress(json.dumps(document).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        dump_bundle(BUNDLE)[:-1],
        dump_receipt(RECEIPT),
        zlib.compress(b"null"),
        zlib.compress(b'"text"'),
        _without("frozen"),
        _without("stamp"),
    ],
    ids=["nothing", "not compressed", "cut off", "a receipt", "null", "text", "no frozen record", "no stamp"],
)
def test_load_bundle__other_bytes_are_corrupt(body: bytes) -> None:
    with pytest.raises(EntryCorruptError):
        load_bundle(body)


def test_load_receipt__a_bundle_is_corrupt() -> None:
    with pytest.raises(EntryCorruptError):
        load_receipt(dump_bundle(BUNDLE))

"""Sealed bytes: order, expiry and body come back as they were, or not at all; an expired entry is never live."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.envelope import EXPIRY_AT, HEADER_BYTES, MAX_BODY_BYTES, ORDER_AT, seal, unseal, unseal_live
from preheat.errors import EntryCorruptError, EntryTooLargeError
from preheat.keys import WarmKey
from preheat.ports import Entry
from tests.preheat.material import NOW

KEY = WarmKey("ph1:bundle:{T#t#U#u}:a:s:m:r")
ENTRY = Entry(KEY, order=42, body=b"the body", expires_at=NOW)

_entries = st.builds(
    Entry,
    st.just(KEY),
    order=st.integers(0, 10**16 - 1),
    body=st.binary(max_size=64),
    expires_at=st.integers(0, 10**16 - 1).map(lambda milliseconds: milliseconds / 1000),
)


@given(_entries)
def test_unseal__returns_what_was_sealed(entry: Entry) -> None:
    assert unseal(KEY, seal(entry)) == entry


@given(_entries, _entries)
def test_seal__order_and_expiry_stand_at_fixed_places_and_compare_as_text(one: Entry, other: Entry) -> None:
    heads = [seal(entry) for entry in (one, other)]

    assert (heads[0][ORDER_AT] < heads[1][ORDER_AT]) == (one.order < other.order)
    assert (heads[0][EXPIRY_AT] < heads[1][EXPIRY_AT]) == (one.expires_at < other.expires_at)
    assert all(len(sealed) == HEADER_BYTES + len(entry.body) for sealed, entry in zip(heads, (one, other), strict=True))


@given(_entries, st.data())
def test_unseal__any_flipped_byte_is_corrupt_the_header_included(entry: Entry, data: st.DataObject) -> None:
    sealed = seal(entry)
    position = data.draw(st.integers(0, len(sealed) - 1))
    flipped = sealed[:position] + bytes([sealed[position] ^ data.draw(st.integers(1, 255))]) + sealed[position + 1 :]

    with pytest.raises(EntryCorruptError):
        unseal(KEY, flipped)


@given(_entries, st.integers(1, 120))
def test_unseal__cut_off_or_grown_bytes_are_corrupt(entry: Entry, count: int) -> None:
    sealed = seal(entry)

    for harmed in (sealed[:-count], sealed + b"x" * count):
        with pytest.raises(EntryCorruptError):
            unseal(KEY, harmed)


@pytest.mark.parametrize("foreign", [b"", b"PH1.", b"PH0." + seal(ENTRY)[4:], b'{"body":"of another writer"}' * 4])
def test_unseal__bytes_of_another_writer_are_corrupt(foreign: bytes) -> None:
    with pytest.raises(EntryCorruptError):
        unseal(KEY, foreign)


def test_seal__refuses_what_one_tier_could_not_hold() -> None:
    assert seal(Entry(KEY, 1, b"x" * MAX_BODY_BYTES, NOW))
    with pytest.raises(EntryTooLargeError):
        seal(Entry(KEY, 1, b"x" * (MAX_BODY_BYTES + 1), NOW))


@pytest.mark.parametrize(("now", "live"), [(NOW - 600, True), (NOW - 0.001, True), (NOW, False), (NOW + 600, False)])
def test_unseal_live__an_expired_entry_still_in_the_tier_is_not_served(now: float, *, live: bool) -> None:
    entries, corrupt = unseal_live([(KEY, seal(ENTRY))], now=now)

    assert (KEY in entries) is live
    assert corrupt == 0


def test_unseal_live__counts_the_corrupt_and_serves_the_others() -> None:
    other = WarmKey("other")

    entries, corrupt = unseal_live([(KEY, seal(ENTRY)), (other, b"harmed")], now=NOW - 1)

    assert entries == {KEY: ENTRY}
    assert corrupt == 1

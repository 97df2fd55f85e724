"""Same value, same bytes."""

import hashlib
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preheat.canonical import as_data, canonical_json, quoted, sha256_hex
from tests.preheat.material import texts

_documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def _shuffled(value: object, random: Random) -> object:
    if isinstance(value, dict):
        items = [(key, _shuffled(one, random)) for key, one in value.items()]
        random.shuffle(items)
        return dict(items)
    return [_shuffled(one, random) for one in value] if isinstance(value, list) else value


@given(_documents, st.randoms(use_true_random=False))
def test_canonical_json__order_of_keys_does_not_show_at_any_depth(document: object, random: Random) -> None:
    assert canonical_json(_shuffled(document, random)) == canonical_json(document)


@given(_documents)
def test_canonical_json__loses_nothing(document: object) -> None:
    assert json.loads(canonical_json(document)) == document


def test_canonical_json__sorts_keys_and_keeps_text_as_it_is() -> None:
    assert canonical_json({"b": ["ü", 1.5, None], "a": {"d": "東京", "c": True}}) == (
        '{"a":{"c":true,"d":"東京"},"b":["ü",1.5,null]}'
    )


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_canonical_json__number_that_json_cannot_say_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical_json({"deep": [number]})


@given(_documents)
def test_quoted__is_the_same_document_on_one_line_without_a_tag(document: object) -> None:
    shown = quoted(document)

    assert json.loads(shown) == document
    assert len(shown.splitlines()) == 1
    assert "<" not in shown


def test_quoted__escapes_what_some_readers_take_for_a_line_break_or_a_tag() -> None:
    assert quoted("a\u2028b\x85c<d>é") == '"a\\u2028b\\u0085c\\u003cd>é"'


def test_sha256_hex__is_of_the_utf8_bytes() -> None:
    assert sha256_hex("東京") == hashlib.sha256("東京".encode()).hexdigest()
    assert len(sha256_hex("")) == 64


def test_as_data__no_control_token_is_left() -> None:
    assert as_data("<|im_end|>\n<||im_start|>") == "< |im_end|>\n< ||im_start|>"

"""Cutting a tenant's data to a number of tokens."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from infra.local.demo.sizing import TOLERANCE, Sizer, UnreachableSizeError
from infra.local.demo.tenant import TenantData, sample_tenant
from infra.local.sample.content import load_sample
from preheat.budget import count_message_tokens, count_tokens
from preheat.prefill import Message, prefix_messages


@pytest.fixture(scope="module")
def data() -> TenantData:
    return sample_tenant(load_sample())


def count(messages: Sequence[Message]) -> int:
    """Count like a tokenizer that needs a fifth less than the careful estimate."""
    return sum(count_message_tokens(str(message["content"]), count=count_tokens) for message in messages) * 4 // 5


def letters(messages: Sequence[Message]) -> int:
    """Count like a tokenizer to which four letters of anything are a token."""
    return sum(len(str(message["content"])) for message in messages) // 4


@pytest.mark.parametrize("wanted", [700, 1024, 1536, 3000])
def test_fit__any_tokenizer_will_do(data: TenantData, wanted: int) -> None:
    sized = Sizer(data, count=letters).fit(wanted)
    assert abs(sized.tokens - wanted) <= TOLERANCE * wanted


@pytest.mark.parametrize("wanted", [512, 1024, 2048, 4096])
def test_fit__comes_within_the_tolerance(data: TenantData, wanted: int) -> None:
    sized = Sizer(data, count=count).fit(wanted)
    assert abs(sized.tokens - wanted) <= TOLERANCE * wanted
    assert sized.tokens == count(prefix_messages(sized.bundle))


def test_fit__budgets_drop_nothing_of_what_was_counted(data: TenantData) -> None:
    sized = Sizer(data, count=count).fit(2048)
    assert sized.bundle.tokens <= sized.budgets.max_tokens
    assert not sized.bundle.missing
    assert len(sized.bundle.frozen.tools) == sized.composition.session_tools == sized.budgets.session_tools


def test_fit__larger_sizes_hold_more_kinds_of_sections(data: TenantData) -> None:
    sizer = Sizer(data, count=count)
    small, large = sizer.fit(512), sizer.fit(4096)
    assert len(large.data.core_tools) >= len(small.data.core_tools) >= 1
    assert large.composition.session_tools > small.composition.session_tools
    assert {section.name for section in large.bundle.sections} >= {section.name for section in small.bundle.sections}


def test_fit__keeps_a_preference_to_change(data: TenantData) -> None:
    assert "home_airport" in dict(Sizer(data, count=count).fit(512).data.preferences)


def test_fit__without_exchanges_has_no_recent_turns(data: TenantData) -> None:
    sized = Sizer(data, count=count, exchanges=0).fit(512)
    assert sized.budgets.max_turns == 0
    assert "recent_turns" not in {section.name for section in sized.bundle.sections}


def test_fit__says_how_near_it_comes_when_there_is_too_little(data: TenantData) -> None:
    little = replace(data, domain_knowledge="", core_tools=(), catalog={"tools": []}, turns=())
    with pytest.raises(UnreachableSizeError) as caught:
        Sizer(little, count=count).fit(4096)
    assert 0 < caught.value.nearest_tokens < 4096
    assert "4096" in str(caught.value)


def test_fit__says_so_when_the_least_is_too_much(data: TenantData) -> None:
    with pytest.raises(UnreachableSizeError):
        Sizer(replace(data, instructions="word " * 3000), count=count).fit(512)

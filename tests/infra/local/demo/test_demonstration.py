"""The parts of the whole run that need no stack."""

import io
import re
from collections.abc import Sequence

import pytest
from rich.console import Console

from infra.local.demo.demonstration import new_seed, size_all
from infra.local.demo.progress import Narrator
from infra.local.demo.sizing import UnreachableSizeError
from infra.local.demo.tenant import sample_tenant
from infra.local.sample.content import load_sample
from preheat.prefill import Message
from preheat.session import ID_PATTERN


def count(messages: Sequence[Message]) -> int:
    return sum(len(str(message["content"])) for message in messages) // 4


@pytest.fixture
def narrator() -> Narrator:
    return Narrator(Console(file=io.StringIO()))


def test_size_all__sorts_sizes_and_says_each_once(narrator: Narrator) -> None:
    sized, missed = size_all(sample_tenant(load_sample()), [1024, 512, 512], count_tokens=count, narrator=narrator)
    assert [one.wanted_tokens for one in sized] == [512, 1024]
    assert missed == []


def test_size_all__leaves_out_what_is_out_of_reach(narrator: Narrator) -> None:
    sized, missed = size_all(sample_tenant(load_sample()), [512, 32_000], count_tokens=count, narrator=narrator)
    assert [one.wanted_tokens for one in sized] == [512]
    assert [one.wanted_tokens for one in missed] == [32_000]


def test_size_all__fails_when_nothing_is_left(narrator: Narrator) -> None:
    with pytest.raises(UnreachableSizeError):
        size_all(sample_tenant(load_sample()), [32_000], count_tokens=count, narrator=narrator)


def test_new_seed__can_be_a_part_of_a_tenants_name() -> None:

    assert re.fullmatch(ID_PATTERN, new_seed())

"""What a tenant is loaded with."""

from infra.local.demo.tenant import sample_tenant
from infra.local.sample.content import load_sample
from preheat.catalog import read_catalog


def test_sample_tenant__holds_the_whole_sample() -> None:
    sample = load_sample()
    data = sample_tenant(sample)
    assert len(data.turns) == len(sample.history)
    assert len(data.preferences) == len(sample.preferences)
    assert {turn.role for turn in data.turns} == {"user", "assistant", "tool"}
    assert all(isinstance(value, str | int | float | tuple) for _, value in data.preferences)


def test_sample_tenant__core_tools_and_calls_are_in_the_catalogue() -> None:
    data = sample_tenant(load_sample())
    names = {tool.name for tool in read_catalog(dict(data.catalog))}
    assert set(data.core_tools) <= names
    assert {call.name for turn in data.turns for call in turn.tool_calls} <= names


def test_question__goes_round() -> None:
    data = sample_tenant(load_sample())
    assert data.question(len(data.questions) + 1) == data.question(1)

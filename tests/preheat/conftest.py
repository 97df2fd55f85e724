"""Fixtures of the core's tests."""

from collections.abc import Iterator

import pytest

from tests.world import World, make_world


@pytest.fixture
def world() -> Iterator[World]:
    """A deployment in memory with one agent."""
    with make_world() as made:
        yield made

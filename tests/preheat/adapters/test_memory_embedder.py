"""The embedder without weights: what the fake adds to the contract."""

import pytest

from preheat.adapters.memory_embedder import MemoryEmbedder
from preheat.errors import EmbedderUnavailableError


def test_embed__counts_its_calls() -> None:
    embedder = MemoryEmbedder()
    embedder.embed(["a", "b"])
    embedder.embed([])

    assert embedder.calls == [2, 0]


def test_embed__fails_when_it_shall() -> None:
    embedder = MemoryEmbedder()
    embedder.unavailable = True

    with pytest.raises(EmbedderUnavailableError):
        embedder.embed(["a"])


def test_embed__another_model_gives_other_vectors() -> None:
    first, second = MemoryEmbedder(model="one").embed(["pottery"]), MemoryEmbedder(model="two").embed(["pottery"])

    assert abs(float(first[0] @ second[0])) < 0.5


def test_embed__has_the_dims_that_were_asked_for() -> None:
    assert MemoryEmbedder(dims=48).embed(["pottery"]).shape == (1, 48)

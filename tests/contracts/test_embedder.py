"""What every embedder must do, run on every one of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from preheat.adapters.memory_embedder import MemoryEmbedder
from preheat.adapters.static_embedder import StaticEmbedder
from preheat.errors import InvalidInputError
from preheat.ports import Embedder

SCRIPTS = (
    "Where did Rita hike?",
    "今天天气很好",
    "ラーメンが好き",
    "날씨가 좋다",
    "هل تمطر",
    "हिन्दी में मौसम",
    "🎉",
    "x" * 20_000,
)


@pytest.fixture(scope="module", params=[MemoryEmbedder, StaticEmbedder])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    return made


def test_embed__gives_one_unit_row_for_each_text_of_any_script(embedder: Embedder) -> None:
    rows = embedder.embed(SCRIPTS)

    assert rows.shape == (len(SCRIPTS), embedder.dims)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)


def test_embed__no_texts_are_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dims)


def test_embed__a_text_alone_and_among_others_has_the_same_vector(embedder: Embedder) -> None:
    together = embedder.embed(SCRIPTS)
    alone = np.concatenate([embedder.embed([text]) for text in SCRIPTS])

    assert together.tobytes() == alone.tobytes()


def test_embed__another_embedder_of_the_same_model_gives_the_same_vectors(embedder: Embedder) -> None:
    other: Embedder = type(embedder)()

    assert other.model == embedder.model
    assert other.embed(SCRIPTS).tobytes() == embedder.embed(SCRIPTS).tobytes()


def test_embed__what_is_alike_is_closer_than_what_is_not(embedder: Embedder) -> None:
    question, alike, other = embedder.embed(
        ["which pottery course does Ana take?", "Ana takes a pottery course on Mondays", "reset the water pump"]
    )

    assert float(question @ alike) > float(question @ other) + 0.2


@pytest.mark.parametrize("blank", ["", "   ", "\n\t"])
def test_embed__a_blank_text_is_refused_by_its_place(embedder: Embedder, blank: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        embedder.embed(["something", blank])

    assert refused.value.field == "texts[1]"


def test_embed__may_be_shared_by_threads(embedder: Embedder) -> None:
    fresh: Embedder = type(embedder)()
    with ThreadPoolExecutor(4) as executor:
        found = list(executor.map(lambda _: fresh.embed(SCRIPTS).tobytes(), range(8)))

    assert set(found) == {embedder.embed(SCRIPTS).tobytes()}

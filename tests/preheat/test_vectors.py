"""Vectors in four bits: small, and still pointing where they pointed."""

import numpy as np
import pytest

from preheat.vectors import common_part, pack, packed_bytes, unit, unpack


def _random_rows(count: int, dims: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return unit(np.random.default_rng(3).standard_normal((count, dims)).astype(np.float32)).reshape(count, dims)


@pytest.mark.parametrize("dims", [1, 7, 64, 256])
def test_pack__comes_back_as_unit_rows_that_point_the_same_way(dims: int) -> None:
    rows = _random_rows(50, dims)

    back = unpack(pack(rows), dims=dims)

    assert pack(rows).shape == (50, packed_bytes(dims))
    assert back.shape == (50, dims)
    assert back.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1, rtol=1e-5)
    assert float((rows * back).sum(axis=1).min()) > 0.97


def test_pack__what_came_back_packs_to_the_same_bytes() -> None:
    packed = pack(_random_rows(40, 64))

    assert pack(unpack(packed, dims=64)).tobytes() == packed.tobytes()


def test_pack__row_does_not_depend_on_its_neighbours() -> None:
    rows = _random_rows(9, 64)

    assert b"".join(pack(row[None, :]).tobytes() for row in rows) == pack(rows).tobytes()


def test_unpack__zeros_stay_zeros() -> None:
    assert not unpack(pack(np.zeros((2, 5), dtype=np.float32)), dims=5).any()


def test_unpack__nothing_is_no_rows() -> None:
    assert unpack(pack(np.empty((0, 6), dtype=np.float32)), dims=6).shape == (0, 6)


def test_common_part__of_many_rows_is_their_mean_and_of_few_is_held_back() -> None:
    row = np.array([[3.0, 4.0]], dtype=np.float32)

    assert common_part(np.repeat(row, 10_000, axis=0)).tolist() == pytest.approx([3.0, 4.0], rel=0.01)
    assert float(np.linalg.norm(common_part(row))) < 0.5
    assert not common_part(np.empty((0, 2), dtype=np.float32)).any()

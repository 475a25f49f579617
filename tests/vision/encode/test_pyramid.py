from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.vision import DiagonalGMM, FisherEncoder, SpatialPyramid

X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
ENCODER = FisherEncoder(DiagonalGMM(3, random_state=0).fit(X))


@given(x=st.floats(0, 100), y=st.floats(0, 60), rows=st.integers(1, 5), columns=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_a_frame_lies_in_the_cell_around_it(x, y, rows, columns):
    (cell,) = SpatialPyramid(f"{rows}x{columns}").cell_ids([[x, y]], width=100, height=60)[:, 0]
    row, column = divmod(int(cell), columns)
    assert row * 60 / rows <= y + 1e-9
    assert y <= (row + 1) * 60 / rows + 1e-9
    assert column * 100 / columns <= x + 1e-9
    assert x <= (column + 1) * 100 / columns + 1e-9


def test_cells_are_numbered_level_by_level_and_row_by_row():
    pyramid = SpatialPyramid("1x1+2x2")
    frames = [[10, 10], [90, 10], [10, 90], [90, 90]]
    np.testing.assert_array_equal(pyramid.cell_ids(frames, width=100, height=100), [[0] * 4, [1, 2, 3, 4]])


@pytest.mark.parametrize("cells", ["1x1", "1x1+3x1", "1x1+2x2+4x4", "2x2+3x3"])
def test_equals_encoding_every_cell_on_its_own(cells):
    encoder, pyramid = ENCODER, SpatialPyramid(cells)
    rng = np.random.default_rng(1)
    descriptors = rng.normal(size=(120, 4)).astype(np.float32)
    frames = rng.uniform(0, [80, 50], size=(120, 2))
    together = pyramid.encode(encoder, descriptors, frames, width=80, height=50)
    ids = pyramid.cell_ids(frames, width=80, height=50)
    members = np.array([(ids == cell).any(axis=0) for cell in range(pyramid.n_cells)])
    alone = [encoder.encode_sums(encoder.sums(descriptors[inside])) for inside in members]
    assert together.dtype == np.float32
    np.testing.assert_allclose(together, np.concatenate(alone), atol=2e-3)
    lengths = np.linalg.norm(together.reshape(pyramid.n_cells, -1), axis=1)
    np.testing.assert_allclose(lengths, members.any(axis=1), atol=1e-5)


def test_empty_cells_and_pictures_are_zero():
    encoder, pyramid = ENCODER, SpatialPyramid("1x1+3x1")
    vector = pyramid.encode(encoder, X[:5], np.full((5, 3), 1.0), width=90, height=90).reshape(4, -1)
    np.testing.assert_allclose(vector[0], vector[1], atol=1e-6)
    assert vector[1].any()
    assert not vector[2:].any()
    nothing = pyramid.encode(encoder, np.empty((0, 4)), np.empty((0, 2)), width=90, height=90)
    assert nothing.shape == (4 * encoder.n_dims,)
    assert not nothing.any()


def test_full_size_is_what_the_papers_use():
    assert SpatialPyramid("1x1+3x1").n_cells * 2 * 256 * 128 == 262_144


@pytest.mark.parametrize("cells", ["", "1", "0x1", "1x", "1x1+", "axb", "1x1x1", "-1x2", "100x100", "99999x1", "١x١"])
def test_unreadable_cells_are_refused(cells):
    with pytest.raises(InputError, match="cells"):
        SpatialPyramid(cells).n_cells  # noqa: B018 - reading is what fails


@pytest.mark.parametrize(
    ("frames", "size"),
    [
        ([[101.0, 1.0]], (100, 100)),
        ([[-1.0, 1.0]], (100, 100)),
        ([[np.nan, 1.0]], (100, 100)),
        ([[1.0, 1.0]], (0, 100)),
        ([[1.0]], (100, 100)),
        ([1.0, 1.0], (100, 100)),
    ],
)
def test_frames_outside_the_picture_are_refused(frames, size):
    with pytest.raises(InputError):
        SpatialPyramid().cell_ids(frames, width=size[0], height=size[1])


def test_every_descriptor_needs_a_frame():
    with pytest.raises(InputError, match=r"need \d+ frames"):
        SpatialPyramid().encode(ENCODER, X[:3], [[1.0, 1.0]], width=9, height=9)

"""What all global features promise."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.vision import (
    colour_correlogram,
    colour_histogram,
    edge_direction_histogram,
    gist,
    grid_colour_moments,
    haar_wavelet,
)
from visterm.vision._global_inputs import spans, squeezed, whole_grey

FEATURES = {
    "gist": (gist, 512),
    "hsv": (colour_histogram, 4096),
    "rgb": (partial(colour_histogram, space="rgb"), 4096),
    "lab": (partial(colour_histogram, space="lab"), 4096),
    "correlogram": (colour_correlogram, 144),
    "moments": (grid_colour_moments, 225),
    "edges": (edge_direction_histogram, 73),
    "haar": (haar_wavelet, 4032),
    "quantised haar": (partial(haar_wavelet, quantised=True), 4032),
}
every_feature = pytest.mark.parametrize("name", FEATURES)


@every_feature
@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (3, 2), (40, 61)])
@pytest.mark.parametrize("fill", ["black", "white", "noise"])
def test_has_its_length_whatever_the_picture(name, shape, fill):
    feature, n_dims = FEATURES[name]
    level = {"black": 0, "white": 255, "noise": np.random.default_rng(0).integers(0, 256, (*shape, 3))}[fill]
    vector = feature(np.full((*shape, 3), level, np.uint8))
    assert (vector.shape, vector.dtype) == ((n_dims,), np.float32)
    assert np.isfinite(vector).all()


@every_feature
def test_bytes_and_floats_give_the_same(name):
    feature, _ = FEATURES[name]
    picture = np.random.default_rng(1).integers(0, 256, (33, 47, 3), np.uint8)
    np.testing.assert_allclose(feature(picture), feature(picture / 255), atol=1e-5)


@every_feature
def test_values_beyond_the_scale_are_clipped(name):
    feature, _ = FEATURES[name]
    picture = np.random.default_rng(2).uniform(-1, 2, (20, 30, 3))
    np.testing.assert_array_equal(feature(picture), feature(np.clip(picture, 0, 1)))


@every_feature
@pytest.mark.parametrize(
    "picture",
    [
        np.full((9, 9, 3), np.nan),
        np.full((9, 9, 3), np.inf),
        np.zeros((0, 9, 3), np.uint8),
        np.zeros((9, 0, 3)),
        np.zeros((9, 9, 3), np.int64),
        np.zeros((9, 9, 4), np.uint8),
        np.zeros(9),
        np.array([["a", "b"]]),
    ],
    ids=["NaN", "infinite", "no rows", "no columns", "int64", "four channels", "one axis", "text"],
)
def test_what_is_no_picture_is_refused(name, picture):
    feature, _ = FEATURES[name]
    with pytest.raises(InputError):
        feature(picture)


@pytest.mark.parametrize("name", ["gist", "edges", "haar", "quantised haar"])
def test_a_grey_picture_is_like_the_same_in_three_channels(name):
    feature, _ = FEATURES[name]
    grey = np.random.default_rng(3).random((50, 40), np.float32)
    np.testing.assert_allclose(feature(grey), feature(np.repeat(grey[..., None], 3, axis=2)), atol=1e-5)


def test_grey_never_exceeds_one():
    assert whole_grey(np.ones((5, 5, 3))).max() <= 1


def test_squeezing_keeps_the_mean():
    plane = np.random.default_rng(0).random((256, 512), np.float32)
    assert squeezed(plane, 64).mean() == pytest.approx(plane.mean(), abs=1e-3)


@pytest.mark.parametrize("length", [1, 4, 5, 17])
def test_spans_cover_every_pixel(length):
    parts = spans(length, 5)
    assert len(parts) == 5
    assert all(part.start < part.stop for part in parts)
    assert {pixel for part in parts for pixel in range(part.start, part.stop)} == set(range(length))

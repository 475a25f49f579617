"""How pictures are prepared: as the image processors of CLIP and SigLIP do it, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tiny_pair import DEVIATION, MEAN, PREPARATION, prepared

from visterm.errors import InputError
from visterm.vision.network.pair_pictures import preprocessing_of

HALF = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}


def noise(width: int, height: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@given(st.integers(20, 300), st.integers(20, 300))
def test_the_shorter_side_is_resized_and_the_centre_is_cut_out(width, height):
    picture = noise(width, height)
    np.testing.assert_allclose(preprocessing_of(PREPARATION)(picture), prepared(Image.fromarray(picture)), atol=1e-5)


@pytest.mark.parametrize(
    ("number", "kind"),
    [(0, "NEAREST"), (1, "LANCZOS"), (2, "BILINEAR"), (3, "BICUBIC"), (4, "BOX"), (5, "HAMMING")],
)
def test_a_picture_may_be_squeezed_into_a_square_by_any_filter(number, kind):
    settings = {"size": {"height": 40, "width": 40}, "resample": number, **HALF}
    resized = np.asarray(Image.fromarray(noise(90, 61)).resize((40, 40), Image.Resampling[kind]), np.float64)
    np.testing.assert_allclose(
        preprocessing_of(settings)(noise(90, 61)), resized.transpose(2, 0, 1) / 127.5 - 1, atol=1e-6
    )


def test_a_square_may_be_cut_after_squeezing():
    settings = {"size": {"height": 64, "width": 64}, "crop_size": {"height": 48, "width": 48}, **HALF}
    squeezed = Image.fromarray(noise(200, 100)).resize((64, 64), Image.Resampling.BICUBIC).crop((8, 8, 56, 56))
    np.testing.assert_allclose(
        preprocessing_of(settings)(noise(200, 100)),
        np.asarray(squeezed, np.float64).transpose(2, 0, 1) / 127.5 - 1,
        atol=1e-6,
    )


def test_colours_are_scaled_as_the_settings_say():
    picture = np.full((30, 30, 3), 51, np.uint8)
    size = {"size": {"height": 8, "width": 8}}
    expected = (0.2 - np.array(MEAN)) / DEVIATION
    told = {"image_mean": list(MEAN), "image_std": list(DEVIATION)}
    np.testing.assert_allclose(preprocessing_of(size | told)(picture)[:, 0, 0], expected, rtol=1e-5)
    # MobileCLIP's colours are only divided by 255; others are not even that.
    np.testing.assert_allclose(preprocessing_of(size | told | {"do_normalize": False})(picture), 0.2, rtol=1e-6)
    raw = {"do_normalize": False, "do_rescale": False}
    np.testing.assert_allclose(preprocessing_of(size | raw)(picture), 51)
    np.testing.assert_allclose(preprocessing_of(size | HALF | {"rescale_factor": 1 / 51})(picture), 1, rtol=1e-6)


def test_sizes_may_be_written_in_the_ways_of_several_versions():
    written = [
        {"size": 48, "crop_size": 48, "do_center_crop": True},
        {"size": {"shortest_edge": 48}, "crop_size": 48},
        {"size": {"shortest_edge": 48}, "crop_size": {"height": 48, "width": 48}, "resample": 3},
    ]
    assert len({preprocessing_of(settings | HALF) for settings in written}) == 1
    square = preprocessing_of({"size": 48, "do_center_crop": False, "crop_size": 32} | HALF)
    assert (square.size, square.squash, square.crop) == (48, True, 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "has size None: only squares"),
        ({"size": {"shortest_edge": 48}}, "only squares"),
        ({"size": {"height": 48, "width": 64}}, "only squares"),
        ({"size": {"longest_edge": 48}}, "only squares"),
        ({"size": 48, "crop_size": 64}, "size 48 and crop_size 64"),
        ({"size": "48"}, "only squares"),
        ({"size": True}, "only squares"),
        ({"size": [48, 48]}, "only squares"),
        ({"size": 48, "do_resize": False}, "does not resize"),
        ({"size": 48, "do_pad": True}, "do_pad"),
        ({"size": 48, "resample": 9}, "unknown filter 9"),
        ({"size": 48, "resample": "bicubic"}, "unknown filter"),
        ({"size": 48, "image_mean": None}, "image_mean"),
        ({"size": 48, "image_mean": [0.5]}, "image_mean"),
        ({"size": 48, "image_std": [0, 0, 0]}, "deviations must be positive"),
        ({"size": 48, "image_std": [float("nan")] * 3}, "finite"),
        ({"size": 48, "rescale_factor": 0}, "rescale_factor"),
        ({"size": 48, "rescale_factor": "a lot"}, "rescale_factor"),
        ({"size": 10**9}, "1 to 2048 pixels"),
    ],
)
def test_settings_that_cannot_be_followed_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        preprocessing_of(HALF | settings)

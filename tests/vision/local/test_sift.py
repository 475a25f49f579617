from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from visterm.errors import InputError
from visterm.vision import Grid, dense_sift, grids, opponent_sift, root_sift
from visterm.vision._filters import coverage, sample, smooth, triangle

modest = settings(max_examples=15, deadline=None)
pictures = st.tuples(st.integers(13, 24), st.integers(13, 24)).flatmap(
    lambda shape: hnp.arrays(np.uint8, shape, elements=st.integers(0, 255), fill=st.nothing())
)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, np.float32)


def slow_sift(grey, step, size, *, fast=True, threshold=0.0):
    """The definition, gradient by gradient, in float64."""
    height, width = grey.shape
    dy, dx = np.gradient(grey.astype(np.float64))
    length = np.hypot(dx, dy)
    angle = np.arctan2(dy, dx) / (2 * np.pi) * 8 % 8
    frames, descriptors = [], []
    for top in range(0, height - 3 * size, step):
        for left in range(0, width - 3 * size, step):
            bins = np.zeros((4, 4, 8))
            centre_y, centre_x = top + 1.5 * size, left + 1.5 * size
            for a in range(4):
                for b in range(4):
                    cy, cx = top + a * size, left + b * size
                    for y in range(cy - size + 1, cy + size):
                        for x in range(cx - size + 1, cx + size):
                            inside = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
                            near = (1 - abs(y - cy) / size) * (1 - abs(x - cx) / size)
                            if not fast:
                                near *= np.exp(-((y - centre_y) ** 2 + (x - centre_x) ** 2) / (2 * (2 * size) ** 2))
                            lower, share = int(angle[inside]), angle[inside] % 1
                            bins[a, b, lower % 8] += near * length[inside] * (1 - share)
                            bins[a, b, (lower + 1) % 8] += near * length[inside] * share
                    if fast:
                        reach = np.arange(1 - size, size)
                        window_y = np.exp(-((cy + reach - centre_y) ** 2) / (2 * (2 * size) ** 2)).mean()
                        window_x = np.exp(-((cx + reach - centre_x) ** 2) / (2 * (2 * size) ** 2)).mean()
                        bins[a, b] *= window_y * window_x
            frames.append((centre_x, centre_y, 4 * size))
            if bins.sum() / (3 * size + 1) ** 2 <= threshold:
                descriptors.append(np.zeros(128))
                continue
            clipped = np.minimum(bins.ravel() / np.linalg.norm(bins), 0.2)
            descriptors.append(clipped / np.linalg.norm(clipped))
    return np.array(frames).reshape(-1, 3), np.array(descriptors).reshape(-1, 128)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("shape", "step", "size"), [((14, 17), 3, 4), ((16, 13), 4, 3), ((9, 12), 1, 2), ((7, 7), 5, 1)]
)
def test_equals_the_definition(shape, step, size, fast):
    grey = noise(*shape)
    expected_frames, expected = slow_sift(grey, step, size, fast=fast)
    frames, descriptors = dense_sift(grey, step, [size], magnification=None, fast=fast, contrast_threshold=0)
    np.testing.assert_array_equal(frames, expected_frames)
    np.testing.assert_allclose(descriptors, expected, atol=2e-6)


def test_scales_follow_each_other_each_with_its_smoothing():
    grey = noise(40, 50)
    frames, descriptors = dense_sift(grey, step=4, bin_sizes=(4, 8), contrast_threshold=0)
    parts = []
    for size in (4, 8):
        blurred = ndimage.gaussian_filter(grey, ((size / 6) ** 2 - 0.25) ** 0.5, truncate=4.0, mode="nearest")
        parts.append(dense_sift(blurred, 4, [size], magnification=None, contrast_threshold=0))
    np.testing.assert_array_equal(frames, np.concatenate([part[0] for part in parts]))
    # SciPy rounds the radius of the Gaussian to the nearest pixel, here it is rounded up.
    assert (descriptors * np.concatenate([part[1] for part in parts])).sum(axis=1).min() > 0.9999


@modest
@given(grey=pictures, shift=st.floats(-2, 2))
def test_brightness_does_not_matter(grey, shift):
    values = grey / np.float32(255)
    _, plain = dense_sift(values, bin_sizes=[3, 4])
    _, shifted = dense_sift(values + np.float32(shift), bin_sizes=[3, 4])
    np.testing.assert_allclose(shifted, plain, atol=1e-3)


@modest
@given(grey=pictures, factor=st.floats(0.1, 10))
def test_contrast_does_not_matter_but_for_the_threshold(grey, factor):
    values = grey / np.float32(255)
    _, plain = dense_sift(values, bin_sizes=[4], contrast_threshold=0.001)
    _, scaled = dense_sift(values * np.float32(factor), bin_sizes=[4], contrast_threshold=0.001 * factor)
    kept = plain.any(axis=1) & scaled.any(axis=1)
    np.testing.assert_allclose(scaled[kept], plain[kept], atol=1e-5)


def mirrored_bins(descriptors):
    bins = descriptors.reshape(-1, 4, 4, 8)[:, :, ::-1]
    return bins[..., (4 - np.arange(8)) % 8].reshape(-1, 128)


def transposed_bins(descriptors):
    bins = descriptors.reshape(-1, 4, 4, 8).swapaxes(1, 2)
    return bins[..., (2 - np.arange(8)) % 8].reshape(-1, 128)


def sorted_by_place(frames, descriptors):
    order = np.lexsort((frames[:, 0], frames[:, 1], frames[:, 2]))
    return frames[order], descriptors[order]


@pytest.mark.parametrize("fast", [True, False])
@modest
@given(grey=pictures)
def test_mirroring_permutes_bins_and_mirrors_frames(grey, fast):
    frames, descriptors = dense_sift(grey, step=1, bin_sizes=[3, 4], fast=fast)
    mirror_frames, mirror = dense_sift(grey[:, ::-1], step=1, bin_sizes=[3, 4], fast=fast)
    mirror_frames[:, 0] = grey.shape[1] - 1 - mirror_frames[:, 0]
    back_frames, back = sorted_by_place(mirror_frames, mirrored_bins(mirror))
    np.testing.assert_array_equal(back_frames, frames)
    np.testing.assert_allclose(back, descriptors, atol=1e-5)


@modest
@given(grey=pictures)
def test_transposing_permutes_bins_and_swaps_coordinates(grey):
    frames, descriptors = dense_sift(grey, step=2, bin_sizes=[3, 4])
    turned_frames, turned = dense_sift(grey.T, step=2, bin_sizes=[3, 4])
    back_frames, back = sorted_by_place(turned_frames[:, [1, 0, 2]], transposed_bins(turned))
    np.testing.assert_array_equal(back_frames, frames)
    np.testing.assert_allclose(back, descriptors, atol=1e-5)


@modest
@given(grey=pictures)
def test_descriptors_have_length_one_or_zero_and_no_large_value(grey):
    _, descriptors = dense_sift(grey, bin_sizes=[3, 4])
    lengths = np.linalg.norm(descriptors, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    assert descriptors.min(initial=0) >= 0


@pytest.mark.parametrize("value", [0, 77, 255])
@pytest.mark.parametrize("threshold", [0, 0.005])
def test_constant_picture_has_descriptors_of_zeros(value, threshold):
    frames, descriptors = dense_sift(np.full((64, 48), value, np.uint8), contrast_threshold=threshold)
    assert len(frames) == len(descriptors) > 0
    assert not descriptors.any()


def test_low_contrast_is_suppressed_patch_by_patch():
    grey = np.zeros((30, 60), np.float32)
    grey[:, :20] = 0.002 * noise(30, 20)
    grey[:, 40:] = noise(30, 20)
    _, expected = slow_sift(grey, 4, 3, threshold=0.005)
    _, descriptors = dense_sift(grey, 4, [3], magnification=None)
    assert 0 < descriptors.any(axis=1).sum() < len(descriptors)
    np.testing.assert_allclose(descriptors, expected, atol=2e-6)


def test_kinds_of_input_agree():
    grey = (255 * noise(40, 60)).astype(np.uint8)
    frames, expected = dense_sift(grey)
    strided = np.zeros((80, 120), np.uint8)
    strided[::2, ::2] = grey
    for same in (grey / 255, (grey / 255).astype(np.float32), np.asfortranarray(grey), strided[::2, ::2]):
        other_frames, descriptors = dense_sift(same)
        np.testing.assert_array_equal(other_frames, frames)
        np.testing.assert_allclose(descriptors, expected, atol=1e-5)
    assert expected.dtype == frames.dtype == np.float32


def test_input_is_left_as_it_was():
    grey = noise(40, 40)
    before = grey.copy()
    dense_sift(grey)
    np.testing.assert_array_equal(grey, before)


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (12, 100), (100, 12), (0, 40)])
def test_picture_smaller_than_a_patch_has_none(shape):
    frames, descriptors = dense_sift(np.zeros(shape, np.uint8))
    assert frames.shape == (0, 3)
    assert descriptors.shape == (0, 128)


def test_small_picture_has_patches_of_the_small_bins_only():
    frames, descriptors = dense_sift(noise(13, 13), bin_sizes=(12, 4))
    assert frames.tolist() == [[6, 6, 16]]
    assert len(descriptors) == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, -1e30])
def test_values_that_are_not_finite_are_refused(bad):
    grey = noise(20, 20).astype(np.float64)
    grey[3, 4] = bad
    with pytest.raises(InputError, match="finite"):
        dense_sift(grey)


@pytest.mark.parametrize(
    ("grey", "options", "message"),
    [
        (np.zeros((20, 20, 3)), {}, "height, width"),
        (np.zeros(20), {}, "height, width"),
        (np.zeros((20, 20), np.int32), {}, "uint8"),
        (np.zeros((20, 20), complex), {}, "uint8"),
        (np.array([["a", "b"]]), {}, "uint8"),
        (np.zeros((20, 20)), {"step": 0}, "step"),
        (np.zeros((20, 20)), {"step": 1.5}, "step"),
        (np.zeros((20, 20)), {"bin_sizes": []}, "bin_sizes"),
        (np.zeros((20, 20)), {"bin_sizes": [4, -4]}, "bin_sizes"),
        (np.zeros((20, 20)), {"step": [4, 4], "bin_sizes": [4]}, "2 steps"),
        (np.zeros((20, 20)), {"magnification": 0}, "magnification"),
        (np.zeros((20, 20)), {"magnification": np.nan}, "magnification"),
        (np.zeros((20, 20)), {"contrast_threshold": -1}, "threshold"),
    ],
)
def test_wrong_use_is_named(grey, options, message):
    with pytest.raises(InputError, match=message):
        dense_sift(grey, **options)


def test_root_sift_gives_the_hellinger_kernel():
    _, descriptors = dense_sift(noise(40, 40))
    roots = root_sift(descriptors)
    shares = descriptors / descriptors.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(roots @ roots.T, np.sqrt(shares) @ np.sqrt(shares).T, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(roots, axis=1), 1, atol=1e-5)
    assert not root_sift(np.zeros((2, 128), np.float32)).any()
    assert root_sift(np.zeros((0, 128), np.float32)).shape == (0, 128)


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_root_sift_refuses_what_has_no_root(bad):
    with pytest.raises(InputError):
        root_sift(np.array([[1.0, bad]], np.float32))


@pytest.mark.parametrize("sigma", [0.44, 1.0, 3.2])
@pytest.mark.parametrize("shape", [(20, 30), (1, 5), (3, 1)])
def test_smoothing_equals_two_convolutions(sigma, shape):
    radius = int(np.ceil(4 * sigma))
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    taps /= taps.sum()
    picture = noise(*shape)
    expected = picture.astype(np.float64)
    for axis in (0, 1):
        expected = ndimage.correlate1d(expected, taps, axis, mode="nearest")
    np.testing.assert_allclose(smooth(picture, sigma), expected, atol=1e-6)


@modest
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3)),
    n_taps=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    first=st.tuples(st.integers(-6, 2), st.integers(-6, 2)),
    spacing=st.integers(1, 4),
    out_shape=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    repeat_border=st.booleans(),
)
def test_sampling_equals_its_definition(shape, n_taps, first, spacing, out_shape, repeat_border):
    generator = np.random.default_rng(0)
    lanes = generator.random(shape)
    taps = generator.random(n_taps[0]), generator.random(n_taps[1])
    expected = np.zeros((*out_shape, shape[2]))
    for i, j in np.ndindex(out_shape):
        for k, m in np.ndindex(n_taps):
            y, x = i * spacing + first[0] + k, j * spacing + first[1] + m
            inside = min(max(y, 0), shape[0] - 1), min(max(x, 0), shape[1] - 1)
            if repeat_border or inside == (y, x):
                expected[i, j] += taps[0][k] * taps[1][m] * lanes[inside]
    np.testing.assert_allclose(
        sample(lanes, taps, first, spacing, out_shape, repeat_border=repeat_border), expected, atol=1e-12
    )


@given(size=st.integers(1, 40))
def test_triangles_add_up_to_one_everywhere(size):
    weights = triangle(size)
    overlapping = weights[: size - 1] + weights[size:]
    np.testing.assert_allclose(overlapping, 1, atol=1e-6)


@given(length=st.integers(1, 30), offset=st.floats(-20, 20))
def test_coverage_adds_up_to_the_length(length, offset):
    first, shares = coverage(length, offset)
    assert shares.sum() == pytest.approx(length)
    assert np.all((shares > -1e-12) & (shares < 1 + 1e-12))
    assert first - 0.5 <= offset <= first + 0.5


def test_steps_may_differ_between_scales():
    frames, _ = dense_sift(noise(60, 60), [4, 6, 8], [4, 4, 6])
    for grid in (Grid.over((60, 60), 4, 4), Grid.over((60, 60), 8, 6)):
        np.testing.assert_array_equal(frames[frames[:, 2] == 4 * grid.bin_size][: grid.n_patches], grid.frames())


@given(shape=st.tuples(st.integers(0, 90), st.integers(0, 90)), step=st.integers(1, 9), bin_size=st.integers(1, 20))
def test_cell_centres_lie_on_the_lattice_and_in_the_picture(shape, step, bin_size):
    (grid,) = grids(shape, step, [bin_size])
    centres = [grid.frames()[:, axis] + offset * bin_size for axis in (0, 1) for offset in (-1.5, -0.5, 0.5, 1.5)]
    assert all(np.all(centre % grid.spacing == 0) for centre in centres)
    if grid.n_patches:
        for axis, side in ((1, shape[0]), (0, shape[1])):
            outermost = grid.frames()[:, axis].max() + 1.5 * bin_size
            assert side - 1 - step < outermost <= side - 1
            assert (grid.lattice_shape[1 - axis] - 1) * grid.spacing == outermost
    else:
        assert min(shape) <= 3 * bin_size


def test_patches_of_the_paper_are_about_ten_thousand():
    n_patches = sum(grid.n_patches for grid in grids((274, 365), (4, 6, 8, 12, 16), (6, 8, 12, 16, 24)))
    assert 9_000 < n_patches < 11_000


def test_opponent_sift_of_a_grey_picture_is_the_sift_of_its_grey():
    grey = np.random.default_rng(0).integers(0, 256, (40, 40)).astype(np.uint8)
    frames, descriptors = opponent_sift(np.repeat(grey[..., None], 3, axis=2), bin_sizes=[6])
    expected_frames, plain = dense_sift(grey, bin_sizes=[6])
    np.testing.assert_array_equal(frames, expected_frames)
    # The intensity is sqrt(3) times the grey, which descriptors of unit length do not see; there is no colour.
    np.testing.assert_allclose(descriptors[:, :128], root_sift(plain) / np.sqrt(3), atol=1e-3)
    assert not descriptors[:, 128:].any()


def test_opponent_sift_sees_edges_between_equally_bright_colours():
    picture = np.zeros((40, 40, 3), np.float32)
    picture[:, :20, 0], picture[:, 20:, 1] = 0.5, 0.5  # red beside green
    _, descriptors = opponent_sift(picture, bin_sizes=[6])
    intensity, red_green, yellow_blue = np.split(descriptors, 3, axis=1)
    assert not intensity.any()
    assert red_green.any()
    assert not yellow_blue.any()

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from visterm.errors import InputError
from visterm.vision import decode_rgb, draw_regions, segment
from visterm.vision.local._kernels_regions import borders, connected, merge, slic
from visterm.vision.local.regions import LEAST_SHARE, checked_labels

PHOTOGRAPHS = Path(__file__).parents[4] / "shared" / "data" / "corel5k" / "images" / "train"


def four_parts(noise: float = 0.05, shape: tuple[int, int] = (128, 192)) -> tuple[np.ndarray, np.ndarray]:
    """Sky, ground, a wall and a ball, with noise; and which pixel is which."""
    height, width = shape
    y, x = np.mgrid[:height, :width]
    parts = np.where(x > 0.7 * width, 1, 0)
    parts[(y - height / 2) ** 2 + (x - width / 3) ** 2 < (height / 4) ** 2] = 2
    parts[y < height / 8] = 3
    colours = np.array([[0.1, 0.1, 0.1], [0.8, 0.3, 0.1], [0.1, 0.6, 0.2], [0.5, 0.6, 0.9]])
    picture = colours[parts] + np.random.default_rng(0).normal(0, noise, (*shape, 3))
    return np.clip(picture, 0, 1), parts


def assert_is_segmentation(labels: np.ndarray, shape: tuple[int, int], n_regions: int) -> None:
    assert (labels.shape, labels.dtype) == (shape, np.int32)
    sizes = np.bincount(labels.ravel())
    assert 1 <= len(sizes) <= n_regions
    assert sizes.min() >= LEAST_SHARE * labels.size
    assert (np.diff(sizes) <= 0).all()
    for region in range(len(sizes)):
        assert ndimage.label(labels == region)[1] == 1


@pytest.mark.parametrize("shape", [(128, 192), (256, 384), (64, 60)])
def test_finds_the_parts_of_a_picture(shape):
    picture, parts = four_parts(shape=shape)
    labels = segment(picture, 4)
    assert_is_segmentation(labels, shape, 4)
    for part in range(4):
        inside = np.bincount(labels[parts == part]).argmax()
        overlap = ((labels == inside) & (parts == part)).sum() / ((labels == inside) | (parts == part)).sum()
        assert overlap > 0.94


@pytest.mark.parametrize("n_regions", [1, 2, 10, 40, 100])
def test_has_as_many_regions_as_wanted(n_regions):
    picture = np.random.default_rng(1).random((90, 120, 3))
    labels = segment(picture, n_regions)
    assert_is_segmentation(labels, (90, 120), n_regions)
    assert labels.max() + 1 >= 0.6 * n_regions


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 12), st.integers(0, 9), st.sampled_from([0, 1, 4]))
def test_any_picture_is_divided(height, width, n_regions, seed, sigma):
    noise = np.random.default_rng(seed).random((height, width, 3))
    assert_is_segmentation(
        segment(ndimage.gaussian_filter(noise, (sigma, sigma, 0)), n_regions), (height, width), n_regions
    )


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (50, 70)])
def test_a_plain_picture_is_one_region(shape):
    assert not segment(np.full((*shape, 3), (30, 90, 200), np.uint8)).any()


@pytest.mark.parametrize("shape", [(1, 60_000), (60_000, 1), (3, 20_000)])
def test_very_long_pictures_are_divided_in_little_memory(shape):
    assert_is_segmentation(segment(np.random.default_rng(0).random((*shape, 3))), shape, 10)


def test_the_same_picture_has_the_same_regions():
    picture, _ = four_parts()
    np.testing.assert_array_equal(segment(picture), segment(picture.copy()))


def test_texture_tells_regions_of_equal_mean_colour_apart():
    picture = np.full((120, 160, 3), 0.5)
    picture[:, 80:] += 0.25 * np.random.default_rng(0).choice([-1, 1], (120, 80, 1))
    labels = segment(picture, 2)
    assert (labels[:, :76] == labels[0, 0]).mean() > 0.95
    assert (labels[:, 84:] == labels[0, 0]).mean() < 0.05


@pytest.mark.skipif(not PHOTOGRAPHS.is_dir(), reason="the Corel photographs are not on this machine")
def test_photographs_are_divided_into_ten():
    for path in sorted(PHOTOGRAPHS.glob("*.jpeg"))[::900]:
        picture = decode_rgb(path)
        labels = segment(picture)
        assert_is_segmentation(labels, picture.shape[:2], 10)
        assert labels.max() + 1 >= 8


@pytest.mark.parametrize("n_regions", [0, -1, 101, 2.5, None])
def test_impossible_numbers_of_regions_are_refused(n_regions):
    with pytest.raises(InputError, match="region"):
        segment(np.zeros((5, 5, 3)), n_regions)


@pytest.mark.parametrize("rgb", [np.full((5, 5, 3), np.nan), np.zeros((5, 5)), np.zeros((0, 5, 3))])
def test_what_is_no_picture_is_refused(rgb):
    with pytest.raises(InputError):
        segment(rgb)


def test_clusters_equal_the_definition():
    lab = np.random.default_rng(2).uniform(0, 50, (17, 23, 3)).astype(np.float32)
    spacing, compactness, n_rounds = 5.0, 12.0, 3
    rows, columns = 3, 5
    y, x = np.indices(lab.shape[:2])
    starts = [(int((i + 0.5) * 17 / rows), int((j + 0.5) * 23 / columns)) for i in range(rows) for j in range(columns)]
    centres = np.array([(*lab[start], *start) for start in starts], np.float64)
    labels = np.zeros(lab.shape[:2], int)
    for _ in range(n_rounds):
        distances = np.full((rows * columns, *lab.shape[:2]), np.inf)
        for k, (lightness, a, b, cy, cx) in enumerate(centres):
            near = (abs(y - int(cy)) <= spacing) & (abs(x - int(cx)) <= spacing)
            colour = ((lab - [lightness, a, b]) ** 2).sum(axis=2)
            distances[k, near] = (colour + (compactness / spacing) ** 2 * ((y - cy) ** 2 + (x - cx) ** 2))[near]
        reached = np.isfinite(distances).any(axis=0)
        labels[reached] = distances.argmin(axis=0)[reached]
        for k in np.unique(labels):
            centres[k] = np.column_stack((lab[labels == k], y[labels == k], x[labels == k])).mean(axis=0)
    assert (slic(lab, spacing, compactness, n_rounds) == labels).mean() > 0.99  # equal but for rounding


def test_connected_parts_equal_labelling():
    labels = np.random.default_rng(3).integers(0, 3, (20, 30)).astype(np.int32)
    parts, n = connected(labels, 0)
    pairs = set()
    for value in range(3):
        components, _ = ndimage.label(labels == value)
        pairs |= {(value, c, p) for c, p in zip(components[labels == value], parts[labels == value], strict=True)}
    assert len(pairs) == n == len({part for *_, part in pairs})


def test_small_parts_join_their_neighbours():
    labels = np.random.default_rng(4).integers(0, 3, (20, 30)).astype(np.int32)
    parts, n = connected(labels, 6)
    sizes = np.bincount(parts.ravel())
    assert len(sizes) == n
    assert sizes[1:].min() >= 6
    assert all(ndimage.label(parts == part)[1] == 1 for part in range(n))


def test_borders_equal_counting():
    labels = np.random.default_rng(5).integers(0, 4, (9, 11)).astype(np.int32)
    contrast = np.random.default_rng(6).random((9, 11)).astype(np.float32)
    length, strength = np.zeros((2, 4, 4), np.float32)
    borders(labels, contrast, length, strength)
    for i in range(4):
        for j in range(4):
            steps = [
                max(contrast[y, x], contrast[v, u])
                for y in range(9)
                for x in range(11)
                for v, u in ((y, x + 1), (y + 1, x), (y, x - 1), (y - 1, x))
                if 0 <= v < 9 and 0 <= u < 11 and labels[y, x] == i and labels[v, u] == j and i != j
            ]
            assert length[i, j] == len(steps)
            assert strength[i, j] == pytest.approx(sum(steps), rel=1e-5)


def slow_merge(sizes, means, length, strength, n_regions):
    """Compute the cost of every pair anew before every merge."""
    members = [[i] for i in range(len(sizes))]
    while len(members) > n_regions:
        costs = {}
        for a, one in enumerate(members):
            for b, other in enumerate(members[:a]):
                pairs = np.ix_(one, other)
                if length[pairs].any():
                    first, second = (np.average(means[m], axis=0, weights=sizes[m]) for m in (one, other))
                    harmonic = 1 / (1 / sizes[one].sum() + 1 / sizes[other].sum()) / sizes.sum()
                    contrast = strength[pairs].sum() / length[pairs].sum()
                    costs[b, a] = np.sqrt(harmonic * (np.linalg.norm(first - second) + 1) * (contrast + 0.5))
        b, a = min(costs, key=costs.__getitem__)
        members[b] += members.pop(a)
    return {frozenset(m) for m in members}


@pytest.mark.parametrize("n_regions", [1, 3, 8])
def test_merging_equals_the_definition(n_regions):
    generator = np.random.default_rng(7)
    labels = connected(generator.integers(0, 3, (8, 9)).astype(np.int32), 2)[0]
    n = labels.max() + 1
    length, strength = np.zeros((2, n, n), np.float32)
    borders(labels, generator.random((8, 9)).astype(np.float32), length, strength)
    sizes, means = np.bincount(labels.ravel()).astype(float), generator.uniform(0, 20, (n, 4))
    expected = slow_merge(sizes, means, length, strength, n_regions)
    regions = merge(sizes, means, length, strength, n_regions, 0.0, 0.0)
    assert {frozenset(np.flatnonzero(regions == region)) for region in np.unique(regions)} == expected


def test_outlines_separate_regions_and_leave_the_rest():
    picture = np.full((6, 8, 3), 77, np.uint8)
    labels = np.zeros((6, 8), int)
    labels[2:, 3:] = 1
    drawn = draw_regions(picture, labels)
    assert (drawn[1, 3:] == 255).all()
    assert (drawn[2:, 2] == 255).all()
    assert (drawn[2, 3:] == 0).all()
    assert (drawn[3:, 3] == 0).all()
    assert (drawn[0] == 77).all()
    assert (drawn[3:, 4:] == 77).all()
    assert (picture == 77).all()


@pytest.mark.parametrize(
    "labels",
    [
        np.zeros((5, 4), int),
        np.zeros((4, 5)),
        np.full((4, 5), -1),
        np.full((4, 5), 1),
        np.full((4, 5), 2**40),
        [["a"] * 5] * 4,
    ],
    ids=["shape", "floats", "negative", "one missing", "huge", "text"],
)
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(InputError, match="labels"):
        checked_labels(labels, (4, 5))

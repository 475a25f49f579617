from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage, spatial

from visterm.errors import InputError
from visterm.vision import REGION_FEATURE_NAMES, region_features, to_grey, to_lab
from visterm.vision.local._kernels_regions import boundary_lengths, hull_areas, oriented_energy

COLUMN = {name: column for column, name in enumerate(REGION_FEATURE_NAMES)}


@pytest.fixture
def blotches() -> tuple[np.ndarray, np.ndarray]:
    """A picture of noise and five regions, not all connected."""
    generator = np.random.default_rng(0)
    fields = ndimage.gaussian_filter(generator.random((5, 24, 31)), (0, 3, 3))
    return generator.random((24, 31, 3)), fields.argmax(axis=0)


def by_name(features: np.ndarray, name: str) -> np.ndarray:
    return features[:, COLUMN[name]]


def test_names_and_shape(blotches):
    features = region_features(*blotches)
    assert features.shape == (5, 54)
    assert features.dtype == np.float32
    assert len(set(REGION_FEATURE_NAMES)) == 54
    assert np.isfinite(features).all()


def test_place_and_colour_equal_the_definition(blotches):
    picture, labels = blotches
    features = region_features(picture, labels)
    lab, shares = to_lab(picture), picture / picture.sum(axis=2, keepdims=True)
    planes = dict(zip(("red", "green", "blue"), np.moveaxis(picture, 2, 0), strict=True))
    planes |= dict(zip(("lightness", "a", "b"), np.moveaxis(lab, 2, 0), strict=True))
    planes |= {"red_share": shares[..., 0], "green_share": shares[..., 1]}
    y, x = np.indices(labels.shape)
    for region in range(5):
        inside = labels == region
        row = dict(zip(REGION_FEATURE_NAMES, features[region], strict=True))
        assert row["area"] == pytest.approx(inside.mean(), rel=1e-5)
        assert row["x"] == pytest.approx((x[inside].mean() + 0.5) / 31, rel=1e-5)
        assert row["y"] == pytest.approx((y[inside].mean() + 0.5) / 24, rel=1e-5)
        for name, plane in planes.items():
            assert row[f"{name}_mean"] == pytest.approx(plane[inside].mean(), rel=1e-4, abs=1e-4)
            assert row[f"{name}_deviation"] == pytest.approx(plane[inside].std(), rel=1e-4, abs=1e-4)


def test_textures_equal_filters(blotches):
    picture, labels = blotches
    features = region_features(picture, labels)
    grey = to_grey(picture).astype(float)
    blurred = {s: ndimage.gaussian_filter(grey, s, mode="nearest", truncate=4) for s in (0.5, 1, 2, 4, 8)}
    planes = {f"blobs_{s:g}": abs(blurred[s] - blurred[2 * s]) for s in (0.5, 1, 2, 4)}
    for s in (1, 2):
        edge = np.pad(blurred[s], 1, mode="edge")
        middle, left, right, up, down = (
            edge[1:-1, 1:-1],
            edge[1:-1, :-2],
            edge[1:-1, 2:],
            edge[:-2, 1:-1],
            edge[2:, 1:-1],
        )
        dx, dy = (right - left) / 2, (down - up) / 2
        dxx, dyy = right - 2 * middle + left, down - 2 * middle + up
        dxy = (edge[2:, 2:] - edge[2:, :-2] - edge[:-2, 2:] + edge[:-2, :-2]) / 4
        for degrees in (0, 30, 60, 90, 120, 150):
            c, n = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
            planes[f"energy_{s}_{degrees}"] = np.hypot(
                s * (c * dx + n * dy), s**2 * (c * c * dxx + 2 * c * n * dxy + n * n * dyy)
            )
    assert len(planes) == 16
    for name, plane in planes.items():
        for region in range(5):
            inside = plane[labels == region]
            assert by_name(features, f"{name}_mean")[region] == pytest.approx(inside.mean(), rel=2e-3, abs=1e-4)
            assert by_name(features, f"{name}_deviation")[region] == pytest.approx(inside.std(), rel=2e-3, abs=1e-4)


def test_boundaries_and_hulls_equal_geometry(blotches):
    _, labels = blotches
    lengths, areas = boundary_lengths(labels.astype(np.int32), 5), hull_areas(labels.astype(np.int32), 5)
    for region in range(5):
        outside = np.pad(labels != region, 1, constant_values=True)
        sides = sum((~outside & np.roll(outside, shift, axis)).sum() for shift in (1, -1) for axis in (0, 1))
        assert lengths[region] == sides
        pixels = np.argwhere(labels == region)
        corners = np.concatenate([pixels + corner for corner in ((0, 0), (0, 1), (1, 0), (1, 1))])
        assert areas[region] == pytest.approx(spatial.ConvexHull(corners).volume)  # in the plane: the area


@pytest.mark.parametrize(
    ("shape", "compactness", "inertia"), [((1, 1), 1, 1), ((6, 6), 1, 1), ((1, 4), 16 * 4 / 100, 0.5 * (4 + 1 / 4))]
)
def test_shape_of_rectangles(shape, compactness, inertia):
    features = region_features(np.zeros((*shape, 3)), np.zeros(shape, int))
    assert by_name(features, "compactness")[0] == pytest.approx(compactness)
    assert by_name(features, "inertia")[0] == pytest.approx(inertia)
    assert by_name(features, "convexity")[0] == pytest.approx(1)


def test_a_corner_is_not_convex():
    labels = np.zeros((10, 10), int)
    labels[:5, 5:] = 1
    np.testing.assert_allclose(
        by_name(region_features(np.zeros((10, 10, 3)), labels), "convexity"), [75 / 87.5, 1], rtol=1e-6
    )


def test_black_has_equal_shares_and_no_texture():
    features = region_features(np.zeros((8, 8, 3)), np.zeros((8, 8), int))
    assert by_name(features, "red_share_mean")[0] == pytest.approx(1 / 3)
    assert not features[:, COLUMN["blobs_0.5_mean"] :].any()


@pytest.mark.parametrize("angle", [0, 30, 60, 90, 120, 150])
def test_energy_is_largest_across_stripes(angle):
    y, x = np.mgrid[:48, :48]
    across = x * np.cos(np.deg2rad(angle)) + y * np.sin(np.deg2rad(angle))
    stripes = np.repeat((0.5 + 0.4 * np.sin(2 * np.pi * across / 9))[..., None], 3, axis=2)
    features = region_features(stripes, np.zeros((48, 48), int))
    for blur in (1, 2):
        energies = {degrees: by_name(features, f"energy_{blur}_{degrees}_mean")[0] for degrees in range(0, 180, 30)}
        assert max(energies, key=energies.__getitem__) == angle


def test_flip_mirrors_place_and_orientation(blotches):
    picture, labels = blotches
    plain, flipped = region_features(picture, labels), region_features(picture[:, ::-1], labels[:, ::-1])
    expected = plain.copy()
    expected[:, COLUMN["x"]] = 1 - plain[:, COLUMN["x"]]
    for blur in (1, 2):
        for moment in ("mean", "deviation"):
            for degrees in range(0, 180, 30):
                mirrored = COLUMN[f"energy_{blur}_{-degrees % 180}_{moment}"]
                expected[:, COLUMN[f"energy_{blur}_{degrees}_{moment}"]] = plain[:, mirrored]
    np.testing.assert_allclose(flipped, expected, rtol=1e-3, atol=1e-4)


def test_energy_of_a_slope_is_its_rise_in_a_blur():
    slope = np.tile(np.arange(9, dtype=np.float32) / 10, (9, 1))
    energy = np.empty_like(slope)
    oriented_energy(slope, 2.0, 0.0, energy)
    np.testing.assert_allclose(energy[:, 1:-1], 0.2, atol=1e-6)


@pytest.mark.parametrize(
    ("picture", "labels"),
    [
        (np.full((4, 4, 3), np.nan), np.zeros((4, 4), int)),
        (np.zeros((4, 4, 3)), np.zeros((4, 5), int)),
        (np.zeros((4, 4, 3)), np.full((4, 4), 3)),
        (np.zeros((0, 4, 3)), np.zeros((0, 4), int)),
    ],
)
def test_what_does_not_fit_is_refused(picture, labels):
    with pytest.raises(InputError):
        region_features(picture, labels)

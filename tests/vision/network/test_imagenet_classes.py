"""What EfficientNet-Lite2 sees: probabilities of named classes, the same from pictures and from stored vectors."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.vision.network.efficientnet_lite import EfficientNetLite2
from visterm.vision.network.imagenet_classes import class_probabilities, imagenet_names
from visterm.vision.recipes import recipe


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, size, np.uint8) for size in ((80, 60, 3), (40, 120, 3))]


def test_the_recipe_and_stored_vectors_give_the_same(pictures):
    rows = recipe("imagenet-classes").compute_many(pictures)
    vectors = recipe("deep-lite2").compute_batch(pictures)
    np.testing.assert_array_equal([row["imagenet-classes"] for row in rows], class_probabilities(vectors))


def test_probabilities_are_the_softmax_of_the_last_layer(pictures):
    vectors = recipe("deep-lite2").compute_batch(pictures).astype(np.float64)
    weights, bias = EfficientNetLite2().classifier()
    odds = np.exp(vectors @ weights.T + bias)
    np.testing.assert_allclose(class_probabilities(vectors), odds / odds.sum(axis=1, keepdims=True), rtol=1e-4)


def test_many_pictures_are_taken_in_blocks(monkeypatch):
    vectors = np.random.default_rng(0).random((7, 1280), np.float32)
    whole = class_probabilities(vectors)
    monkeypatch.setattr("visterm.vision.network.imagenet_classes._BLOCK", 3)
    np.testing.assert_allclose(class_probabilities(vectors), whole, rtol=1e-5)
    assert class_probabilities(vectors[:0]).shape == (0, 1000)


def test_names_belong_to_their_probabilities():
    names = imagenet_names()
    assert len(names) == 1000
    assert [names[number] for number in (0, 207, 388, 999)] == [
        "tench",
        "Golden Retriever",
        "giant panda",
        "toilet paper",
    ]


def test_other_vectors_are_refused():
    with pytest.raises(InputError, match="vectors of the recipe 'deep-lite2'"):
        class_probabilities(np.zeros((2, 512)))


def test_other_recipes_keep_their_hashes():
    made = {name: recipe(name).hash for name in ("deep", "deep-lite2", "imagenet-classes")}
    assert len(set(made.values())) == 3
    assert (made["deep"], made["deep-lite2"]) == ("5cfb65a13ca5cf46", "4feaa56da124dd1a")

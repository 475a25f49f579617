"""A pair is installed, listed, used and removed; what it says of pictures and texts is what its files compute."""

from __future__ import annotations

import json
import pickle
import sys

import numpy as np
import pytest
from PIL import Image
from tiny_pair import IDS, LENGTH, N_DIMS, TEXT_EMBEDS, prepared, write_folder, write_zip

from visterm.collection.text_view import TextView, text_view
from visterm.compute.onnx_file import INT64, model, node, tensor, tensor_info
from visterm.errors import InputError, MissingExtraError, UsageError
from visterm.language import text_encoder
from visterm.pairs import pair_named
from visterm.upkeep import encoders
from visterm.vision import recipe, recipe_names

tokenizers = pytest.importorskip("tokenizers", reason="the extra [pair] is not installed")

TEXTS = ["two boats", "Snow, and a village at night", "a boat " * 30]


@pytest.fixture
def pictures():
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (height, width, 3), dtype=np.uint8) for height, width in ((60, 80), (50, 200), (9, 9))]


def check_computes_the_same(tiny, name, pictures):
    batch = np.stack([prepared(Image.fromarray(picture)) for picture in pictures])
    found = recipe(f"pair:{name}").compute_batch(pictures)
    np.testing.assert_allclose(found, tiny.picture_vectors(batch), atol=1e-5)
    np.testing.assert_allclose(text_encoder(f"pair:{name}").encode(TEXTS), tiny.text_vectors(TEXTS), atol=1e-6)


def test_a_folder_is_installed_and_computes_what_it_should(tiny, export, pictures, encoders_folder):
    (pair,) = encoders.install(export).pairs
    assert (pair.name, pair.full_name, pair.in_use) == ("tiny-clip", "pair:tiny-clip", True)
    assert (pair.n_dims, pair.text_length, pair.padded) == (N_DIMS, LENGTH, False)
    assert pair.source == str(export)
    assert pair.seconds_per_picture > 0
    assert sorted(path.name for path in (encoders_folder / "tiny-clip").iterdir()) == [
        "config.json",
        "pair.json",
        "preprocessor_config.json",
        "text_model.onnx",
        "tokenizer.json",
        "tokenizer_config.json",
        "vision_model.onnx",
    ]
    check_computes_the_same(tiny, "tiny-clip", pictures)
    assert recipe("pair:tiny-clip").seconds_per_picture == pair.seconds_per_picture


def other_ways(tiny):
    """The same pair as other exporters write it."""
    files = tiny.files()
    settings = {name: data for name, data in files.items() if name.endswith(".json")}
    beside = {name.removeprefix("onnx/"): data for name, data in files.items()}
    return {
        "beside": beside,
        "both": settings | {"model.onnx": tiny.both()},
        "two halves and both": files | {"onnx/model.onnx": b"not needed"},
        "half a pair and both": settings | {"onnx/model.onnx": tiny.both(), "onnx/text_model.onnx": b"no model"},
        "another precision": settings
        | {
            "onnx/vision_model_fp16.onnx": tiny.vision_model(),
            "onnx/vision_model_quantized.onnx": b"worse",
            "onnx/text_model.onnx": tiny.text_model(),
            "onnx/text_model_q4.onnx": b"worse",
        },
    }


@pytest.mark.parametrize("way", ["beside", "both", "two halves and both", "half a pair and both", "another precision"])
@pytest.mark.parametrize("packed", [False, True])
def test_it_may_be_written_in_several_ways(tiny, tmp_path, pictures, way, packed):
    files = other_ways(tiny)[way]
    top = {f"some/folder/{name}": data for name, data in files.items()} | {"README.md": b"a model"}
    source = write_zip(tmp_path / "Some Pair.zip", top) if packed else write_folder(tmp_path / "Some Pair", files)
    (pair,) = encoders.install(source).pairs
    assert pair.name == "some-pair"
    check_computes_the_same(tiny, "some-pair", pictures)


def with_text_model(tiny, nodes, inputs, constants=(), **settings):
    """The files of the tiny pair with another text half."""
    words = [tensor("words", tiny.words), tensor("one", np.array([1], np.int64))]
    files = tiny.files() | {"onnx/text_model.onnx": model(nodes, [*words, *constants], inputs, [TEXT_EMBEDS])}
    return files | {name.replace("__", "."): json.dumps(value).encode() for name, value in settings.items()}


def test_a_mask_and_kinds_of_tokens_are_given_where_they_are_taken(tiny, tmp_path, pictures):
    nodes = [
        node("Cast", ["attention_mask"], "mask", to=1),
        node("Unsqueeze", ["mask", "two"], "column"),
        node("Add", ["input_ids", "token_type_ids"], "ids"),  # the kinds are all 0
        node("Gather", ["words", "ids"], "found"),
        node("Mul", ["found", "column"], "masked"),
        node("ReduceSum", ["masked", "one"], "text_embeds", keepdims=0),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [tensor_info(name, ["texts", "length"], INT64) for name in names]
    files = with_text_model(tiny, nodes, inputs, [tensor("two", np.array([2], np.int64))])
    encoders.install(write_folder(tmp_path / "masked", files))
    check_computes_the_same(tiny, "masked", pictures)


def bag_with_padding(tiny):
    """A text half in which padding changes the vector, as in SigLIP; what it should give for a text."""
    words = tiny.words.copy()
    words[0] = np.linspace(-0.05, 0.05, N_DIMS)
    nodes = [
        node("Gather", ["padded", "input_ids"], "found"),
        node("ReduceSum", ["found", "one"], "text_embeds", keepdims=0),
    ]
    return nodes, [tensor("padded", words)], words[0]


@pytest.mark.parametrize("length", ["length", LENGTH])
def test_texts_are_padded_where_that_makes_a_difference(tiny, tmp_path, length):
    nodes, constants, pad = bag_with_padding(tiny)
    inputs = [tensor_info("input_ids", ["texts", length], INT64)]
    files = with_text_model(tiny, nodes, inputs, constants)
    (pair,) = encoders.install(write_folder(tmp_path / "padded", files)).pairs
    assert pair.padded
    number = {word: i for i, word in enumerate(tiny.vocabulary)}
    assert not text_encoder("pair:padded").encode([" "]).any()  # not the vector of padding alone
    expected = tiny.words[number["two"]] + tiny.words[number["boats"]] + (LENGTH - 3) * pad
    found = text_encoder("pair:padded").encode(["two boats"])
    np.testing.assert_allclose(found[0], expected / np.linalg.norm(expected), atol=1e-6)


def test_the_mask_tells_padding_from_words(tiny, tmp_path):
    """Texts are padded because the model takes one length only, and the mask leaves the padding out."""
    _, constants, _ = bag_with_padding(tiny)
    nodes = [
        node("Cast", ["attention_mask"], "mask", to=1),
        node("Unsqueeze", ["mask", "two"], "column"),
        node("Gather", ["padded", "input_ids"], "found"),
        node("Mul", ["found", "column"], "masked"),
        node("ReduceSum", ["masked", "one"], "text_embeds", keepdims=0),
    ]
    inputs = [tensor_info(name, ["texts", LENGTH], INT64) for name in ("input_ids", "attention_mask")]
    files = with_text_model(tiny, nodes, inputs, [*constants, tensor("two", np.array([2], np.int64))])
    encoders.install(write_folder(tmp_path / "masked", files))
    np.testing.assert_allclose(text_encoder("pair:masked").encode(TEXTS), tiny.text_vectors(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "pad"),
    [
        ({"tokenizer_config__json": {"pad_token": "</s>", "model_max_length": LENGTH}}, "</s>"),
        ({"tokenizer_config__json": {"pad_token": {"content": "</s>"}, "model_max_length": 10**30}}, "</s>"),
        ({"tokenizer_config__json": {}, "special_tokens_map__json": {"pad_token": "snow"}}, "snow"),
        ({"tokenizer_config__json": {"pad_token": "boat"}, "special_tokens_map__json": {"pad_token": "snow"}}, "boat"),
        ({"tokenizer_config__json": {"pad_token": "not a word"}}, 5),
        ({"tokenizer_config__json": {}}, 5),
    ],
)
def test_the_padding_is_what_the_settings_name(tiny, tmp_path, settings, pad):
    nodes, constants, _ = bag_with_padding(tiny)
    config = {"model_type": "clip", "text_config": {"max_position_embeddings": LENGTH, "pad_token_id": 5}}
    files = with_text_model(tiny, nodes, [IDS], constants, config__json=config, **settings)
    encoders.install(write_folder(tmp_path / "padded", files))
    number = {word: i for i, word in enumerate(tiny.vocabulary)}
    words = tiny.words.copy()
    words[0] = np.linspace(-0.05, 0.05, N_DIMS)
    place = pad if isinstance(pad, int) else number[pad]
    expected = words[number["two"]] + words[number["boats"]] + (LENGTH - 3) * words[place]
    found = text_encoder("pair:padded").encode(["two boats"])
    if not words[place].any():  # padding with a word that says nothing makes no difference
        assert not pair_named("pair:padded").trial.padded
    np.testing.assert_allclose(found[0], expected / np.linalg.norm(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("model_type", "told", "length"),
    [
        ("clip", {}, 77),
        ("siglip", {}, 64),
        ("siglip2", {"model_max_length": 10**30}, 64),
        ("clip", {"model_max_length": 20}, 20),
        ("other", {"model_max_length": 9000}, 512),
    ],
)
def test_texts_are_as_long_as_the_settings_or_the_family_say(tiny, tmp_path, model_type, told, length):
    settings = {"config__json": {"model_type": model_type}, "tokenizer_config__json": told}
    nodes, constants, _ = bag_with_padding(tiny)
    files = with_text_model(tiny, nodes, [IDS], constants, **settings)
    (pair,) = encoders.install(write_folder(tmp_path / "long", files)).pairs
    assert pair.text_length == length


def test_a_family_without_projection_gives_its_pooled_output(tiny, tmp_path, pictures):
    files = {name: data.replace(b"_embeds", b"_pooled") for name, data in tiny.files().items()}
    for half, old in (("vision", b"image_pooled"), ("text", b"text_pooled")):
        name = f"onnx/{half}_model.onnx"
        whole = tiny.vision_model() if half == "vision" else tiny.text_model()
        files[name] = renamed(whole, old.replace(b"pooled", b"embeds").decode(), "pooler_output")
    with pytest.raises(InputError, match="no output image_embeds"):
        encoders.install(write_folder(tmp_path / "pooled", files))
    files["config.json"] = json.dumps({"model_type": "siglip"}).encode()
    encoders.install(write_folder(tmp_path / "pooled", files))
    found = recipe("pair:pooled").compute_batch(pictures)
    batch = np.stack([prepared(Image.fromarray(picture)) for picture in pictures])
    np.testing.assert_allclose(found, tiny.picture_vectors(batch), atol=1e-5)


def renamed(data, old, new):
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    read = onnx.load_from_string(data)
    read.graph.output[0].name = new
    read.graph.node[-1].output[0] = new
    assert old != new
    return read.SerializeToString()


def test_texts_do_not_depend_on_each_other_and_odd_ones_are_taken(export):
    encoders.install(export)
    encode = text_encoder("pair:tiny-clip").encode
    texts = ["a boat", "", " \n", "two boats on the sea", "\ud800 boat", "x" * 10**5, "boat " * 10**4, "犬"]
    together = encode(texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_allclose(encode([text])[0], vector, atol=1e-6)
    assert not together[[1, 2]].any()
    np.testing.assert_allclose(np.linalg.norm(together[[0, 3, 4, 6]], axis=1), 1, rtol=1e-5)
    assert encode([]).shape == (0, N_DIMS)
    np.testing.assert_array_equal(encode(["boat" + 5000 * " " + "snow"]), encode(["boat"]))  # very long texts are cut


def test_a_model_with_a_fixed_number_of_rows_is_run_as_often_as_it_takes(tiny, tmp_path, pictures):
    from tiny_pair import IMAGE_EMBEDS, SIZE

    nodes, constants = tiny.picture_nodes()
    fixed = model(nodes, constants, [tensor_info("pixel_values", [2, 3, SIZE, SIZE])], [IMAGE_EMBEDS])
    encoders.install(write_folder(tmp_path / "fixed", tiny.files() | {"onnx/vision_model.onnx": fixed}))
    check_computes_the_same(tiny, "fixed", pictures)


def test_the_pair_that_was_installed_last_is_used_until_it_is_removed(export, tiny, tmp_path):
    assert text_view() == TextView()
    encoders.install(export)
    assert text_view() == TextView("pair:tiny-clip", "pair:tiny-clip", is_pair=True)
    found = encoders.install(export, "other")
    assert found.in_use == "pair:other"
    assert [(pair.name, pair.in_use) for pair in found.pairs] == [("other", True), ("tiny-clip", False)]
    assert recipe_names()[-2:] == ["pair:other", "pair:tiny-clip"]
    assert text_view().recipe == "pair:other"
    done = encoders.remove("pair:other")
    assert (done.removed, done.in_use) == (True, "pair:tiny-clip")
    assert not encoders.remove("other").removed
    assert encoders.remove("tiny-clip").in_use == "use-multilingual-3"
    assert text_view() == TextView()
    with pytest.raises(UsageError, match="no image-text pair 'other' on this computer"):
        recipe("pair:other")
    with pytest.raises(UsageError, match="visterm encoder install"):
        text_encoder("pair:other")


def test_a_name_is_not_taken_twice_and_stays_inside_the_folder(export, encoders_folder):
    encoders.install(export)
    with pytest.raises(InputError, match="already a pair called 'tiny-clip'"):
        encoders.install(export)
    for name in ("../up", "", "A", "a/b", ".", "..", "-x", "a" * 65):
        with pytest.raises(UsageError, match="name of a pair"):
            encoders.install(export, name)
        with pytest.raises(UsageError, match="name of"):
            encoders.remove(name)
        with pytest.raises(UsageError, match="name of an image-text pair"):
            text_encoder(f"pair:{name}")
    assert [path.name for path in encoders_folder.iterdir() if path.is_dir()] == ["tiny-clip"]


def test_other_settings_are_another_recipe_and_another_encoder(tiny, tmp_path, export):
    encoders.install(export, "one")
    files = tiny.files()
    texts = files | {"tokenizer_config.json": json.dumps({"model_max_length": LENGTH}).encode()}
    encoders.install(write_folder(tmp_path / "texts", texts), "two")
    prepared_otherwise = json.loads(files["preprocessor_config.json"]) | {"image_mean": [0.5, 0.5, 0.5]}
    pictures = files | {"preprocessor_config.json": json.dumps(prepared_otherwise).encode()}
    encoders.install(write_folder(tmp_path / "pictures", pictures), "three")
    network = files | {"onnx/vision_model.onnx": tiny.vision_model().replace(b"network", b"another")}
    encoders.install(write_folder(tmp_path / "network", network), "four")
    assert recipe("pair:four").parameters() != recipe("pair:one").parameters()
    one, two, three = (recipe(f"pair:{name}").parameters() for name in ("one", "two", "three"))
    assert one == two != three
    prints = [text_encoder(f"pair:{name}").fingerprint for name in ("one", "two", "three")]
    assert prints[0] == prints[2] != prints[1]


def test_another_pair_under_the_same_name_is_another_encoder(tiny, tmp_path, export):
    encoders.install(export, "same")
    before, hash_before = text_encoder("pair:same"), recipe("pair:same").hash
    assert text_encoder("pair:same") is before
    encoders.remove("same")
    tiny_words = tiny.words[:, ::-1].copy()
    nodes = [node("Gather", ["w", "input_ids"], "f"), node("ReduceSum", ["f", "one"], "text_embeds", keepdims=0)]
    files = with_text_model(tiny, nodes, [IDS], [tensor("w", tiny_words)])
    encoders.install(write_folder(tmp_path / "again", files), "same")
    after = text_encoder("pair:same")
    assert after.fingerprint != before.fingerprint
    np.testing.assert_allclose(after.encode(["boats"]), before.encode(["boats"])[:, ::-1], atol=1e-6)
    assert recipe("pair:same").hash == hash_before


def test_a_recipe_travels_to_other_processes(export, pictures):
    encoders.install(export)
    made = recipe("pair:tiny-clip")
    expected = made.compute_batch(pictures)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).compute_batch(pictures), expected)


def test_without_the_extra_nothing_is_copied(export, encoders_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'visterm\[pair\]'"):
        encoders.install(export)
    assert not encoders_folder.exists()


def test_an_unfinished_copy_of_a_killed_process_is_removed(export, encoders_folder):
    left = write_folder(encoders_folder / ".big.123.unfinished", {"vision_model.onnx": b"\0" * 1000})
    assert encoders.show().pairs == []
    assert encoders.show().damaged == []
    encoders.install(export)
    assert not left.exists()


def test_texts_for_siglip_are_in_small_letters(tiny, tmp_path):
    files = tiny.files()
    tokenizer = tiny.tokenizer() | {"normalizer": None}
    files["tokenizer.json"] = json.dumps(tokenizer).encode()
    encoders.install(write_folder(tmp_path / "clip", files))
    files["config.json"] = json.dumps({"model_type": "siglip"}).encode()
    encoders.install(write_folder(tmp_path / "siglip", files))
    small, capital = ["two boats"], ["Two BOATS"]
    assert not np.allclose(text_encoder("pair:clip").encode(capital), text_encoder("pair:clip").encode(small))
    np.testing.assert_array_equal(
        text_encoder("pair:siglip").encode(capital), text_encoder("pair:siglip").encode(small)
    )


def test_without_the_package_a_pair_says_what_to_install(export, monkeypatch):
    encoders.install(export)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'visterm\[pair\]'"):
        text_encoder("pair:tiny-clip").encode(["a boat"])
    assert any("visterm[pair]" in problem for problem in encoders.check())

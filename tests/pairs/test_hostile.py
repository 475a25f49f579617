"""Folders and zips that are no pair, or want to harm: one clear sentence, and nothing is installed."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from itertools import pairwise

import numpy as np
import pytest
from tiny_pair import IDS, IMAGE_EMBEDS, N_DIMS, PIXELS, PREPARATION, SIZE, TEXT_EMBEDS, write_folder, write_zip

from visterm.compute.onnx_file import INT64, field, model, node, tensor, tensor_info
from visterm.errors import InputError, VistermError
from visterm.language import text_encoder
from visterm.pairs import parts, tower
from visterm.upkeep import encoders
from visterm.vision import recipe

pytest.importorskip("tokenizers", reason="the extra [pair] is not installed")

VISION, TEXT = "onnx/vision_model.onnx", "onnx/text_model.onnx"


@pytest.fixture
def refuses(encoders_folder):
    """Installing fails with a message that says this, and nothing is left."""

    def check(source, message):
        with pytest.raises(InputError, match=message):
            encoders.install(source)
        left = [path.name for path in encoders_folder.iterdir()] if encoders_folder.exists() else []
        assert left in ([], ["lock"])
        assert encoders.show().pairs == []
        assert encoders.show().damaged == []

    return check


def vectors_of(value, name="image_embeds"):
    """A model that takes what the half takes, and gives one number for all."""
    taken = PIXELS if name == "image_embeds" else IDS
    constants = [tensor("given", np.full((4 if name == "image_embeds" else 1, N_DIMS), value, np.float32))]
    return model([node("Identity", ["given"], name)], constants, [taken], [tensor_info(name, ["n", N_DIMS])])


def elsewhere(data):
    """The same model, with its first constant in another file."""
    onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
    read = onnx.load_from_string(data)
    constant = read.graph.initializer[0]
    constant.ClearField("raw_data")
    constant.data_location = onnx.TensorProto.EXTERNAL
    constant.external_data.add(key="location", value="/etc/passwd")
    return read.SerializeToString()


def changed(tiny):
    """By name: files to replace (None: to leave out), and what is said of them."""
    whole = np.array([1], np.int64)
    short = model(
        [node("Gather", ["words", "input_ids"], "f"), node("ReduceSum", ["f", "one"], "text_embeds", keepdims=0)],
        [tensor("words", tiny.words[:, :5].copy()), tensor("one", whole)],
        [IDS],
        [tensor_info("text_embeds", ["n", 5])],
    )
    nodes, constants = tiny.picture_nodes()
    cast = [node("Cast", ["pixel_values"], "floats", to=1), node("Flatten", ["floats"], "image_embeds", axis=1)]
    return {
        "no picture half": ({VISION: None}, "lacks vision_model.onnx"),
        "no half": ({VISION: None, TEXT: None}, r"lacks vision_model.onnx and text_model.onnx \(or model.onnx"),
        "no tokenizer": ({"tokenizer.json": None}, "lacks tokenizer.json"),
        "no settings": (
            {"config.json": None, "preprocessor_config.json": None},
            "lacks preprocessor_config.json, config.json",
        ),
        "no model": ({VISION: b"<html>not found</html>"}, "vision_model.onnx .* is not a usable ONNX model"),
        "a pointer to a large file": ({TEXT: b"version https://git-lfs.github.com/spec/v1\n"}, "not a usable ONNX"),
        "an empty model": ({TEXT: b""}, "text_model.onnx .* is not a usable ONNX model"),
        "weights elsewhere": ({VISION: elsewhere(tiny.vision_model())}, "keeps weights in other files: save it as one"),
        "whole pixels": (
            {VISION: model(cast, constants, [tensor_info("pixel_values", ["n", 3, 9, 9], INT64)], [IMAGE_EMBEDS])},
            r"takes pixel_values as tensor\(int64\) .* not as \(n, 3, height, width\) floats",
        ),
        "another input": (
            {TEXT: model([node("Identity", ["x"], "text_embeds")], [], [tensor_info("x", ["n", 16])], [TEXT_EMBEDS])},
            "text_model.onnx .* takes x, but this half of a pair takes input_ids",
        ),
        "halves swapped": ({VISION: tiny.text_model()}, "takes input_ids, but this half of a pair takes pixel_values"),
        "no vectors": (
            {VISION: tiny.vision_model().replace(b"image_embeds", b"image_hidden")},
            "no output image_embeds .*export the pair with its projections",
        ),
        "other vectors": ({TEXT: short}, "gives texts 5 numbers, but pictures have 16: both halves must come from one"),
        "no numbers": ({VISION: vectors_of(np.nan)}, "not finite"),
        "the same for all pictures": ({VISION: vectors_of(1.0)}, "gives different pictures the same vector"),
        "another size": (
            {VISION: model(nodes, constants, [tensor_info("pixel_values", ["n", 3, SIZE, SIZE])], [IMAGE_EMBEDS])}
            | {"preprocessor_config.json": json.dumps(PREPARATION | {"size": 96, "crop_size": 96}).encode()},
            rf"takes pictures of \[3, {SIZE}, {SIZE}\], but preprocessor_config.json prepares \[3, 96, 96\]",
        ),
        "a tokenizer of another kind": ({"tokenizer.json": b'{"version": "1.0"}'}, "is not a tokenizer"),
        "no JSON": ({"tokenizer.json": b"\x00\xff"}, "is not a tokenizer"),
        "settings that are no JSON": (
            {"preprocessor_config.json": b"{"},
            "preprocessor_config.json .* is not valid JSON",
        ),
        "settings that are a list": ({"config.json": b"[]"}, "config.json .* is not a JSON object"),
        "settings nested without end": ({"preprocessor_config.json": b"[" * 10**5}, "is not valid JSON"),
        "settings of another kind": ({"preprocessor_config.json": b'{"size": "large"}'}, "only squares"),
        "words that the model does not know": (
            {TEXT: tiny.text_model(), "tokenizer.json": json.dumps(with_large_numbers(tiny.tokenizer())).encode()},
            "text_model.onnx .* cannot be run",
        ),
    }


def with_large_numbers(tokenizer):
    tokenizer["model"]["vocab"] = {word: i + 10**6 for word, i in tokenizer["model"]["vocab"].items()}
    return tokenizer


WRONG = [
    "no picture half",
    "no half",
    "no tokenizer",
    "no settings",
    "no model",
    "a pointer to a large file",
    "an empty model",
    "weights elsewhere",
    "whole pixels",
    "another input",
    "halves swapped",
    "no vectors",
    "other vectors",
    "no numbers",
    "the same for all pictures",
    "another size",
    "a tokenizer of another kind",
    "no JSON",
    "settings that are no JSON",
    "settings that are a list",
    "settings nested without end",
    "settings of another kind",
    "words that the model does not know",
]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_wrong_is_said_in_one_sentence(tiny, tmp_path, refuses, wrong, packed):
    replaced, message = changed(tiny)[wrong]
    files = {name: data for name, data in (tiny.files() | replaced).items() if data is not None}
    refuses(write_zip(tmp_path / "a.zip", files) if packed else write_folder(tmp_path / "a", files), message)


def test_all_that_can_be_wrong_is_tried(tiny):
    assert sorted(changed(tiny)) == sorted(WRONG)


def test_names_inside_a_zip_are_no_paths(tiny, tmp_path, refuses):
    files = {f"../../{name}": data for name, data in tiny.files().items()}
    encoders.install(write_zip(tmp_path / "up.zip", files))  # they are found by name, and copied to where they belong
    encoders.remove("up")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "up.zip"]
    refuses(write_zip(tmp_path / "two.zip", files | {"other/tokenizer.json": b"{}"}), "2 files called tokenizer.json")
    refuses(write_zip(tmp_path / "root.zip", {f"/etc/{name}": b"" for name in files}), "is not valid JSON")


def test_zips_that_cannot_be_read_are_refused(tiny, tmp_path, refuses):
    data = write_zip(tmp_path / "a.zip", tiny.files()).read_bytes()
    for end in (0, 10, len(data) // 2, len(data) - 30):
        (tmp_path / "cut.zip").write_bytes(data[:end])
        refuses(tmp_path / "cut.zip", "cut.zip is neither a folder nor a zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        places = {entry.filename: entry.header_offset for entry in archive.infolist()}
    damaged = bytearray(data)
    damaged[places[VISION] + 200 : places[VISION] + 300] = bytes(100)
    (tmp_path / "damaged.zip").write_bytes(damaged)
    refuses(tmp_path / "damaged.zip", "vision_model.onnx in .* cannot be read")
    secret = bytearray(data)
    secret[places[TEXT] + 6] |= 1  # the bit that says that the file is encrypted, here and in the list of files
    listed = data.index(b"PK\x01\x02")
    while data[listed + 46 : listed + 46 + len(TEXT)] != TEXT.encode():
        listed = data.index(b"PK\x01\x02", listed + 4)
    secret[listed + 8] |= 1
    (tmp_path / "secret.zip").write_bytes(secret)
    refuses(tmp_path / "secret.zip", "text_model.onnx in .* cannot be read: .* is encrypted")


def test_two_files_of_one_name_are_refused(tiny, tmp_path, refuses):
    with (
        zipfile.ZipFile(write_zip(tmp_path / "a.zip", tiny.files()), "a") as archive,
        pytest.warns(UserWarning, match="Duplicate"),
    ):
        archive.writestr("config.json", "{}")
    refuses(tmp_path / "a.zip", "two files called config.json")


def test_files_that_grow_when_they_are_unpacked_are_stopped(tiny, tmp_path, refuses, monkeypatch):
    monkeypatch.setattr(parts, "_MAX_TOKENIZER", 10 * 2**20)
    bomb = tiny.files() | {"tokenizer.json": b" " * (11 * 2**20)}
    file = write_zip(tmp_path / "bomb.zip", bomb)
    assert file.stat().st_size < 2**20
    refuses(file, "tokenizer.json in .* is larger than 10 MiB")
    monkeypatch.setattr(parts, "_MAX_MODEL", 100)
    refuses(write_folder(tmp_path / "large", tiny.files()), "vision_model.onnx in .* is larger than 0 MiB")


def test_what_is_no_file_is_refused(tiny, tmp_path, refuses):
    refuses(tmp_path / "nowhere", "there is no .*nowhere: name the folder or zip")
    refuses(tmp_path / ("x" * 5000), "cannot be read|there is no")
    (tmp_path / "text").write_text("no zip")
    refuses(tmp_path / "text", "neither a folder nor a zip")
    refuses(tmp_path, "lacks vision_model.onnx and text_model.onnx")
    folder = write_folder(tmp_path / "a", tiny.files())
    (folder / "config.json").unlink()
    (folder / "config.json").mkdir()
    refuses(folder, "config.json in .* cannot be read: Is a directory")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        refuses(tmp_path / "pipe", "not a regular file")
        (folder / "config.json").rmdir()
        os.mkfifo(folder / "config.json")
        refuses(folder, "not a regular file")


def test_a_model_that_does_not_end_is_stopped(tiny, tmp_path, refuses, monkeypatch):
    """A thousand products of large matrices for every run."""
    nodes, constants = tiny.picture_nodes()
    names = ["large", *(f"product{i}" for i in range(1000))]
    nodes += [node("MatMul", [one, "large"], other) for one, other in pairwise(names)]
    nodes += [
        node("ReduceSum", [names[-1]], "number", keepdims=0),
        node("Mul", ["number", "vectors"], "products"),
        node("Add", ["vectors", "products"], "image_embeds"),
    ]
    nodes[2] = node("Gemm", ["flat", "map", "bias"], "vectors")
    nodes.insert(0, node("ReduceSum", ["pixel_values"], "all", keepdims=0))
    nodes.insert(1, node("Mul", ["all", "zeros"], "large"))  # depends on the pictures, so it is not known before
    slow = model(nodes, [*constants, tensor("zeros", np.zeros((800, 800), np.float32))], [PIXELS], [IMAGE_EMBEDS])
    monkeypatch.setattr(encoders, "_PATIENCE", 0.2)
    refuses(write_folder(tmp_path / "slow", tiny.files() | {VISION: slow}), "needs more than 0 seconds for a few rows")


def test_a_disk_that_cannot_be_written_to_is_named(export, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(VistermError, match="cannot write"):
        encoders.install(export)


def damaged(encoders_folder, name):
    file = encoders_folder / "tiny-clip" / name
    file.chmod(stat.S_IRUSR | stat.S_IWUSR)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("name", ["text_model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_damaged_file_is_not_used(export, encoders_folder, name):
    encoders.install(export)
    damaged(encoders_folder, name)
    tower._SESSIONS.clear()  # as in another process
    with pytest.raises(InputError, match=rf"{name} of the pair 'tiny-clip' is damaged: remove it with 'visterm enc"):
        text_encoder("pair:tiny-clip").encode(["a dog"])
    assert [line for line in encoders.check() if name in line]


def test_a_damaged_picture_half_is_not_used(export, encoders_folder):
    encoders.install(export)
    damaged(encoders_folder, "vision_model.onnx")
    tower._SESSIONS.clear()
    with pytest.raises(InputError, match=r"vision_model.onnx of the pair 'tiny-clip' is damaged"):
        recipe("pair:tiny-clip").compute_batch([np.zeros((9, 9, 3), np.uint8)])


@pytest.mark.parametrize("what", ["manifest", "missing", "other JSON", "other numbers", "settings"])
def test_a_pair_that_cannot_be_read_is_left_out_and_told(export, encoders_folder, what):
    encoders.install(export)
    folder = encoders_folder / "tiny-clip"
    manifest = json.loads((folder / "pair.json").read_text())
    if what == "manifest":
        (folder / "pair.json").write_bytes(b"\0")
    elif what == "missing":
        (folder / "text_model.onnx").unlink()
    elif what == "other JSON":
        (folder / "pair.json").write_text("[1]")
    elif what == "settings":
        damaged(encoders_folder, "preprocessor_config.json")
    else:
        manifest["trial"]["n_dims"] = "many"
        (folder / "pair.json").write_text(json.dumps(manifest))
    found = encoders.show()
    assert (found.in_use, found.pairs, found.damaged) == ("use-multilingual-3", [], ["tiny-clip"])
    assert len(encoders.check()) == 1
    with pytest.raises(InputError, match="remove it with 'visterm encoder remove tiny-clip' and install it again"):
        text_encoder("pair:tiny-clip")
    assert encoders.remove("tiny-clip").removed
    encoders.install(export)


def test_models_of_random_bytes_are_refused(tiny, tmp_path, refuses):
    rng = np.random.default_rng(0)
    for i in range(30):
        data = bytearray(tiny.vision_model())
        for place in rng.integers(0, len(data), 20):
            data[place] = rng.integers(0, 256)
        noise = bytes(rng.integers(0, 256, 500, dtype=np.uint8)) if i % 2 else field(7, bytes(data[:200]))
        refuses(write_folder(tmp_path / f"noise{i}", tiny.files() | {VISION: noise}), "vision_model.onnx")

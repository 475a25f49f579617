"""Research collections of pictures: described once, by what training pictures taught, in the readers' order."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from visterm.errors import InputError
from visterm.postcards import paint
from visterm.research import load_pictures
from visterm.research.picture_data import names


@pytest.fixture
def data(tmp_path):
    """A Corel5K of six pictures and a collection of scenes of four."""
    corel = tmp_path / "corel5k"
    for index in range(6):
        part = corel / "images" / ("train" if index < 4 else "test")
        part.mkdir(parents=True, exist_ok=True)
        Image.fromarray(paint(index).pixels).save(part / f"{1000 * (index % 2 + 1) + index}.jpeg")
    labels = corel / "labels"
    labels.mkdir()
    (labels / "words").write_text("sky\nsea\ntree\n")
    (labels / "training_label").write_text("1000 1 2\n2001 3\n1002 1\n2003 2 3\n1777 1\n")  # 1777 has no picture
    (labels / "test_label").write_text("1004 1\n2005 3\n")
    for index in range(4):
        scene = tmp_path / "scenes8" / ("coast" if index < 2 else "forest")
        scene.mkdir(parents=True, exist_ok=True)
        Image.fromarray(paint(index).pixels).save(scene / f"{index}.jpg")
    return tmp_path


def test_labels_and_features_of_every_picture(data):
    loaded = load_pictures("corel5k", data, "colour", cache=data / "cache")
    assert loaded.class_names == ("1", "2")
    assert loaded.y.tolist() == [0, 1, 0, 1, 0, 1]
    assert loaded.tag_names == ("sea", "sky", "tree")
    assert loaded.tags.toarray().tolist() == [[1, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]]
    assert loaded.is_test.tolist() == [False] * 4 + [True] * 2
    assert loaded.X["colour"].shape == (6, 256)
    scenes = load_pictures("scenes8", data, "colour", cache=data / "cache")
    assert scenes.class_names == ("coast", "forest")
    assert scenes.y.tolist() == [0, 0, 1, 1]


def test_features_are_computed_once_and_learned_from_training_pictures(data, monkeypatch):
    first = load_pictures("corel5k", data, "bow-240", cache=data / "cache")
    with monkeypatch.context() as patched:
        patched.setattr("visterm.features.computing.decode_sizes", None)  # nothing is left to decode
        again = load_pictures("corel5k", data, "bow-240", cache=data / "cache")
    np.testing.assert_array_equal(first.X["bow-240"].toarray(), again.X["bow-240"].toarray())
    for file in (data / "corel5k" / "images" / "test").iterdir():
        file.unlink()
    without = load_pictures("corel5k", data, "bow-240", cache=data / "elsewhere")
    np.testing.assert_array_equal(without.X["bow-240"].toarray(), first.X["bow-240"].toarray()[:4])


def test_what_is_missing_or_damaged_is_said(data):
    assert names() == ["corel5k", "flickr1500", "scenes8"]
    with pytest.raises(InputError, match="unknown collection 'corel'"):
        load_pictures("corel", data, "colour", cache=data / "cache")
    with pytest.raises(InputError, match="scenes8 is not in"):
        load_pictures("scenes8", data / "nowhere", "colour", cache=data / "cache")
    (data / "scenes8" / "coast" / "0.jpg").write_bytes(b"not a picture")
    with pytest.raises(InputError, match=r"the features of a picture of scenes8 cannot be computed: .*0\.jpg"):
        load_pictures("scenes8", data, "colour", cache=data / "cache")

"""The papers' data sets: their published sizes where the files are, and one clear line where they are not."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.research import research_data
from visterm.research.research_data import data_folder, load, names

DATA = Path(os.environ.get("VISTERM_DATA", Path(__file__).parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the research data are not in {DATA}; set VISTERM_DATA")


def test_the_folder_is_given_or_named_by_the_environment(monkeypatch):
    monkeypatch.delenv("VISTERM_DATA", raising=False)
    assert data_folder() is None
    assert data_folder(Path("here")) == Path("here")
    monkeypatch.setenv("VISTERM_DATA", "there")
    assert data_folder() == Path("there")
    assert data_folder(Path("here")) == Path("here")


def test_unknown_and_missing_and_damaged_data(tmp_path):
    with pytest.raises(InputError, match=r"unknown data set 'corel': choose one of .*labelme8"):
        load("corel", tmp_path)
    for name in names():
        with pytest.raises(InputError, match=rf"{name} is not in .* is missing"):
            load(name, tmp_path)
    (tmp_path / "corel16k").mkdir()
    file = tmp_path / "corel16k" / "corel16k002.npz"
    for contents in (b"", b"PK\3\4 nonsense", b"text"):
        file.write_bytes(contents)
        with pytest.raises(InputError, match=r"corel16k002 in .* is damaged"):
            load("corel16k002", tmp_path)
    np.savez(file, blobs=np.eye(2))
    with pytest.raises(InputError, match="is damaged"):
        load("corel16k002", tmp_path)


def test_indicators_become_bags_and_tags(tmp_path):
    (tmp_path / "corel5k").mkdir()
    np.savez(
        tmp_path / "corel5k" / "blobs.npz",
        blobs=np.array([[1, 0], [1, 1], [0, 1]], np.uint8),
        labels=np.array([[1], [0], [1]], np.uint8),
        words=np.array(["sea"]),
        image_id=np.array([101001, 0, 7005]),
        is_test=np.array([False, True, True]),
    )
    data = load("corel5k-blobs", tmp_path)
    assert data.class_names == ("CD 101", "CD 7")
    assert data.y.tolist() == [0, -1, 1]
    assert data.is_test.tolist() == [False, True, True]
    assert data.tag_names == ("sea",)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0], [1, 1], [0, 1]])


def test_bags_of_both_parts_are_one_matrix(tmp_path):
    folder = tmp_path / "labelme8"
    folder.mkdir()
    for part, bags, labels in (("train", "1 0:2\n2 0:1 3:4\n", "0\n1\n"), ("test", "1 1:5\n", "1\n")):
        (folder / f"{part}-data.dat").write_text(bags)
        (folder / f"{part}-label.dat").write_text(labels)
    data = load("labelme8", tmp_path)
    np.testing.assert_array_equal(data.X.toarray(), [[2, 0, 0, 0], [1, 0, 0, 4], [0, 5, 0, 0]])
    assert data.y.tolist() == [0, 1, 1]
    assert data.splits == ("train", "train", "test")
    assert data.class_names == ("class 0", "class 1")


@needs_data
@pytest.mark.parametrize(
    ("name", "n_pictures", "n_test", "n_dims", "n_classes", "n_tags"),
    [
        ("labelme8", 1600, 800, 158, 8, 0),
        ("corel5k-blobs", 5000, 500, 499, 50, 374),
        ("corel16k002", 13761, 1783, 500, 0, 164),
    ],
)
def test_the_published_sizes(name, n_pictures, n_test, n_dims, n_classes, n_tags):
    data = load(name, DATA)
    assert (len(data), int(data.is_test.sum()), data.X.shape[1]) == (n_pictures, n_test, n_dims)
    assert (len(data.class_names), len(data.tag_names)) == (n_classes, n_tags)
    assert name in research_data.names()

"""The files of an index: what its manifest may say, which files are read again, and damage told."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from visterm.errors import InputError
from visterm.search._folder import About, Entry
from visterm.search.index import Index

NAME = "0123456789abcdef"
X = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)


def removed_from(folder):
    """An index of five pictures of which one was removed: it has a list of dead columns."""
    index = Index(3, folder=folder)
    index.add(list("abcde"), X)
    index.remove(["b"])
    return index


def rewritten(folder, **fields):
    """Change fields of the only segment in the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["segments"][0] |= fields
    del manifest["checksum"]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_what_the_vectors_are_has_a_size_and_three_texts():
    assert About(3, "dot", "float32", "").n_dims == 3
    for wrong in (
        (3.0, "dot", "float32", ""),
        (True, "dot", "float32", ""),
        (3, None, "float32", ""),
        (3, "dot", "", 1),
    ):
        with pytest.raises(TypeError, match="no valid 'about'"):
            About(*wrong)


def test_segments_have_names_and_sizes_that_can_be():
    for n in (0, 1, 2**48 - 1):
        assert Entry(NAME, n, "").n == n
    assert Entry(NAME, 1, NAME).dead == NAME
    for wrong in ((NAME[1:], ""), (NAME.upper(), ""), ("", ""), (NAME, NAME[1:]), (NAME, "x")):
        with pytest.raises(ValueError, match="invalid name"):
            Entry(wrong[0], 1, wrong[1])
    for n in (-1, 2**48, 1.0, True):
        with pytest.raises(ValueError, match="invalid number of pictures"):
            Entry(NAME, n, "")


@pytest.mark.parametrize("metric", ["dot", "euclidean"])
def test_the_manifest_lists_the_segments(tmp_path, metric):
    index = Index(3, metric=metric, folder=tmp_path)
    index.add(list("abcde"), X)
    index.remove(["b"])
    (part,) = index.snapshot().segments
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["about"] == {"n_dims": 3, "metric": metric, "dtype": "float32", "about": ""}
    assert manifest["segments"] == [
        {"name": part.name, "n": 5, "dead": part.dead_name, "lists": False, "centred": metric == "euclidean"}
    ]
    files = [f"{part.name}.keys", f"{part.name}.vectors.npy", f"{part.dead_name}.dead.npy"]
    files += [f"{part.name}.centre.npy"] * (metric == "euclidean")
    assert sorted(manifest["checksums"]) == sorted(files)


def test_a_new_folder_is_an_empty_index(tmp_path):
    Index(3, folder=tmp_path / "i")
    assert json.loads((tmp_path / "i" / "manifest.json").read_text())["segments"] == []
    assert len(Index.open(tmp_path / "i")) == 0


def test_known_segments_are_not_read_again(tmp_path):
    reader = removed_from(tmp_path)
    before = reader.snapshot()
    Index.open(tmp_path).remove(["d"])
    (was,), (now,) = before.segments, reader.snapshot().segments
    assert now.vectors is was.vectors
    assert now.keys is was.keys
    assert (was.dead.tolist(), now.dead.tolist()) == ([1], [1, 3])
    assert reader.keys() == ["a", "c", "e"]
    Index.open(tmp_path).add(["f"], X[:1])
    assert [len(part) for part in reader.snapshot().segments] == [5, 1]
    assert reader.snapshot().segments[0] is now


def test_dead_columns_are_read_and_those_that_cannot_be_are_told(tmp_path):
    removed_from(tmp_path)
    (file,) = tmp_path.glob("*.dead.npy")
    for dead in ([0], [4], [], [0, 4]):
        np.save(file, np.array(dead, np.int64))
        assert Index.open(tmp_path).keys() == [key for column, key in enumerate("abcde") if column not in dead]
    for wrong in ([-1], [1, 5], [-1, 1]):
        np.save(file, np.array(wrong))
        with pytest.raises(InputError, match=r"it lists columns that segment [0-9a-f]{16} does not have") as error:
            Index.open(tmp_path)
        assert str(file) in str(error.value)
    for wrong in ([[0, 1]], 1):
        np.save(file, np.array(wrong))
        with pytest.raises(InputError, match="not an array of int64 rows of one value"):
            Index.open(tmp_path)


def test_a_folder_that_was_put_back_is_read_as_it_is(tmp_path):
    index = Index(3, folder=tmp_path / "i")
    index.add(list("abcde"), X)
    shutil.copytree(tmp_path / "i", tmp_path / "copy")
    index.remove(["b"])
    assert index.keys() == list("acde")
    shutil.copytree(tmp_path / "copy", tmp_path / "i", dirs_exist_ok=True)
    assert index.keys() == list("abcde")


def test_a_list_of_dead_columns_is_never_unpickled(tmp_path):
    removed_from(tmp_path)
    (file,) = tmp_path.glob("*.dead.npy")
    np.save(file, np.array([1], object), allow_pickle=True)
    with pytest.raises(InputError, match="is damaged") as error:
        Index.open(tmp_path)
    assert str(file) in str(error.value)


def test_a_check_finds_a_changed_bit_in_every_file(tmp_path):
    index = Index(3, metric="euclidean", folder=tmp_path)
    index.add(list("abcde"), X)
    index.remove(["b"])
    assert index.check() == []
    for what in ("keys", "vectors.npy", "dead.npy", "centre.npy"):
        (file,) = tmp_path.glob(f"*.{what}")
        data = file.read_bytes()
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert any(file.name in line and "checksum" in line for line in index.check())
        file.write_bytes(data)


def test_a_check_tells_of_missing_files(tmp_path):
    removed_from(tmp_path)
    index = Index.open(tmp_path)
    (file,) = tmp_path.glob("*.dead.npy")
    file.unlink()
    assert any("is missing" in line for line in index.check())


def test_keys_that_are_no_text_are_told(tmp_path):
    removed_from(tmp_path)
    (file,) = tmp_path.glob("*.keys")
    file.write_bytes(b"a\nb\n\xff\nd\ne")
    with pytest.raises(InputError, match="is damaged"):
        Index.open(tmp_path)
    file.write_bytes(b"")
    with pytest.raises(InputError, match="it has 0 keys, but the vectors have shape"):
        Index.open(tmp_path)


def test_a_segment_of_another_size_than_its_vectors_is_told(tmp_path):
    removed_from(tmp_path)
    rewritten(tmp_path, n=6)
    with pytest.raises(InputError, match="is damaged"):
        Index.open(tmp_path)

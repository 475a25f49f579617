"""A library of features: computed once, seen at once, cheap to ask again, safe from several threads."""

from __future__ import annotations

import shutil
import threading
from hashlib import sha256

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from visterm.catalogue import examine
from visterm.errors import InputError
from visterm.features import FeatureLibrary, FeatureStore, features_of_files, one_or_several, stacked
from visterm.storage import RowSpec
from visterm.vision.recipes.base import Recipe
from visterm.vision.recipes.combined import CombinedRecipe


class Means(Recipe):
    """The mean of each channel, and the channels brighter than a learned threshold."""

    name, summary = "means", "for tests"

    def __init__(self, threshold=100.0):
        self.threshold = np.array([threshold])
        self.n_computed = 0

    @property
    def outputs(self):
        return {"mean": RowSpec(3), "bright": RowSpec(3, sparse=True)}

    def state(self):
        return {"threshold": self.threshold}

    def restore(self, state):
        self.threshold = state["threshold"]

    def compute(self, rgb):
        self.n_computed += 1
        mean = rgb.mean(axis=(0, 1))
        return {"mean": mean, "bright": sparse.csr_array((mean > self.threshold)[np.newaxis].astype(np.float32))}


class Peak(Recipe):
    """The brightest value of each channel."""

    name, summary = "peak", "for tests"

    @property
    def outputs(self):
        return {"peak": RowSpec(3)}

    def compute(self, rgb):
        return {"peak": rgb.max(axis=(0, 1)).astype(np.float32)}


@pytest.fixture
def pictures(tmp_path):
    found = {}
    for i in range(6):
        file = tmp_path / f"{i}.png"
        Image.new("RGB", (8, 8), (40 * i, 200, 10)).save(file)
        found[sha256(file.read_bytes()).hexdigest()] = file
    return found


@pytest.fixture
def library(tmp_path):
    return FeatureLibrary(tmp_path / "state")


def test_features_are_computed_once_and_by_content(library, pictures):
    recipe, keys = Means(), list(pictures)
    (done,) = library.describe(dict(list(pictures.items())[:4]), recipe)
    assert (done.n_known, done.n_computed) == (0, 4)
    assert library.present(recipe, keys).tolist() == [0, 1, 2, 3]
    assert library.missing(recipe, [*keys, "no key"]) == {keys[4], keys[5], "no key"}

    (done,) = library.describe(pictures, recipe)
    assert (done.n_known, done.n_computed, recipe.n_computed) == (4, 2, 6)
    found = library.features(recipe, keys[::-1])
    np.testing.assert_array_equal(found["mean"], [[40 * i, 200, 10] for i in range(5, -1, -1)])
    np.testing.assert_array_equal(found["bright"].toarray()[:, :2], [[1, 1]] * 3 + [[0, 1]] * 3)


def test_joined_recipes_share_the_features_of_their_parts(library, pictures):
    means = Means()
    library.describe(dict(list(pictures.items())[:4]), means)
    joined = CombinedRecipe([means, Peak()])
    (done,) = library.describe(pictures, joined)
    assert (done.recipe, done.n_known, done.n_computed) == ("means+peak", 0, 6)
    assert means.n_computed == 6  # four rows were there
    assert list(library.features(joined, list(pictures))) == ["mean", "bright", "peak"]
    assert library.store(joined, "mean") is library.store(means, "mean")
    (again,) = library.describe(pictures, joined)
    assert (again.n_known, again.n_computed) == (6, 0)


def test_a_recipe_with_a_name_of_its_own_is_stored_apart(library, pictures):
    means = Means()
    library.describe(pictures, means)
    named = CombinedRecipe([means, Peak()], name="both")
    library.describe(pictures, named)
    assert means.n_computed == 12
    assert library.store(named, "mean") is not library.store(means, "mean")


def test_a_feature_that_one_store_lacks_is_missing(library, pictures):
    recipe, keys = Means(), list(pictures)
    library.describe(pictures, recipe)
    (folder,) = (library.folder / "features").glob("means.bright.*")
    FeatureStore.open(folder).remove(keys[1:2])
    assert library.missing(recipe, keys) == {keys[1]}
    assert library.present(recipe, keys).tolist() == [0, 2, 3, 4, 5]
    assert library.describe(pictures, recipe)[0].n_computed == 1
    assert not library.missing(recipe, keys)


def test_asking_again_opens_reads_and_hashes_nothing(library, pictures, monkeypatch):
    recipe = Means()
    library.describe(pictures, recipe)
    library.present(recipe, list(pictures))
    with monkeypatch.context() as patch:
        patch.setattr("visterm.vision.recipes.base._hash", None)
        patch.setattr(FeatureStore, "__init__", None)
        patch.setattr("visterm.features._folder.FeatureFolder.load", None)
        patch.setattr("visterm.features.library.common", None)
        (done,) = library.describe(pictures, recipe)
        assert (done.n_known, done.n_computed, done.failed) == (6, 0, [])
        assert library.missing(recipe, list(pictures)) == set()
        assert len(library.features(recipe, list(pictures))["mean"]) == 6


def test_what_another_process_wrote_or_deleted_is_seen(library, pictures):
    recipe, keys = Means(), list(pictures)
    assert library.missing(recipe, keys) == set(keys)
    FeatureLibrary(library.folder).describe(pictures, recipe)
    assert library.missing(recipe, keys) == set()
    shutil.rmtree(library.folder / "features")  # as messages about damage advise
    assert library.missing(recipe, keys) == set(keys)
    assert library.describe(pictures, recipe)[0].n_computed == 6


def test_a_recipe_that_learned_anew_has_features_of_its_own(library, pictures):
    recipe, keys = Means(), list(pictures)
    library.describe(pictures, recipe)
    before = recipe.hash
    recipe.restore({"threshold": np.array([50.0])})
    assert recipe.hash != before
    assert recipe.hash == Means(50.0).hash
    assert library.missing(recipe, keys) == set(keys)
    library.describe(pictures, recipe)
    assert library.features(recipe, keys)["bright"].toarray()[:, 0].tolist() == [0, 0, 1, 1, 1, 1]
    assert library.features(Means(), keys)["bright"].toarray()[:, 0].tolist() == [0, 0, 0, 1, 1, 1]


def test_threads_take_turns_and_each_picture_is_computed_once(library, pictures):
    recipe, keys, wrong = Means(), list(pictures), []
    start = threading.Barrier(4)

    def describe():
        start.wait()
        try:
            library.describe(pictures, recipe)
            if len(library.features(recipe, keys)["mean"]) != 6 or library.missing(recipe, keys):
                wrong.append("a picture is missing")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=describe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert recipe.n_computed == 6


def test_pictures_without_files_lock_nothing(library, pictures):
    recipe = Means()
    library.describe(pictures, recipe)
    absent = {"f" * 64: None}
    (folder,) = (library.folder / "features").glob("means.mean.*")
    with FeatureStore.open(folder).writer():
        (done,) = library.describe(pictures | absent, recipe)
    assert [str(failed) for failed in done.failed] == ["ffffffffffff: its file is missing"]
    assert (done.n_known, done.n_computed) == (6, 0)


def test_features_of_any_files(pictures, tmp_path):
    (tmp_path / "no.png").write_text("no picture")
    files = list(pictures.values())
    found, kept, failed = features_of_files(Means(), [files[2], tmp_path / "no.png", files[0]])
    assert kept == [0, 2]
    assert len(failed) == 1
    np.testing.assert_array_equal(found["mean"], [[80, 200, 10], [0, 200, 10]])
    assert found["bright"].shape == (2, 3)


def test_rows_are_stacked_and_one_output_is_the_matrix_itself():
    recipe = Means()
    nothing = stacked(recipe, [])
    assert (nothing["mean"].shape, nothing["bright"].shape) == ((0, 3), (0, 3))
    assert (nothing["mean"].dtype, nothing["bright"].dtype) == (np.float32, np.float32)
    rows = stacked(recipe, [recipe.compute(np.full((2, 2, 3), v, np.uint8)) for v in (9, 250)])
    assert isinstance(rows["bright"], sparse.csr_array)
    assert rows["mean"].tolist() == [[9] * 3, [250] * 3]
    assert one_or_several(rows) is rows
    assert one_or_several({"mean": rows["mean"]}) is rows["mean"]


class Palette(Recipe):
    """Learns the mean colour of the pictures it is given, and wants ten of them."""

    name, summary, n_training_pictures = "palette", "for tests", 10

    def __init__(self):
        self.mean = np.empty(0, np.float32)
        self.n_learned = 0

    @property
    def outputs(self):
        return {"palette": RowSpec(3)}

    def train(self, pictures):
        self.mean = np.mean(list(pictures.map(lambda rgb: rgb.mean(axis=(0, 1)), "Looking")), axis=0)
        self.n_learned = len(pictures)

    def state(self):
        return {"mean": self.mean} if len(self.mean) else {}

    def restore(self, state):
        self.mean = state["mean"]

    def compute(self, rgb):
        return {"palette": rgb.mean(axis=(0, 1)) - self.mean}


@pytest.fixture
def many(tmp_path, monkeypatch):
    """Forty-four pictures, and the recipe ``palette``, which learns from ten."""
    monkeypatch.setattr("visterm.features.library.recipe_named", lambda name: Palette())
    found = {}
    for i in range(44):
        file = tmp_path / f"many{i}.png"
        Image.new("RGB", (8, 8), (5 * i, 100, 10)).save(file)
        found[sha256(file.read_bytes()).hexdigest()] = file
    return list(found.items())


def test_a_recipe_learns_again_when_the_collection_has_outgrown_it(library, many):
    first = library.recipe("palette", dict(many[:3]))
    assert first.n_learned == 3
    library.describe(dict(many[:3]), first)
    kept = library.recipe("palette", dict(many[:11]))  # not yet four times as many
    assert (kept.n_learned, kept.hash) == (0, first.hash)
    again = library.recipe("palette", dict(many[:12]))
    assert again.n_learned == 10
    assert again.hash != first.hash
    (done,) = library.describe(dict(many[:12]), again)
    assert (done.n_known, done.n_computed) == (0, 12)
    assert done.notes == ["palette learned again, from 10 pictures; before, from 3"]
    assert library.describe(dict(many[:12]), again)[0].notes == []
    assert not library.missing(first, [key for key, _ in many[:3]])  # models may need them
    full = library.recipe("palette", dict(many))  # it has as many as it wanted
    assert (full.n_learned, full.hash) == (0, again.hash)


def test_pictures_without_files_do_not_make_a_collection_larger(library, many):
    first = library.recipe("palette", dict(many[:3]))
    absent = {key: None for key, _ in many[3:]}
    assert library.recipe("palette", dict(many[:3]) | absent).hash == first.hash


def test_what_an_earlier_version_learned_is_kept(library, many):
    from safetensors.numpy import load_file, save_file

    first = library.recipe("palette", dict(many[:3]))
    (file,) = (library.folder / "recipes").iterdir()
    save_file(load_file(file), file)  # does not say from how many pictures
    assert library.recipe("palette", dict(many)).hash == first.hash
    file.write_bytes(b"damaged")
    with pytest.raises(InputError, match="delete it, and the recipe learns again"):
        library.recipe("palette", dict(many))


def test_featureless_pictures_are_named(library, tmp_path):
    found = {}
    for i in range(6):
        file = tmp_path / f"grey{i}.png"
        Image.new("RGB", (8, 8), (40 * i, 40 * i, 40 * i + (i == 5))).save(file)  # all but the last are grey
        found[sha256(file.read_bytes()).hexdigest()] = file
    (done,) = library.describe(found, Means())
    grey = {str(tmp_path / f"grey{i}.png") for i in range(5)}
    assert set(done.featureless) == grey
    (note,) = done.notes
    assert note.startswith("means: 5 of 6 pictures have an empty or constant feature")
    assert sum(name in note for name in grey) == 3


def test_a_few_featureless_pictures_need_no_note(library, pictures, tmp_path):
    grey = tmp_path / "grey.png"
    Image.new("RGB", (8, 8), (90, 90, 90)).save(grey)
    (done,) = library.describe(pictures | {examine(grey).sha256: grey}, Means())
    assert done.featureless == [str(grey)]
    assert done.notes == []


def test_a_file_that_holds_another_picture_gives_no_features(library, pictures):
    """Whatever was put there since: nothing is stored under a hash that its bytes do not have."""
    first, second = list(pictures)[:2]
    (done,) = library.describe({first: pictures[second], second: pictures[second]}, Means())
    assert [(item.where, "has changed since it was added" in item.reason) for item in done.failed] == [
        (str(pictures[second]), True)
    ]
    assert library.missing(Means(), [first, second]) == {first}

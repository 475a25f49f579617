"""Model folders: whole or not at all, at any path, and refused in one line when they were tampered with."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from visterm import __version__
from visterm.contracts.tasks import Task
from visterm.errors import InputError, ModelError, VistermError
from visterm.models import Model, ModelInfo, folder, load_model, open_model, read_info, save_model
from visterm.models.card import model_card
from visterm.neighbours import KnnAnnotator
from visterm.storage import RowSpec
from visterm.vision.recipes import recipe
from visterm.vision.recipes.base import Recipe

X = np.random.default_rng(0).random((12, 256)).astype(np.float32)
TAGS = np.eye(12, 3, dtype=int) + np.eye(12, 3, k=-3, dtype=int)


class Learned(Recipe):
    """A recipe of one learned number."""

    name = "learned"
    summary = "a test"
    n_training_pictures = 1
    mean = np.array([0.5])

    @property
    def outputs(self):
        return {"mean": RowSpec(1)}

    def compute(self, rgb):
        return {"mean": (rgb.mean() - self.mean).astype(np.float32)}

    def state(self):
        return {"mean": self.mean}

    def restore(self, state):
        self.mean = state["mean"]


def make(chosen=None):
    chosen = chosen or recipe("colour")
    info = ModelInfo(
        name="holiday",
        version=2,
        method="knn-tags",
        tasks=("tag",),
        classes=(),
        tags=("sea", "שלום", 'a "quoted" | tag'),
        tag_counts=(2, 2, 2),
        n_tagged=6,
        recipe=chosen.name,
        recipe_hash=chosen.hash,
        training={"pictures": 12, "seed": 0},
        metrics={"P@10": 0.51},
        baseline_metrics={"P@10": 0.25},
    )
    return Model.of(info, KnnAnnotator(2).fit(X, TAGS), chosen)


@pytest.fixture
def saved(tmp_path):
    save_model(make(), tmp_path / "model")
    return tmp_path / "model"


def change(path, **values):
    contents = json.loads((path / "model.json").read_text(encoding="utf-8"))
    contents |= values
    for name in ("files", "checksum"):  # as in models of format 1
        contents.pop(name, None)
    (path / "model.json").write_text(json.dumps(contents), encoding="utf-8")


def test_a_model_is_three_files_and_comes_back(saved):
    assert sorted(file.name for file in saved.iterdir()) == ["README.md", "model.json", "model.safetensors"]
    loaded = load_model(saved)
    assert loaded.info.visterm == __version__
    assert loaded.info.tags == make().info.tags
    assert replace(loaded.info, created="") == replace(make().info, created="")
    np.testing.assert_array_equal(loaded.estimator.score_tags(X), make().estimator.score_tags(X))
    assert loaded.recipe.hash == recipe("colour").hash
    assert read_info(saved) == loaded.info


def test_models_move_between_paths(saved, tmp_path, monkeypatch):
    moved = tmp_path / "an other" / "שלום"
    moved.parent.mkdir()
    shutil.move(saved, moved)
    monkeypatch.chdir(moved.parent)
    loaded = load_model(moved.relative_to(moved.parent))
    np.testing.assert_array_equal(loaded.estimator.score_tags(X), make().estimator.score_tags(X))


def test_saving_twice_is_refused_and_changes_nothing(saved):
    before = {file.name: file.read_bytes() for file in saved.iterdir()}
    with pytest.raises(InputError, match="never overwritten"):
        save_model(make(), saved)
    assert {file.name: file.read_bytes() for file in saved.iterdir()} == before


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("odd")])
def test_an_interruption_leaves_nothing(tmp_path, monkeypatch, error):
    def interrupt(info):
        raise error

    monkeypatch.setattr(folder, "model_card", interrupt)
    expected = VistermError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected) as caught:
        save_model(make(), tmp_path / "models" / "model")
    if isinstance(error, OSError):
        assert "No space left" in str(caught.value)
    assert list((tmp_path / "models").iterdir()) == []


def test_what_a_killed_process_left_is_no_obstacle(tmp_path, monkeypatch):
    monkeypatch.setattr("os.getpid", lambda: 7)
    (tmp_path / ".model.7.unfinished").mkdir()
    (tmp_path / ".model.7.unfinished" / "model.json").write_text("{")
    save_model(make(), tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert load_model(tmp_path / "model").info.name == "holiday"


def test_what_a_recipe_learned_is_stored_with_the_model(tmp_path, monkeypatch):
    monkeypatch.setattr("visterm.vision.recipes.recipe", lambda name: Learned())
    trained = Learned()
    trained.mean = np.array([0.25])
    save_model(make(trained), tmp_path / "model")
    assert load_model(tmp_path / "model").recipe.mean.tolist() == [0.25]
    tensors = load_file(tmp_path / "model" / "model.safetensors")
    save_file({name.replace("recipe/mean", "recipe/other"): a for name, a in tensors.items()}, tmp_path / "other")
    (tmp_path / "other").replace(tmp_path / "model" / "model.safetensors")
    change(tmp_path / "model")
    with pytest.raises(InputError, match="not a usable model: KeyError"):
        load_model(tmp_path / "model")


def test_another_recipe_of_the_same_name_is_refused(saved):
    change(saved, recipe_hash="0" * 16)
    with pytest.raises(InputError, match=r"was trained on features of recipe 'colour' 0{16}.* train the model again"):
        load_model(saved)


def test_unknown_recipes_are_refused(saved):
    change(saved, recipe="no-such")
    with pytest.raises(InputError, match="unknown recipe 'no-such'"):
        load_model(saved)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_missing_and_empty_and_cut_files(saved, name):
    whole = (saved / name).read_bytes()
    for cut in (0, 1, 7, 8, 9, len(whole) // 2, len(whole) - 1):
        (saved / name).write_bytes(whole[:cut])
        with pytest.raises(InputError, match=saved.name):
            load_model(saved)
    (saved / name).unlink()
    with pytest.raises(InputError, match=saved.name):
        load_model(saved)
    (saved / name).mkdir()
    with pytest.raises(InputError, match=saved.name):
        load_model(saved)


def test_what_is_no_model_folder(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match="not a model folder"):
            read_info(path)


@pytest.mark.parametrize("contents", ["[]", "null", "{}", '"text"', "{", "\xff", "[" * 100_000])
def test_descriptions_that_are_none(saved, contents):
    (saved / "model.json").write_bytes(contents.encode("latin-1"))
    with pytest.raises(InputError, match=r"model\.json"):
        load_model(saved)


@pytest.mark.parametrize("number", [0, 2, 3, 4, 6, "1", None, [1], True])
def test_other_formats_are_refused(saved, number):
    change(saved, format=number)
    with pytest.raises(InputError, match="has model format"):
        read_info(saved)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("name", ["x"]),
        ("version", "2"),
        ("version", True),
        ("version", -1),
        ("tags", "sea"),
        ("tags", [1]),
        ("tag_counts", ["a"]),
        ("n_tagged", 1.5),
        ("recipe", {"a": 1}),
        ("training", []),
        ("metrics", {"P@10": "high"}),
        ("created", 5),
    ],
)
def test_fields_of_another_kind_are_named(saved, field, value):
    change(saved, **{field: value})
    with pytest.raises(InputError, match=rf"'{field}' is missing or not"):
        load_model(saved)


def test_missing_fields_are_named(saved):
    contents = json.loads((saved / "model.json").read_text(encoding="utf-8"))
    del contents["tags"], contents["checksum"]
    (saved / "model.json").write_text(json.dumps(contents))
    with pytest.raises(InputError, match="'tags' is missing"):
        read_info(saved)


def nested(depth):
    value = {"$": "list", "items": []}
    for _ in range(depth):
        value = {"$": "list", "items": [value]}
    return value


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        {"$": "estimator"},
        {"$": "estimator", "class": "os:system", "parameters": {"command": "touch executed"}, "fitted": {}},
        {"$": "estimator", "class": "subprocess:Popen", "parameters": {"args": "touch executed"}, "fitted": {}},
        {"$": "estimator", "class": "visterm.errors:InputError", "parameters": {}, "fitted": {}},
        {"$": "estimator", "class": "visterm.neighbours.knn_tags:KnnAnnotator", "parameters": {"x": 1}, "fitted": {}},
        {"$": "estimator", "class": "visterm.neighbours.knn_tags:KnnAnnotator", "parameters": [], "fitted": {}},
        {"$": "estimator", "class": "visterm.neighbours.knn_tags:KnnAnnotator", "parameters": {}, "fitted": {"_x_": 1}},
        {"$": "array", "name": "no such tensor"},
        {"$": "array", "name": ["list"]},
        {"$": "csr", "name": "train_tags_", "shape": [2, 2**70]},
        {"$": "csr", "name": "train_tags_", "shape": [2, 1]},
        {"$": "strings", "items": ["a"], "shape": [7]},
        {"$": "float", "value": "many"},
        nested(400),
    ],
    ids=lambda value: str(value)[:60],
)
def test_tampered_estimators_are_refused_and_execute_nothing(saved, estimator, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    change(saved, estimator=estimator)
    if estimator is None or estimator == nested(400):
        change(saved, estimator={"$": "dict", "items": {"a": [estimator]}})
    with pytest.raises(InputError, match="not a usable model"):
        load_model(saved)
    assert not (tmp_path / "executed").exists()


def test_tensors_of_other_names_are_refused(saved):
    tensors = load_file(saved / "model.safetensors")
    save_file({f"{name}x": array for name, array in tensors.items()}, saved / "model.safetensors")
    with pytest.raises(ModelError, match=r"model\.safetensors has \d+ bytes instead of \d+"):
        open_model(saved)
    change(saved)
    with pytest.raises(InputError, match="is missing"):
        load_model(saved)


def test_info_knows_what_a_model_does():
    info = make().info
    assert info.does(Task.ANNOTATE)
    assert info.does(Task.RANK)
    assert not info.does(Task.CLASSIFY)
    assert not replace(info, tasks=("classify",)).does(Task.RANK)


def test_the_card_tells_people(saved):
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# holiday, version 2\n")
    assert "| P@10 | 0.510 | 0.250 |" in card
    assert "- pictures: 12" in card
    assert "שלום" in card
    assert "## Classes" not in card
    bare = model_card(replace(make().info, classes=("coast", "forest"), tags=(), metrics={}, baseline_metrics={}))
    assert "coast, forest" in bare
    assert "## Tags" not in bare
    assert "not measured" in bare
    assert "| P@10 | 0.510 | - |" in model_card(replace(make().info, baseline_metrics={}))


def test_a_model_that_is_opened_reads_its_numbers_when_they_are_needed(saved):
    opened = open_model(saved)
    (saved / "model.safetensors").unlink()
    assert opened.info == read_info(saved)
    with pytest.raises(InputError, match="not a usable model"):
        _ = opened.estimator


def test_models_of_format_1_are_brought_forward_and_stay_as_they_are(saved):
    """Format 1 named modules, said floor for baseline, and multiplied margins by temperatures."""
    from visterm.models.upgrades import from_format_1

    contents = json.loads((saved / "model.json").read_text(encoding="utf-8"))
    contents["floor_metrics"] = contents.pop("baseline_metrics")
    del contents["checksum"]
    contents["estimator"]["class"] = "visterm.neighbours.knn:KnnAnnotator"
    (saved / "model.json").write_text(json.dumps(contents | {"format": 1}), encoding="utf-8")
    before = (saved / "model.json").read_bytes()
    model = load_model(saved)
    assert model.info.baseline_metrics == {"P@10": 0.25}
    assert type(model.estimator) is KnnAnnotator
    assert (saved / "model.json").read_bytes() == before
    margin = {"$": "estimator", "class": "visterm.margin.sdca:SDCAClassifier", "fitted": {"temperature_": 4.0}}
    topics = {"$": "estimator", "class": "visterm.topics.slda:SupervisedLDA", "fitted": {"temperature_": 4.0}}
    inside = {
        "$": "estimator",
        "class": "elsewhere.methods:Mine",
        "fitted": {"inner_": {"$": "list", "items": [margin]}},
    }
    upgraded = from_format_1({"estimator": inside, "relevance": topics})
    (of_margin,) = upgraded["estimator"]["fitted"]["inner_"]["items"]
    assert of_margin == {"$": "estimator", "class": "visterm.margin:SDCAClassifier", "fitted": {"temperature_": 0.25}}
    assert upgraded["estimator"]["class"] == "elsewhere.methods:Mine"
    assert upgraded["relevance"]["fitted"] == {"temperature_": 4.0}


def _stored(name, **parameters):
    return {"$": "estimator", "class": name, "parameters": parameters, "fitted": {"bandwidth_": 0.1}}


@pytest.mark.parametrize(
    ("method", "parameters", "name"),
    [
        ("pamir", {"loss": "warp"}, "pamir-warp"),
        ("pamir", {"loss": "hinge"}, "pamir"),
        ("sdca", {"loss": "warp"}, "sdca"),
        ("slda", {"refine": 25}, "slda-refined"),
        ("slda", {"refine": 0}, "slda"),
        ("corr-lda", {"refine": 5}, "corr-lda-refined"),
        ("slda-committee", {"refine": 25}, "slda-committee"),
        ("tagprop", {"tag_power": 1.0}, "tagprop-rare"),
        ("tagprop", {"tag_power": 0}, "tagprop"),
        ("jec", {"tag_power": 1.0}, "jec"),
        ("knn", {}, "knn"),
    ],
)
def test_what_improves_on_a_papers_method_gets_its_own_name(saved, method, parameters, name):
    estimator = json.loads((saved / "model.json").read_text(encoding="utf-8"))["estimator"]
    change(saved, format=1, method=method, estimator=estimator | {"parameters": parameters})
    assert read_info(saved).method == name
    change(saved, format=5, method=method)
    assert read_info(saved).method == method


def test_two_pass_neighbours_of_format_1_are_calibrated():
    from visterm.models.upgrades import from_format_1

    stored = _stored("visterm.neighbours.two_pass:TwoPassKnn", n_neighbors=3, learning="likelihood", tag_power=1.0)
    found = from_format_1({"method": "two-pass-knn", "estimator": stored})
    assert found["method"] == "two-pass-knn-likelihood"
    assert found["estimator"]["class"] == "visterm.neighbours:LikelihoodTwoPassKnn"
    assert found["estimator"]["parameters"] == {"n_neighbors": 3, "tag_power": 1.0}


def test_baselines_of_format_1_are_found_among_the_neighbours():
    from visterm.models.upgrades import from_format_1

    inside = {"$": "estimator", "class": "visterm.ranking.tag_ranker:TagRanker", "fitted": {}}
    inside["parameters"] = {"annotator": _stored("visterm.baselines.floor:TagFrequency")}
    found = from_format_1({"method": "tag-frequency", "estimator": inside})["estimator"]
    assert found["class"] == "visterm.ranking:TagRanker"
    assert found["parameters"]["annotator"]["class"] == "visterm.neighbours:TagFrequency"


@pytest.mark.parametrize("kind", ["SupervisedLDA", "CorrLDA", "LDA"])
def test_topic_models_of_format_1_become_those_of_papers_or_refined_ones(kind):
    from visterm.models.upgrades import from_format_1

    plain = {"n_topics": 3, "refine": 0, "refine_ridge": 0.6, "held_out_share": 0.0}
    stored = _stored(f"visterm.topics.some:{kind}", **plain) | {"fitted": {"alpha_": 1.0, "temperature_": 1.0}}
    found = from_format_1({"method": "slda-committee", "estimator": _stored("visterm.x:Y", members=[stored])})
    (member,) = found["estimator"]["parameters"]["members"]
    assert member["class"] == f"visterm.topics:{kind}"
    assert (member["parameters"], member["fitted"]) == ({"n_topics": 3}, {"alpha_": 1.0})
    for name in ("refine", "held_out_share"):
        changed = stored | {"parameters": plain | {name: 0.5}}
        member = from_format_1({"estimator": changed})["estimator"]
        if kind == "LDA":
            assert member["parameters"] == {"n_topics": 3}
        else:
            assert member == changed | {"class": f"visterm.topics:Refined{kind}"}


def test_graphs_of_format_1_may_have_had_a_largest_distance():
    from visterm.models.upgrades import from_format_1

    without = _stored("visterm.graph:PictureGraph", n_neighbors=3, max_distance=None)
    assert from_format_1({"estimator": without})["estimator"]["parameters"] == {"n_neighbors": 3}
    far = _stored("visterm.graph:PictureGraph", n_neighbors=3, max_distance=0.5)
    assert from_format_1({"estimator": far})["estimator"] == far  # it cannot be loaded any more


def test_a_name_that_a_package_only_borrowed_is_refused(saved, monkeypatch):
    from sklearn.linear_model import LogisticRegression

    import visterm.neighbours

    monkeypatch.setattr(visterm.neighbours, "LogisticRegression", LogisticRegression, raising=False)
    stored = {"$": "estimator", "class": "visterm.neighbours:LogisticRegression", "parameters": {}, "fitted": {}}
    change(saved, estimator=stored)
    with pytest.raises(InputError, match="is not a method"):
        load_model(saved)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_changed_bytes_are_noticed(saved, name):
    data = bytearray((saved / name).read_bytes())
    place = data.index(b'"n_tagged": 6') + 12 if name == "model.json" else len(data) - 8
    data[place] ^= 1
    (saved / name).write_bytes(data)
    with pytest.raises(ModelError, match="fails its checksum"):
        load_model(saved)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_pipe_is_not_waited_for(saved, name):
    (saved / name).unlink()
    os.mkfifo(saved / name)
    with pytest.raises(ModelError, match="plain file"):
        load_model(saved)


def test_a_model_is_on_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    synced = []
    sync, rename = os.fsync, Path.rename

    def note(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    def renamed(path, target):
        synced.append("renamed")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(Path, "rename", renamed)
    save_model(make(), tmp_path / "model")
    assert sorted(synced[:3]) == ["README.md", "model.json", "model.safetensors"]
    assert synced[3:] == [f".model.{os.getpid()}.unfinished", "renamed", tmp_path.name]


def test_models_of_format_1_have_no_number(saved):
    contents = json.loads((saved / "model.json").read_text(encoding="utf-8"))
    del contents["sequence"], contents["checksum"], contents["files"]
    (saved / "model.json").write_text(json.dumps(contents | {"format": 1}), encoding="utf-8")
    assert load_model(saved).info.sequence == 0


@pytest.mark.parametrize("error", [MemoryError(), ImportError("a.so: failed to map segment from shared object")])
@pytest.mark.parametrize("where", ["_parts", "checked_scores"], ids=["when it is read", "when it answers"])
def test_too_little_memory_is_not_the_fault_of_a_model(tmp_path, monkeypatch, error, where):
    """Else the best model would be left out, and the person asked to train it again."""

    def fail(*_):
        raise error

    save_model(make(), tmp_path / "m")
    monkeypatch.setattr(folder, where, fail)
    found = open_model(tmp_path / "m")
    with pytest.raises(type(error)), folder.using(found):
        folder.checked_scores(found.estimator.score_tags(X), 12, 3)

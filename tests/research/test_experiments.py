"""Experiments as files: read, checked, carried out, and told in a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from visterm.errors import InputError
from visterm.learn import Dataset
from visterm.research import experiments, research_data, run_experiments
from visterm.research.experiments import Figure, Finding, carry_out, find, markdown, read

TEXT = """
title = "The most frequent class"
method = "majority-class"
data = "tiny"

[protocol]
split = "given"

[[figures]]
measure = "accuracy"
published = 0.5
source = "nobody"
same_protocol = true

[[figures]]
measure = "mean class accuracy"
"""


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    """A data set of 12 pictures: class 0 for two thirds, sea for all, sky for half."""
    y = np.array([0, 0, 1] * 4)
    tags = sparse.csr_array(np.column_stack([np.ones(12), np.arange(12) % 2]), dtype=np.float32)
    data = Dataset("tiny", np.eye(12), y, ("a", "b"), tags, ("sea", "sky"), ("train",) * 6 + ("test",) * 6)
    monkeypatch.setitem(research_data._LOADERS, "tiny", lambda name, folder: data)


@pytest.fixture
def experiment(tmp_path):
    def write(*replacements, text=TEXT):
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "nobody-2000_majority-class_tiny.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_is_read_whole(experiment):
    found = read(experiment())
    assert found.name == "nobody-2000_majority-class_tiny"
    assert found.data == ("tiny",)
    assert found.figures == (Figure("accuracy", 0.5, "nobody", True), Figure("mean class accuracy"))
    assert found.parameters == {}


def test_figures_by_hand(experiment):
    accuracy, per_class = carry_out(read(experiment()), Path())
    assert accuracy.values == [pytest.approx(2 / 3)]
    assert per_class.values == [0.5]
    assert accuracy.mean == pytest.approx(2 / 3)
    assert accuracy.deviation == 0
    assert accuracy.seconds > 0


@pytest.mark.parametrize(
    ("setting", "n_runs"),
    [
        ('split = "given"\nrepeats = 2', 2),
        ('split = "stratified"\nshare = 0.5\nrepeats = 3', 3),
        ('split = "k-fold"\nn_folds = 3\nrepeats = 2', 6),
        ('split = "per-class"\nn_train = 2\nseed = 5', 1),
        ('split = "per-class"\nn_train = 1\nn_test = 1', 1),
        ('split = "share-tagged"\nshare = 0.5\nrepeats = 2', 2),
    ],
)
def test_every_split_gives_one_value_a_run(experiment, setting, n_runs):
    findings = carry_out(read(experiment(('split = "given"', setting))), Path())
    assert [len(finding.values) for finding in findings] == [n_runs, n_runs]


def test_several_data_sets_and_parameters(experiment):
    path = experiment(
        ('data = "tiny"', 'data = ["tiny", "tiny"]\nparameters = {n_neighbors = 1}'), ("majority-class", "knn")
    )
    assert [len(finding.values) for finding in carry_out(read(path), Path())] == [2, 2]
    with pytest.raises(InputError, match="no parameter 'k'"):
        carry_out(
            read(experiment(('data = "tiny"', 'data = "tiny"\nparameters = {k = 1}'), ("majority-class", "knn"))),
            Path(),
        )


def test_folds_without_classes_are_drawn_of_all_pictures(experiment, monkeypatch):
    loaded = research_data.load("tiny", Path())
    bare = Dataset("bare", loaded.X, np.full(12, -1), (), loaded.tags, loaded.tag_names)
    monkeypatch.setitem(research_data._LOADERS, "tiny", lambda name, folder: bare)
    path = experiment(
        ("majority-class", "tag-frequency"),
        ('split = "given"', 'split = "k-fold"\nn_folds = 4\nmax_query_words = 1'),
        ('"accuracy"', '"AvgP"'),
        ("mean class accuracy", "P@1"),
    )
    assert [len(finding.values) for finding in carry_out(read(path), Path())] == [4, 4]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[protocol]", "[protocol", "not a readable experiment"),
        ('title = "The most frequent class"', "", "not a complete experiment: 'title'"),
        ('data = "tiny"', "data = 5", "not a complete experiment"),
        ('data = "tiny"', 'data = ["tiny", "huge"]', "unknown data huge"),
        ('data = "tiny"', "data = []", "at least one data set"),
        ('method = "majority-class"', 'method = "oracle"', "unknown method 'oracle'"),
        ('method = "majority-class"', 'method = ["a"]', "not a usable experiment"),
        ('"accuracy"', '"charm"', "unknown measure 'charm'"),
        ('measure = "accuracy"', "measure = 5", "not a usable experiment"),
        ('measure = "accuracy"', 'measur = "accuracy"', "not a complete experiment"),
        ("published = 0.5", 'published = "half"', "'half' is not a number"),
        ('split = "given"', 'split = "fair"', "unknown split 'fair': choose given, stratified"),
        ('split = "given"', "", "not a usable experiment: 'split'"),
        ('split = "given"', 'split = "stratified"', "the split stratified needs 'share'"),
        ('split = "given"', 'split = "given"\nrepeats = 0', "at least one repeat"),
        ('split = "given"', 'split = "given"\nrepeats = "5"', "not a usable experiment"),
        ('[protocol]\nsplit = "given"', 'protocol = "given"', "not a"),
    ],
)
def test_malformed_files_are_refused_by_name(experiment, old, new, message):
    with pytest.raises(InputError, match=message) as caught:
        read(experiment((old, new)))
    assert "nobody-2000" in str(caught.value)


def test_unreadable_files(tmp_path):
    with pytest.raises(InputError, match="not a readable experiment"):
        read(tmp_path / "missing.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not a readable experiment"):
        read(tmp_path / "odd.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 5000)
    with pytest.raises(InputError, match="not a readable experiment"):
        read(tmp_path / "deep.toml")


def test_measures_that_the_method_cannot_reach(experiment):
    with pytest.raises(InputError, match="'AvgP' cannot be measured for majority-class"):
        carry_out(read(experiment(("mean class accuracy", "AvgP"))), Path())


def test_experiments_are_found_by_name(tmp_path):
    for name in ("knn/b_knn_x.toml", "knn/a_knn_x.toml", "knn/notes.md", "top.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list(find(tmp_path)) == ["a_knn_x", "b_knn_x"]


def test_every_file_of_the_project_is_an_experiment():
    known = find(Path(__file__).parents[2] / "experiments")
    assert len(known) > 30
    for path in known.values():
        assert read(path).figures, path


def test_the_table():
    published = Finding("first", Figure("accuracy", 0.51234, "paper", True), [0.5, 0.6, 0.7], 1.234)
    unpublished = Finding("second", Figure("P@10"), [0.25], 0.0)
    assert published.row == ["first", "accuracy", "0.5123", "0.6 ± 0.1", "yes", "1.23"]
    assert unpublished.row == ["second", "P@10", "-", "0.25 ± 0", "no", "0.00"]
    lines = markdown([published, unpublished]).splitlines()
    assert lines[0] == f"| {' | '.join(experiments.COLUMNS)} |"
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1


def test_collections_of_pictures_are_described_by_the_recipe_named(experiment, monkeypatch, tmp_path):
    X = {"colour": np.eye(4)}
    tags = sparse.csr_array(np.array([[1, 0, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]], np.float32))
    asked = []

    def load_pictures(name, folder, recipe, *, cache):
        asked.append((name, folder, recipe, cache))
        return Dataset(
            name, X, np.array([0, 0, 0, 1]), ("a", "b"), tags, ("sea", "sky", "sun"), ("train",) * 2 + ("test",) * 2
        )

    monkeypatch.setattr("visterm.research.picture_data.load_pictures", load_pictures)
    with pytest.raises(InputError, match="name the recipe"):
        read(experiment(('"tiny"', '"corel5k"')))
    path = experiment(('data = "tiny"', 'data = "corel5k"\nrecipe = "colour"'))
    (accuracy, _) = carry_out(read(path), tmp_path, cache=tmp_path / "cache")
    assert asked == [("corel5k", tmp_path, "colour", tmp_path / "cache")]
    assert accuracy.values == [0.5]


def test_words_of_one_part_only_may_be_left_out():
    tags = sparse.csr_array(np.array([[1, 0, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]], np.float32))
    data = Dataset("tiny", np.eye(4), np.zeros(4, np.intp), ("a",), tags, ("sea", "sky", "sun"))
    kept = data.with_words_of_both(np.array([0, 1]), np.array([2, 3]))
    assert kept.tag_names == ("sea", "sun")
    assert kept.tags.toarray().tolist() == [[1, 1], [1, 0], [1, 1], [1, 0]]


@pytest.mark.parametrize("engine", ["here", "elsewhere"])
def test_several_experiments_make_one_report(tmp_path, engine, request):
    begun = request.getfixturevalue("far_workers") if engine == "elsewhere" else [0, 1]
    folder = tmp_path / "all"
    (folder / "majority-class").mkdir(parents=True)
    (folder / "majority-class" / "one.toml").write_text(TEXT, encoding="utf-8")
    absent = TEXT.replace('"tiny"', '"labelme8"')
    (folder / "majority-class" / "two.toml").write_text(absent, encoding="utf-8")
    report = run_experiments(["all"], folder=folder, data=tmp_path, results=tmp_path / "results")
    assert [found.experiment for found in report.findings] == ["one", "one"]
    assert len(begun) == 2
    assert report.not_run[0].startswith("two: the data set labelme8 is not in")
    assert report.table.read_text(encoding="utf-8") == markdown(report.findings)
    assert report.table == tmp_path / "results" / "experiments.md"
    with pytest.raises(InputError, match="labelme8 is not in"):
        run_experiments(["two"], folder=folder, data=tmp_path, results=tmp_path / "results")
    with pytest.raises(InputError, match="no experiment could be run; two"):
        run_experiments(["two", "two"], folder=folder, data=tmp_path, results=tmp_path / "results")
    with pytest.raises(InputError, match="there is no experiment 'three': the experiments are one, two"):
        run_experiments(["three"], folder=folder, data=tmp_path)
    with pytest.raises(InputError, match="there are no experiments"):
        run_experiments(["all"], folder=tmp_path / "nowhere", data=tmp_path)


def test_research_data_must_be_named(tmp_path, monkeypatch):
    monkeypatch.delenv("VISTERM_DATA", raising=False)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "one.toml").write_text(TEXT, encoding="utf-8")
    with pytest.raises(InputError, match="VISTERM_DATA"):
        run_experiments(["one"], folder=tmp_path)

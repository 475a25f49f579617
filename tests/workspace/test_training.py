"""What a model is said to be worth is what a search with it gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.collection import doubts
from visterm.collection.doubts import is_calibrated
from visterm.collection.evidence import Evidence
from visterm.collection.features import stored_features
from visterm.contracts import Task, pairs_of, word_scores
from visterm.find.rank.beliefs import Beliefs
from visterm.find.rank.pairs import Pairs
from visterm.find.rank.searcher import Searcher
from visterm.index.index import Index
from visterm.learn import training
from visterm.measures import AveragePrecision, evaluate
from visterm.ranking import queries
from visterm.workspace import Workspace


@pytest.fixture
def opened(workspace):
    with Workspace(workspace) as found:
        yield found


@pytest.mark.parametrize("method", ["knn-tags", "caption-ridge"])
def test_the_average_precision_is_that_of_a_search(opened, method):
    """Every query of the test pictures' captions is typed into a search among them, of which nobody said anything."""
    if method != "knn-tags":
        opened.train(method)
    model = opened.shelf.model(Task.RANK, method)
    truth = opened.catalogue.truth()
    names, relevance = truth.tag_names, model.relevance
    tested = [row for row, split in enumerate(truth.splits) if split == "test" and truth.tags[[row]].nnz]
    keys = [truth.sha256[row] for row in tested]
    X = stored_features(opened, model.recipe, keys)
    log_p = relevance.log_probabilities(word_scores(model.estimator, X))
    index = Index(len(names))
    index.add(keys, log_p)
    pairs = None
    if method == "caption-ridge":
        assert 0 < relevance.pair_weight_ < 1
        numbers, columns = pairs_of(model.estimator)
        of_pairs = Index(len(numbers))
        of_pairs.add(keys, model.estimator.set_log_probabilities(X)[:, numbers])
        named = [(names[a], names[b]) for a, b in columns]
        pairs = Pairs(of_pairs.snapshot(), named, keys, relevance.pair_weight_)
    searcher = Searcher(
        Evidence(keys, tags=sparse.csr_array(log_p.shape), tag_names=names),
        Beliefs(index.snapshot(), names, keys),
        pairs=pairs,
        dependence=relevance.dependence_,
    )
    asked = queries.from_tags(truth.tags[tested], max_words=3)
    scores = np.zeros((len(asked), len(keys)))
    for of_query, words in zip(scores, asked.columns(), strict=True):
        text = " ".join(f'"{names[word]}"' for word in words)
        for hit in searcher.search(text, len(keys), unlikely=True).hits:
            of_query[hit.row] = hit.probability
    metrics = model.info.metrics
    assert metrics["AvgP"] == pytest.approx(evaluate([AveragePrecision()], asked.relevance, scores)["AvgP"], rel=2e-3)
    assert metrics["AvgP by own scores"] != metrics["AvgP"]
    assert "| AvgP by own scores |" in (opened.shelf.place(method, 1) / "README.md").read_text(encoding="utf-8")


def test_a_search_of_several_words_asks_what_the_model_knows_of_them_together(opened):
    opened.train("caption-ridge")

    def folders():
        return {folder.name.rpartition(".")[2] for folder in (opened.state / "index").glob("caption-ridge@*")}

    opened.search("tree", limit=50, unlikely=True)
    assert folders() == {"words"}
    found = opened.search("tree sky", limit=50, unlikely=True).found
    assert folders() == {"words", "pairs"}
    assert {reason.word for item in found for reason in item.reasons} == {"tree", "sky", "tree and sky"}
    opened.catalogue.rename("tag", "tree", "oak")
    renamed = opened.search("oak sky", limit=50, unlikely=True).found
    assert [item.path for item in renamed] == [item.path for item in found]
    assert "oak and sky" in {reason.word for item in renamed for reason in item.reasons}


def test_where_no_picture_is_marked_for_testing_some_are_held_out(opened, monkeypatch):
    data = training.labelled
    monkeypatch.setattr(training, "labelled", lambda *a: _unmarked(*data(*a)))
    info = opened.train("knn-tags", name="unmarked")
    assert 0 < info.metrics["AvgP"] < 1
    assert "AvgP by own scores" in info.metrics
    assert opened.search("boat", model="unmarked").found


def test_classifiers_have_no_search_to_measure(opened):
    assert "AvgP" not in opened.shelf.model(Task.CLASSIFY, "knn").info.metrics


def test_methods_that_only_search_were_measured_on_held_out_pictures_too(opened, visterm, monkeypatch):
    printed = visterm("train", "pamir", "-w", opened.folder).stdout
    model, other = (opened.shelf.model(Task.RANK, name) for name in ("pamir", "knn-tags"))
    number = model.info.held_out(Task.RANK)
    assert number == other.info.held_out(Task.RANK) == other.info.held_out(Task.ANNOTATE) > 0
    assert f"on {number} held-out pictures" in printed, "above the table"
    assert f"measured on {number} pictures marked as test pictures)" in " ".join(printed.split())
    assert not is_calibrated(model, Task.RANK)
    monkeypatch.setattr(doubts, "_ENOUGH_HELD_OUT", number)
    assert is_calibrated(model, Task.RANK)


def test_the_suggestions_for_held_out_pictures_are_counted(opened):
    info = opened.train("knn-tags")
    right = info.metrics["suggestions right"] * info.held_out_suggestions
    assert info.held_out_suggestions > 0
    assert right == pytest.approx(round(right))
    assert opened.shelf.model(Task.CLASSIFY, "knn").info.held_out_suggestions is None


def test_the_model_that_answers_now_is_told(opened, visterm):
    """Models are in use by their figures, so that a training may also bring back another one."""

    def train(method, name):
        printed = visterm("train", method, "--name", name, "-w", opened.folder).stdout
        return [line for line in printed.splitlines() if "is now used" in line]

    assert opened.models().in_use["classify"] == "knn@1"
    assert train("knn", "again") == ["again@1 is now used to classify (was knn@1)."], "of equal ones, the newest"
    assert train("majority-class", "poor") == []
    assert train("majority-class", "again") == ["knn@1 is now used to classify (was again@1)."]


def test_the_first_model_replaces_none(tmp_path, postcards):
    with Workspace.create(tmp_path / "fresh") as photos:
        photos.add([postcards])
        told = [(each.task, each.model, each.before) for each in photos.train("knn-tags").replaced]
        assert told == [("tag", "knn-tags@1", None), ("search", "knn-tags@1", None)]
        assert photos.train("jec", recipe="colour").to_dict()["replaced"] == [
            {"task": task, "model": used, "before": "knn-tags@1"}
            for task, used in photos.models().in_use.items()
            if used != "knn-tags@1"
        ]


def _unmarked(data, left_out):
    from dataclasses import replace

    return replace(data, splits=(None,) * len(data)), left_out


def test_suggestions_of_an_earlier_version_are_told(workspace, visterm, visterm_json):
    written = visterm_json("tag", "--best", 1, "--write", "-w", workspace)["written"]
    visterm("classify", "--write", "-w", workspace)
    assert "kept" not in visterm("train", "jec", "-w", workspace).stdout, "another model"
    said = visterm("train", "knn-tags", "-w", workspace).stdout
    assert f"Earlier models made the suggestions kept so far ({written} of knn-tags@1): 'visterm tag --write'" in said
    visterm("tag", "--best", 1, "--write", "--model", "knn-tags", "-w", workspace)
    assert visterm_json("train", "knn-tags", "-w", workspace)["earlier"] == {"knn-tags@2": written}

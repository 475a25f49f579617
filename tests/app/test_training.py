"""What a model is said to be worth is what a search with it gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.app import finding, training
from visterm.app.describing import stored_features
from visterm.app.workspace import Workspace
from visterm.contracts import Task
from visterm.evaluate.measures import AveragePrecision, evaluate
from visterm.ranking import queries
from visterm.search.beliefs import Beliefs
from visterm.search.evidence import Evidence
from visterm.search.index import Index
from visterm.search.relevance import word_scores
from visterm.search.searcher import Searcher


@pytest.fixture
def opened(workspace):
    with Workspace(workspace) as found:
        yield found


def test_the_average_precision_is_that_of_a_search(opened):
    """Every query of the test pictures' captions is typed into a search among them, of which nobody said anything."""
    model = opened.model(Task.RANK)
    truth = opened.catalogue.truth()
    tested = [row for row, split in enumerate(truth.splits) if split == "test" and truth.tags[[row]].nnz]
    keys = [truth.sha256[row] for row in tested]
    log_p = model.relevance.log_probabilities(word_scores(model.estimator, stored_features(opened, model.recipe, keys)))
    index = Index(len(truth.tag_names))
    index.add(keys, log_p)
    untagged = Evidence(keys, tags=sparse.csr_array(log_p.shape), tag_names=truth.tag_names)
    beliefs = Beliefs(index.snapshot(), truth.tag_names, keys)
    searcher = Searcher(untagged, beliefs, dependence=model.relevance.dependence_)
    asked = queries.from_tags(truth.tags[tested], max_words=3)
    scores = np.zeros((len(asked), len(keys)))
    for of_query, words in zip(scores, asked.columns(), strict=True):
        text = " ".join(f'"{truth.tag_names[word]}"' for word in words)
        for hit in searcher.search(text, len(keys), unlikely=True).hits:
            of_query[hit.row] = hit.probability
    metrics = model.info.metrics
    assert metrics["AvgP"] == pytest.approx(evaluate([AveragePrecision()], asked.relevance, scores)["AvgP"], rel=1e-3)
    assert metrics["AvgP by own scores"] != metrics["AvgP"]
    assert "| AvgP by own scores |" in (opened.model_folder("knn-tags", 1) / "README.md").read_text(encoding="utf-8")


def test_where_no_picture_is_marked_for_testing_some_are_held_out(opened, monkeypatch):
    data = training.labelled
    monkeypatch.setattr(training, "labelled", lambda *a: _unmarked(data(*a)))
    info = training.train(opened, "knn-tags", name="unmarked")
    assert 0 < info.metrics["AvgP"] < 1
    assert "AvgP by own scores" in info.metrics
    assert finding.search(opened, opened.model(Task.RANK, "unmarked"), "boat").found


def test_classifiers_have_no_search_to_measure(opened):
    assert "AvgP" not in opened.model(Task.CLASSIFY, "knn").info.metrics


def _unmarked(data):
    from dataclasses import replace

    return replace(data, splits=(None,) * len(data))

"""In a large collection only rows that can be among the best are looked at, and the answer says what it left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.collection.reasons import Reason
from visterm.find.rank.beliefs import Beliefs
from visterm.find.rank.searcher import Hits, Searcher
from visterm.find.words.query import parse
from visterm.index.index import Index

N = 3000
NAMES = ["boat", "sea", "dog"]


@pytest.fixture(scope="module")
def searcher():
    """Probabilities of all sizes; the last rows are those of people."""
    rng = np.random.default_rng(0)
    surprise = rng.permuted(np.tile(np.linspace(0.01, 8, N), (3, 1)), axis=1).T
    paths = [f"x/{i}.jpg" for i in range(N)]
    index = Index(3)
    index.add(paths, -surprise)
    tags = np.zeros((N, 3))
    tags[-5:, 0] = 1
    evidence = Evidence(paths, tags=sparse.csr_array(tags), tag_names=NAMES)
    return Searcher(evidence, Beliefs(index.snapshot(), NAMES, paths))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr("visterm.find.rank.searcher._FEW", 1000)


def looked_at(searcher, text, n_best=20):
    return searcher._look(searcher._interpreter.read(parse(text)).asked, n_best)


def test_hardly_more_rows_than_needed_are_looked_at(searcher):
    for text, most in (("sea", 130), ("boat", 130), ("sea dog", 250), ("sea OR dog", 250), ("sea -dog", 250)):
        look = looked_at(searcher, text)
        assert 100 <= len(look.rows) <= most
        assert (np.diff(look.rows) > 0).all()
        whole = looked_at(searcher, text, N)  # so many are needed that all are looked at
        assert len(whole.rows) == N
        others = np.exp(np.delete(whole.belief.log_p, look.rows))
        assert others.max() <= look.others * (1 + 1e-5)
        assert whole.others == 0


def test_the_likely_pictures_are_counted_if_all_of_them_were_looked_at(searcher):
    found = searcher.search("sea")
    assert found.n_likely is None  # a hundred were looked at, and more are likely
    assert looked_at(searcher, "sea").others > found.cut_off
    assert len(found.hits) == 20
    rare = searcher.search("sea dog")
    assert rare.n_likely == len(searcher.search("sea dog", N).hits)


def test_where_too_few_rows_are_possible_all_are_looked_at(searcher):
    """Of rows that cannot match, none is likelier than another."""
    text = "filename:x/1 OR (filename:x/2 sea)"
    assert [hit.row for hit in searcher.search(text, unlikely=True, n_best=5000).hits if hit.probability == 1] == [
        row for row in range(N) if str(row)[0] == "1"
    ]
    likeness = np.full(N, -math.inf)
    likeness[7:30] = -1.0
    alike = Searcher(searcher._evidence, like=lambda _: likeness)
    assert [hit.row for hit in alike.search("like:x", 40, unlikely=True).hits] == list(range(7, 30))


def test_where_people_said_so_rows_are_ordered_by_the_model_and_no_more_are_shown_than_wanted(searcher):
    whole = searcher.search("boat", 8)
    told = [hit.row for hit in whole.hits if hit.told]
    model = searcher._interpreter.read(parse("boat")).asked.sources[0][0].log_p("boat")
    assert told == sorted(range(N - 5, N), key=lambda row: -model[row])
    assert len(whole.hits) == 8
    for n in (1, 4, 5):
        assert [hit.row for hit in searcher.search("boat", n).hits] == told[:n]


def test_to_rank_leaves_out_the_unlikely_too(searcher):
    for text in ("sea dog", "boat"):
        found = searcher.search(text, 300)
        assert found.rows.tolist() == [hit.row for hit in found.hits]
        assert found.likely.all()
        assert len(searcher.search(text, 300, unlikely=True).rows) == 300


def test_nothing_found_is_empty():
    evidence = Evidence(["a.jpg"], tags=sparse.csr_array([[1]]), tag_names=["boat"])
    found = Searcher(evidence).search("xylophone")
    for nothing in (found, Hits()):
        values = (nothing.cut_off, nothing.n_likely, nothing.best, nothing.n_less_likely, nothing.hits)
        assert values == (math.inf, 0, 0.0, 0, [])
        columns = (nothing.rows, nothing.probabilities, nothing.told, nothing.likely, nothing.missing)
        assert [len(column) for column in columns] == [0] * 5
    assert [note.word for note in found.notes] == ["xylophone"]
    assert Reason("boat", "tag", 1.0).excluded is False


def test_a_term_that_is_not_written_is_a_reason_against_it():
    tags = sparse.csr_array([[1, 0], [1, 0], [0, 1]])
    evidence = Evidence(["a.jpg", "b.jpg", "c.jpg"], tags=tags, tag_names=["boat", "sea"])
    hits = Searcher(evidence).search("boat -filename:c").hits
    assert [[(r.word, r.by, r.excluded) for r in hit.reasons] for hit in hits] == [
        [("boat", "tag", False), ("c", "file name", True)]
    ] * 2


def test_of_several_words_left_out_the_best_answers_come_first_each_picture_once():
    p = np.full((6, 3), 0.01)
    p[:, 0], p[:, 1] = [0.9, 0.8, 0.01, 0.01, 0.01, 0.7], [0.01, 0.01, 0.95, 0.6, 0.01, 0.01]
    paths = [f"{i}.jpg" for i in range(6)]
    index = Index(3)
    index.add(paths, np.log(p))
    evidence = Evidence(paths, tags=sparse.csr_array((6, 0)), tag_names=[])
    found = Searcher(evidence, Beliefs(index.snapshot(), NAMES, paths)).search("boat sea", 4)
    assert [(hit.row, hit.missing) for hit in found.hits] == [
        (2, ("boat",)),
        (0, ("sea",)),
        (1, ("sea",)),
        (3, ("boat",)),
    ]
    assert [hit.probability for hit in found.hits] == pytest.approx([0.95, 0.9, 0.8, 0.6], rel=1e-3)

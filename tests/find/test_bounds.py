"""What cannot be among the best is left out, nothing else; and what is remembered of words has its limits."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.find.rank import bounds
from visterm.find.rank.beliefs import Beliefs, Every, Leaf, Some, Without, believe, heard
from visterm.find.rank.bounds import Scan, Surprises
from visterm.find.rank.omission import RATES, Doubts
from visterm.find.rank.searcher import Searcher
from visterm.index.index import Index

N_ROWS, N_WORDS = 500, 5
NAMES = [f"word{i}" for i in range(N_WORDS)]
PATHS = [f"q/p{i % 7}/x{i}.jpg" for i in range(N_ROWS)]


def leaves_of(seed, dtype):
    """Words of which people and a model say something, each in its own way."""
    rng = np.random.default_rng(seed)
    index = Index(N_WORDS, dtype=dtype)
    # from nearly sure to hardly possible, some ties
    odds = rng.choice([-9.0, -3.0, 0.0, 5.0, 9.0], N_WORDS) + 3 * rng.standard_normal((N_ROWS, N_WORDS)).round(1)
    index.add(PATHS, -np.logaddexp(0, -odds))
    beliefs = Beliefs(index.snapshot(), NAMES, PATHS)
    some = [np.flatnonzero(rng.random(N_ROWS) < share) for share in (0.0, 0.03, 0.3)]
    doubted = Doubts((rng.integers(1, 16, N_ROWS) * (rng.random(N_ROWS) < 0.3)).astype(np.uint8))
    made = [
        Leaf("word0", N_ROWS, {}, sources=((beliefs, "word0"),)),
        Leaf("word1", N_ROWS, {"tag": some[1]}, some[0], ((beliefs, "word1"),), doubted),
        Leaf("word2", N_ROWS, {"tag": some[2]}, some[1], ((beliefs, "word2"),), doubted),
        Leaf("word3", N_ROWS, {"tag": some[1]}, sources=((beliefs, "word3"), (beliefs, "word4"))),
        Leaf("caption", N_ROWS, {"caption": some[1]}),
        Leaf("file", N_ROWS, {"file name": some[2]}, closed=True),
        Leaf("like", N_ROWS, likeness=np.log(rng.random(N_ROWS))),
        Leaf("impossible", N_ROWS, likeness=np.where(rng.random(N_ROWS) < 0.5, -np.inf, -1.0)),
    ]
    return made


def queries():
    weights = st.lists(st.sampled_from([0.03, 0.5, 1.0, 1.0, 1.7, 9.0]), min_size=2, max_size=4)

    def joined(kind):
        return lambda pair: kind(tuple(pair[0][: len(pair[1])]), tuple(pair[1][: len(pair[0])]))

    return st.recursive(
        st.integers(0, 7),
        lambda inner: st.one_of(
            inner.map(Without),
            st.tuples(st.lists(inner, min_size=2, max_size=4), weights).map(joined(Every)),
            st.tuples(st.lists(inner, min_size=2, max_size=4), weights).map(joined(Some)),
        ),
        max_leaves=6,
    )


def filled(asked, words):
    """The query with words in the place of their numbers."""
    match asked:
        case Without(part):
            return Without(filled(part, words))
        case Every(parts, weights) | Some(parts, weights):
            return type(asked)(tuple(filled(part, words) for part in parts), weights)
        case _:
            return words[asked]


@given(queries(), st.integers(0, 4), st.sampled_from(["float16", "float32"]), st.sampled_from([0.0, 0.4, 0.95, 1.0]))
@settings(max_examples=300, deadline=None)
def test_no_row_is_likelier_than_it_can_be(query, seed, dtype, dependence):
    asked = filled(query, leaves_of(seed, dtype))
    surprise = -believe(asked, heard(asked), dependence).log_p.astype(np.float64)
    scan = Scan(asked, dependence, Surprises())
    precise = surprise < 80  # what is less likely has no more digits in float32
    assert (scan._whole.unit * scan._whole.steps <= surprise * (1 + 1e-5) + 5e-5)[precise].all()
    for n in (1, 20, 120):
        limit = scan.of_best(n)
        found = scan.within(limit)
        assert len(found) >= n
        assert (np.diff(found) > 0).all()
        assert np.isin(np.flatnonzero(precise & (surprise * (1 + 1e-5) + 5e-5 <= limit)), found).all()
        assert (scan._whole.unit * scan._whole.steps <= surprise * (1 + 1e-5) + 5e-5)[
            precise
        ].all()  # weighed anew, maybe
    for limit in np.quantile(surprise[np.isfinite(surprise)], [0, 0.02, 0.5]) if np.isfinite(surprise).any() else ():
        needed = limit * (1 + 1e-5) + 5e-5
        assert np.isin(np.flatnonzero(precise & (surprise <= limit)), scan.within(needed)).all()


@pytest.mark.parametrize("n_words", [2, 5, 40, 200])
def test_long_queries_do_not_overflow_and_leave_most_out(n_words):
    rng = np.random.default_rng(n_words)
    words = [Leaf(str(i), N_ROWS, likeness=-5 * rng.random(N_ROWS)) for i in range(n_words)]
    for asked in (
        Every(tuple(words), (1.0,) * n_words),
        Every(tuple(words), tuple(np.linspace(0.5, 1.5, n_words))),
        Without(Some(tuple(words), (1.0,) * n_words)),
    ):
        surprise = -believe(asked, heard(asked), 0.5).log_p
        scan = Scan(asked, 0.5, Surprises())
        found = scan.within(scan.of_best(20))
        assert 20 <= len(found) < 150
        assert np.isin(np.argsort(surprise)[:10], found).all()


@pytest.mark.parametrize("n_words", [2, 40, 200])
def test_many_alternatives_of_which_few_rows_match_one_leave_most_out(n_words):
    likeness = np.full((n_words, N_ROWS), math.log(1e-5))
    likely = np.arange(7, N_ROWS, 17)
    likeness[likely % n_words, likely] = math.log(0.6)
    words = tuple(Leaf(str(i), N_ROWS, likeness=of_word) for i, of_word in enumerate(likeness))
    scan = Scan(Some(words, (1.0,) * n_words), 0.5, Surprises())
    np.testing.assert_array_equal(scan.within(scan.of_best(20)), likely)


def test_likely_and_unlikely_alternatives_are_both_told_apart():
    rng = np.random.default_rng(0)
    for most in (0.9999, 0.5, 1e-3, 1e-4):
        words = [Leaf(str(i), N_ROWS, likeness=np.log(most * rng.random(N_ROWS))) for i in range(2)]
        scan = Scan(Some(tuple(words), (1.0, 1.0)), 0.5, Surprises())
        assert len(scan.within(scan.of_best(20))) < 120


def test_stored_halves_give_the_steps_of_what_is_understood():
    words = leaves_of(0, "float16")
    for leaf in words[:3]:
        assert leaf.halves() is not None
        plain = Leaf(leaf.text, N_ROWS, likeness=leaf.everywhere().log_p)
        for opposite in (False, True):
            ours, theirs = (Surprises().at(word, opposite=opposite).astype(int) for word in (leaf, plain))
            assert abs(ours - theirs).max() <= 1  # a step's edge may be met from either side
            assert (ours == theirs).mean() > 0.99
    assert all(leaf.halves() is None for leaf in words[3:])
    assert bounds._steps_of_halves(False).shape == (len(RATES), 2**15)


def test_words_are_remembered_up_to_a_size_the_latest_ones():
    words = leaves_of(0, "float32")
    surprises = Surprises(max_bytes=4 * 2 * N_ROWS)
    columns = [surprises.at(word) for word in words[:4]]
    assert surprises.at(words[0]) is columns[0]
    opposite = surprises.at(words[4], opposite=True)
    assert surprises.at(words[4], opposite=True) is opposite
    assert surprises.at(words[0]) is columns[0]
    assert surprises.at(words[1]) is not columns[1]
    assert surprises.at(words[6]) is not surprises.at(words[6])  # a likeness belongs to one query
    assert len(Surprises(max_bytes=0).at(words[0])) == N_ROWS


def test_threads_share_what_is_remembered():
    words = leaves_of(1, "float16")[:4]
    surprises = Surprises(max_bytes=2 * 2 * N_ROWS)
    expected = [bounds._steps_of(word, opposite=False) for word in words]

    def ask(i):
        return np.array_equal(surprises.at(words[i % 4]), expected[i % 4])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(400)))


def collection(seed, dtype, n_rows=700):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.0001, 0.9999, (n_rows, N_WORDS)) ** rng.choice([0.1, 1, 4], N_WORDS)
    paths = [f"q/p{i % 9}/x{i}.jpg" for i in range(n_rows)]
    index = Index(N_WORDS, dtype=dtype)
    index.add(paths, np.log(p))
    if seed == 3:  # a picture that the model has not seen: rows are not in the order of the index
        index.remove(paths[:1])
    evidence = Evidence(
        paths,
        tags=sparse.csr_array((rng.random((n_rows, N_WORDS)) < 0.02).astype(int)),
        tag_names=NAMES,
        denied=sparse.csr_array((rng.random((n_rows, N_WORDS)) < 0.02).astype(int)),
        classes=[["coast", "street", None][i % 3] for i in range(n_rows)],
    )
    return evidence, Beliefs(index.snapshot(), NAMES, paths), rng.uniform(-6, -0.01, n_rows)


def texts():
    word = st.sampled_from([*NAMES, "class:coast", "p1", "filename:p2", "tag:word1", "word2^2", "word0^0.3", "like:x"])
    return st.recursive(
        word,
        lambda inner: st.one_of(
            inner.map(lambda q: f"-({q})"),
            st.lists(inner, min_size=2, max_size=4).map(lambda qs: f"({' '.join(qs)})"),
            st.lists(inner, min_size=2, max_size=3).map(lambda qs: f"({' OR '.join(qs)})^2"),
        ),
        max_leaves=6,
    )


@given(texts(), st.sampled_from([1, 7, 40]), st.integers(0, 3), st.sampled_from(["float16", "float32"]))
@settings(max_examples=200, deadline=None)
def test_the_answer_is_that_of_looking_at_every_picture(text, n_best, seed, dtype):
    evidence, beliefs, likeness = collection(seed, dtype)
    searcher = Searcher(evidence, beliefs, like=lambda _: likeness, dependence=0.4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("visterm.find.rank.searcher._FEW", 30)
        patch.setattr("visterm.find.rank.searcher.HEAD", 10)
        patch.setattr("visterm.calibration.nothing_found.HEAD", 10)
        quick = searcher.search(text, n_best, unlikely=True)
        again = searcher.search(text, n_best, unlikely=True)
        patch.setattr("visterm.find.rank.searcher._FEW", 10_000)
        whole = searcher.search(text, n_best, unlikely=True)
    about = ("notes", "cut_off", "n_likely", "best", "n_less_likely", "ignored", "hints", "hits")
    assert [getattr(quick, name) for name in about] == [getattr(again, name) for name in about]
    assert [hit.told for hit in quick.hits] == [hit.told for hit in whole.hits]
    assert [hit.probability for hit in quick.hits] == pytest.approx([hit.probability for hit in whole.hits], rel=1e-5)
    for ours, theirs in zip(quick.hits, whole.hits, strict=True):
        # rows that are equally likely but for the last digit may change places
        assert ours.row == theirs.row or math.isclose(ours.probability, theirs.probability, rel_tol=1e-5)
    assert quick.cut_off == pytest.approx(whole.cut_off, rel=1e-5)
    assert quick.best == pytest.approx(whole.best, rel=1e-5)
    assert quick.n_likely in (None, whole.n_likely)


def test_the_last_look_reaches_beyond_the_worst_of_the_best(monkeypatch):
    """However likely they are: rows that are equally likely but for rounding errors are looked at, too."""
    rng = np.random.default_rng(0)
    index = Index(N_WORDS)
    index.add(PATHS, rng.uniform(-10, -8, (N_ROWS, N_WORDS)) * [1, 1, 1, 1, 0.01])
    evidence = Evidence(PATHS, tags=sparse.csr_array((N_ROWS, 0)), tag_names=[])
    searcher = Searcher(evidence, Beliefs(index.snapshot(), NAMES, PATHS))
    limits, within, of_best = [], Scan.within, Scan.of_best
    monkeypatch.setattr(Scan, "within", lambda self, surprise: limits.append(surprise) or within(self, surprise))
    for module in ("find.rank.searcher", "calibration.nothing_found"):
        monkeypatch.setattr(f"visterm.{module}.HEAD", 5)
    monkeypatch.setattr("visterm.find.rank.searcher._FEW", 30)
    for too_low in (0.0, 2e-4, 4e-4, 7e-4):  # up to a step too narrow at first
        monkeypatch.setattr(Scan, "of_best", lambda self, n, too_low=too_low: of_best(self, n) - too_low)
        for word in NAMES:
            for n_best in range(5, 25):
                hits = searcher.search(word, n_best, unlikely=True).hits
                assert len(hits) == n_best
                assert limits[-1] >= -math.log(hits[-1].probability)

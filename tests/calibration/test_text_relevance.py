"""How probably a picture matches a text: what is learned, what is usual, and when nothing is found."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from visterm.calibration import Asked, TextQuery, TextRelevance
from visterm.calibration.text_relevance import USUAL, USUALLY_FOUND, standardised

N_PICTURES = 250


def queries(kind, n, truth, *, n_pictures=N_PICTURES, seed=0):
    """Queries of one kind whose pictures are relevant with log-odds ``truth(z, words)``."""
    rng = np.random.default_rng(seed)
    made = []
    while len(made) < n:
        near, words = rng.normal(-1.0, 0.3, n_pictures), rng.normal(-3.0, 2.0, n_pictures)
        relevant = rng.random(n_pictures) < expit(truth(standardised(near), words))
        if relevant.any():
            seen = np.zeros(n_pictures)
            from_words = words if kind in (Asked.KNOWN, Asked.MIXED, Asked.SENTENCE) else None
            drawn_from = int(rng.choice(np.flatnonzero(relevant)))
            made.append(TextQuery(kind, near, standardised(near), seen, from_words, relevant, drawn_from))
    return made


def log_odds(relevance, kind, query):
    odds = relevance.by_look(kind, query.near, query.seen)
    return odds if query.words is None else odds + relevance.by_words(kind, query.words)


def test_without_queries_everything_is_as_usual():
    relevance = TextRelevance().fit([])
    assert np.array_equal(relevance.coefficients_, USUAL)
    assert np.array_equal(relevance.nothing_below_, USUALLY_FOUND)
    assert relevance.n_queries_.tolist() == [0] * len(Asked)
    assert relevance.helps_known_ == 1


def test_each_kind_learns_from_its_own_queries():
    relevance = TextRelevance().fit(queries(Asked.UNKNOWN, 40, lambda z, _: -4 + 1.5 * z))
    learned = relevance.coefficients_[Asked.UNKNOWN]
    slopes = learned[1:3] + 0.3 * learned[4]  # z and nearness say the same here; above 3 there are few
    assert slopes == pytest.approx(1.5, abs=0.5)
    for kind in set(Asked) - {Asked.UNKNOWN}:
        assert np.array_equal(relevance.coefficients_[kind], USUAL[kind])
    assert relevance.n_queries_[Asked.UNKNOWN] == 40


def test_probabilities_are_right_on_other_queries():
    def truth(z, words):
        return -0.5 + 0.6 * z + 0.8 * words

    relevance = TextRelevance().fit(queries(Asked.KNOWN, 300, truth))
    stated, right = [], []
    for query in queries(Asked.KNOWN, 100, truth, seed=1):
        stated.append(expit(log_odds(relevance, Asked.KNOWN, query)))
        right.append(query.relevant)
    stated, right = np.concatenate(stated), np.concatenate(right)
    for low, high in ((0.05, 0.2), (0.2, 0.5), (0.5, 1.0)):
        band = (stated >= low) & (stated < high)
        assert stated[band].mean() == pytest.approx(right[band].mean(), abs=0.05)


def test_few_queries_change_nothing():
    few, enough = (queries(Asked.SENTENCE, n, lambda z, _: -6 + 3 * z) for n in (19, 20))
    assert np.array_equal(TextRelevance().fit(few).coefficients_, USUAL)
    assert not np.array_equal(TextRelevance().fit(enough).coefficients_, USUAL)


def test_evidence_never_lowers_a_probability():
    against = queries(Asked.KNOWN, 60, lambda z, words: -3 - 2 * z - words)
    assert (TextRelevance().fit(against).coefficients_[Asked.KNOWN, 1:] >= 0).all()


def test_few_held_out_pictures_do_not_make_sentences_more_probable():
    """A sentence is said of one picture, however few others it is compared with."""
    rng = np.random.default_rng(0)

    def one(n):
        near = rng.normal(0, 1, n)
        relevant = np.zeros(n, np.bool_)
        own = int(rng.integers(n))
        relevant[own], near[own] = True, near[own] + 2
        return TextQuery(Asked.FOREIGN, near, standardised(near), np.zeros(n), None, relevant, own)

    asked = one(N_PICTURES)
    stated = []
    for n in (50, N_PICTURES):
        relevance = TextRelevance().fit([one(n) for _ in range(200)])
        stated.append(relevance.by_look(Asked.FOREIGN, asked.near, asked.seen).mean())
    assert stated[0] == pytest.approx(stated[1], abs=0.7)  # without weights they differ by 1.6
    assert one(50).weights.sum() == pytest.approx(49.2)
    assert one(1000).weights.sum() == 1000


def test_the_look_helps_known_words_only_if_it_says_more():
    helped = TextRelevance().fit(queries(Asked.KNOWN, 60, lambda z, words: -0.5 + z + words))
    useless = TextRelevance().fit(queries(Asked.KNOWN, 60, lambda _, words: words))
    assert (helped.helps_known_, useless.helps_known_) == (1, 0)


def test_by_their_look_alone_pictures_are_found_only_if_they_are_likelier_than_not():
    # without a floor, far less would do: most of these queries have a picture that stands out
    truth = {Asked.UNKNOWN: 0.5, Asked.MIXED: 0.5, Asked.SENTENCE: 0.8, Asked.FOREIGN: 0.8}
    for kind, floor in truth.items():
        weak = TextRelevance().fit(queries(kind, 40, lambda z, _: -4.5 + z))
        assert weak.nothing_below_[kind] >= floor
    known = TextRelevance().fit(queries(Asked.KNOWN, 40, lambda z, _: -4.5 + z))
    assert known.nothing_below_[Asked.KNOWN] < 0.5


def test_what_is_learned_is_what_is_stated():
    """The log-odds of the parts add up to those whose surprise was least; known words count up to a limit."""
    asked = queries(Asked.MIXED, 40, lambda z, words: -4 + z + 0.5 * np.clip(words, -2, 2))
    relevance = TextRelevance().fit(asked)
    stated = expit(np.concatenate([log_odds(relevance, Asked.MIXED, query) for query in asked]))
    right = np.concatenate([query.relevant for query in asked])
    assert stated.mean() == pytest.approx(right.mean(), rel=0.1)
    words = np.array([-20.0, -2.0, 1.0, 20.0])
    for kind in Asked:
        most = 2 if kind == Asked.MIXED else 9  # other words may not hold, however sure the known ones are
        expected = relevance.coefficients_[kind][-1] * np.clip(words, -most, most)
        assert relevance.by_words(kind, words) == pytest.approx(expected)
    assert not relevance.by_words(Asked.FOREIGN, words).any()


def test_only_what_stands_out_matters_if_that_was_so():
    """The slope of standardised nearness is learned for each stretch of it."""

    def truth(z, _words):
        return -5 + 2.5 * np.maximum(z - 1.5, 0)

    asked = queries(Asked.UNKNOWN, 200, truth)
    relevance = TextRelevance().fit(asked)
    stated = expit(np.concatenate([log_odds(relevance, Asked.UNKNOWN, query) for query in asked]))
    z = np.concatenate([standardised(query.near) for query in asked])
    for low, high in ((0, 1.5), (1.5, 2.5), (2.5, 9)):
        band = (z >= low) & (z < high)
        assert stated[band].mean() == pytest.approx(expit(truth(z[band], 0)).mean(), rel=0.4)


def test_how_far_a_picture_stands_out_is_taken_as_it_is_given():
    """Pictures that were learned from are less near, so that held-out ones stand out among all."""
    asked = queries(Asked.FOREIGN, 60, lambda z, _: -4 + 1.5 * z)
    shifted = [replace(query, stands_out=query.stands_out + 1) for query in asked]
    usual, fitted = (TextRelevance().fit(of).coefficients_[Asked.FOREIGN] for of in (asked, shifted))
    assert fitted[0] < usual[0] - 0.5


def test_equal_nearness_says_nothing():
    assert standardised(np.full(3, 0.5)).tolist() == [0, 0, 0]
    assert standardised(np.array([1.0, 3.0])).tolist() == [-1, 1]

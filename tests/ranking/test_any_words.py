"""Scores of pictures for any text, from no label on: what is kept of pictures, and what a network sees."""

import numpy as np
import pytest

from visterm.language import text_encoder
from visterm.ranking import AnyWords, Said
from visterm.ranking import any_words as module
from visterm.ranking.spaces.seen_classes import N_KEPT
from visterm.vision.network.imagenet_classes import imagenet_names

THINGS = {"golden retriever": "a dog", "aircraft carrier": "a ship on the sea", "broccoli": "green vegetables"}
N = 60


@pytest.fixture
def pictures(monkeypatch):
    """Pictures of three things, whose features say which; the network sees it with a probability of 0.9."""
    rng = np.random.default_rng(0)
    shows = np.arange(N) % 3
    X = {name: 0.3 * rng.random((N, 12)) + np.eye(12)[shows + 3 * place] for place, name in enumerate(_NAMES)}
    columns = [_column(name) for name in THINGS]

    def seen(X):
        if not (isinstance(X, dict) and "deep-lite2" in X):
            return None
        probabilities = np.full((len(X["deep-lite2"]), 1000), 0.1 / 999)
        thing = X["deep-lite2"][:, 3:6].argmax(axis=1)
        probabilities[np.arange(len(thing)), np.array(columns)[thing]] = 0.9
        return probabilities

    monkeypatch.setattr(module, "_class_probabilities", seen)
    return X, shows


_NAMES = ("deep", "deep-lite2")


def _column(name):
    return next(place for place, own in enumerate(imagenet_names()) if own.casefold() == name)


def said(texts):
    of = [row for row, own in enumerate(texts) for _ in own]
    every = [text for own in texts for text in own]
    return Said(text_encoder().encode(every), np.array(of, np.intp), len(texts))


def nothing():
    return said([[] for _ in range(N)])


def best(scores, shows):
    """The thing with the highest mean score, for each text."""
    return np.array([[row[shows == thing].mean() for thing in range(3)] for row in scores]).argmax(axis=1).tolist()


def test_without_a_label_what_a_network_sees_answers_in_any_language(pictures):
    X, shows = pictures
    model = AnyWords().fit(X, nothing())
    scores = model.score(model.picture_codes(X), ["dog", "Schiff", "légumes"])
    assert best(scores.near, shows) == best(scores.seen, shows) == [0, 1, 2]
    assert (scores.seen >= 0).all()


def test_what_people_say_counts_more_than_what_a_network_sees(pictures):
    X, shows = pictures
    other = [list(THINGS.values())[(thing + 1) % 3] for thing in shows]  # the network is wrong throughout
    model = AnyWords().fit(X, said([[text] * 20 for text in other]))
    scores = model.score(model.picture_codes(X), list(THINGS.values()))
    assert best(scores.near, shows) == [2, 0, 1]
    assert best(scores.seen, shows) == [0, 1, 2]


def test_features_that_show_no_classes_need_labels_and_keep_fewer_numbers(pictures):
    X, shows = pictures
    texts = said([[list(THINGS.values())[thing]] for thing in shows])
    both, one = AnyWords().fit(X, texts), AnyWords().fit({"deep": X["deep"]}, texts)
    codes = one.picture_codes({"deep": X["deep"]})
    assert codes.shape == (N, one.n_columns)
    assert both.n_columns - both.n_code_ == 2 * N_KEPT
    assert one.n_columns == one.n_code_
    scores = one.score(codes, list(THINGS.values()))
    assert best(scores.near, shows) == [0, 1, 2]
    assert not scores.seen.any()


def test_each_picture_counts_by_itself(pictures):
    X, _ = pictures
    model = AnyWords().fit(X, nothing())
    few = {name: matrix[5:9] for name, matrix in X.items()}
    assert model.picture_codes(few) == pytest.approx(model.picture_codes(X)[5:9], abs=1e-5)


def test_half_precision_changes_little(pictures):
    """The index keeps half precision."""
    X, _ = pictures
    model = AnyWords().fit(X, nothing())
    codes = model.picture_codes(X)
    exact, half = (model.score(c, ["dog"]) for c in (codes, codes.astype(np.float16).astype(np.float32)))
    assert half.near == pytest.approx(exact.near, abs=0.01)
    assert half.seen == pytest.approx(exact.seen, abs=0.01)


def test_only_new_names_are_encoded(pictures, monkeypatch):
    X, _ = pictures
    model = AnyWords().fit(X, nothing(), ["dog", "ship"])
    expected = text_encoder().encode(["ship", "yacht", "dog"])
    encoded, encoder = [], text_encoder()
    monkeypatch.setattr(
        module,
        "text_encoder",
        lambda _: type("Spy", (), {"encode": lambda _, t: encoded.append(t) or encoder.encode(t)})(),
    )
    assert model.name_vectors(["ship", "yacht", "dog"]) == pytest.approx(expected, abs=1e-3)
    assert encoded == [["yacht"]]

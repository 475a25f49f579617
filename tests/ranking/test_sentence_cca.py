"""Pictures and texts in one space: against plain algebra, from any amount of labels, and in several languages."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh

from visterm import registry
from visterm.compute.rows import unit
from visterm.errors import InputError
from visterm.language import text_encoder
from visterm.learn import Dataset
from visterm.learn.engine.fitting import fit_method
from visterm.models import Model, ModelInfo, load_model, save_model
from visterm.ranking import SentenceCCA, SharedSpace
from visterm.ranking.spaces import said_texts
from visterm.ranking.spaces.shared_space import crowding
from visterm.research.research_data import data_folder
from visterm.vision.recipes import recipe

WORDS = ["dog", "beach", "car", "snow"]
SENTENCES = ["A dog runs.", "People lie on a beach.", "A red car stands in a street.", "It snows in the mountains."]


def pictures(n=80, seed=0):
    """Noisy features of 12 dimensions; the first four say which of the four things a picture shows."""
    rng = np.random.default_rng(seed)
    shows = np.arange(n) % 4
    X = rng.random((n, 12)) * 0.4
    X[np.arange(n), shows] += 1
    return X, shows


def tags_of(shows):
    return np.eye(4)[shows]


def by_thing(scores, shows):
    """(n_texts, 4): the mean scores of the pictures of each thing."""
    return np.array([scores[:, shows == thing].mean(axis=1) for thing in range(4)]).T


# --- the space --------------------------------------------------------------------------------------------------------


def covariances(seed=0, n=60, n_x=5, n_y=3):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((n, n_y))
    X = Y @ rng.standard_normal((n_y, n_x)) + rng.standard_normal((n, n_x))
    X, Y = X - X.mean(0), Y - Y.mean(0)
    return X, Y, (X.T @ X / n, X.T @ Y / n, Y.T @ Y / n)


def test_directions_solve_the_generalised_eigenproblem():
    _, _, (C_xx, C_xy, C_yy) = covariances()
    space = SharedSpace(3, x_ridge=0.5, y_ridge=0.2).fit(C_xx, C_xy, C_yy)
    R_xx = C_xx + 0.5 * np.trace(C_xx) / 5 * np.eye(5)
    R_yy = C_yy + 0.2 * np.trace(C_yy) / 3 * np.eye(3)
    squared, _ = eigh(C_xy @ np.linalg.inv(R_yy) @ C_xy.T, R_xx)
    np.testing.assert_allclose(space.correlations_**2, squared[::-1][:3], rtol=1e-9)
    # U^T (C + ridge) U = I; the components are U times the correlations.
    for components, covariance in ((space.x_components_, R_xx), (space.y_components_, R_yy)):
        np.testing.assert_allclose(components.T @ covariance @ components, np.diag(space.correlations_**2), atol=1e-9)
    left = C_xy @ np.linalg.inv(R_yy) @ C_xy.T @ space.x_components_
    np.testing.assert_allclose(left, R_xx @ space.x_components_ * space.correlations_**2, atol=1e-9)
    np.testing.assert_allclose(
        space.x_components_.T @ C_xy @ space.y_components_, np.diag(space.correlations_**3), atol=1e-9
    )


def test_scores_do_not_change_when_a_view_is_turned_or_scaled():
    X, Y, (C_xx, C_xy, C_yy) = covariances()
    rng = np.random.default_rng(1)
    turn, scale = np.linalg.qr(rng.standard_normal((5, 5)))[0], 7.0
    plain = SharedSpace(3).fit(C_xx, C_xy, C_yy)
    turned = SharedSpace(3).fit(scale**2 * turn.T @ C_xx @ turn, scale * turn.T @ C_xy, C_yy)
    expected = plain.pictures(X) @ plain.texts(Y).T
    np.testing.assert_allclose(turned.pictures(scale * X @ turn) @ turned.texts(Y).T, expected, atol=1e-9)


def test_the_covariances_are_left_as_they_are():
    _, _, given = covariances()
    before = [matrix.copy() for matrix in given]
    SharedSpace(2).fit(*given)
    for matrix, old in zip(given, before, strict=True):
        np.testing.assert_array_equal(matrix, old)


def test_views_that_have_nothing_in_common_give_finite_codes():
    space = SharedSpace(2).fit(np.eye(4), np.zeros((4, 3)), np.eye(3))
    assert np.isfinite(space.pictures(np.ones((2, 4)))).all()
    np.testing.assert_array_equal(space.texts(np.ones((2, 3))), 0)


def test_crowding_is_the_mean_of_the_nearest_cosines():
    codes, others = unit(np.random.default_rng(0).random((3, 2))), unit(np.random.default_rng(1).random((5, 2)))
    expected = [np.mean(sorted(codes[i] @ other for other in others)[-2:]) for i in range(3)]
    np.testing.assert_allclose(crowding(codes, others, 2), expected)
    np.testing.assert_allclose(crowding(codes, others, 9), (codes @ others.T).mean(axis=1))
    np.testing.assert_array_equal(crowding(codes, others[:0], 2), 0)


# --- the ranker -------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_plain_formula():
    X, shows = pictures()
    texts = [[SENTENCES[thing], WORDS[thing]] for thing in shows]
    model = SentenceCCA(n_dims=3, picture_ridge=0.5, text_ridge=0.3).fit(X, texts=texts)
    encode = text_encoder().encode
    R = unit(np.sqrt(X.astype(np.float32))).astype(np.float64)
    E = np.array([encode(own) for own in texts], np.float64)
    mean, single = E.mean((0, 1)), E.reshape(-1, 512)
    known = 80 / 180
    space = SharedSpace(3, x_ridge=0.5, y_ridge=0.3 * (4 - 3 * known)).fit(
        np.cov(R.T, bias=True), (R - R.mean(0)).T @ (E.mean(1) - mean) / 80, np.cov(single.T, bias=True)
    )
    p, q = space.pictures(R - R.mean(0)), space.texts(encode(["a puppy", "snow"]) - mean)
    bank = unit(np.array([space.texts(own - mean).mean(0) for own in E]))
    expected = 2 * q @ p.T - crowding(q, p, 10)[:, None] - known * crowding(p, bank, 10)
    np.testing.assert_allclose(model.score_texts(X, ["a puppy", "snow"]), expected, atol=1e-4)


def test_words_that_no_picture_has_find_what_they_mean():
    X, shows = pictures()
    model = SentenceCCA().fit(X, tags_of(shows), tag_names=WORDS)
    other, other_shows = pictures(seed=1)
    asked = ["ein junger Hund", "la plage", "a vehicle", "winter"]
    assert by_thing(model.score_texts(other, asked), other_shows).argmax(axis=1).tolist() == [0, 1, 2, 3]
    words = model.score_queries(other, np.eye(4))
    np.testing.assert_allclose(words, model.score_tags(other).T, atol=1e-9)
    np.testing.assert_allclose(words, model.score_texts(other, WORDS), atol=1e-9)


def test_a_word_that_is_not_wanted_pushes_pictures_back():
    X, shows = pictures()
    model = SentenceCCA().fit(X, tags_of(shows), tag_names=WORDS)
    with_dog, without = by_thing(model.score_queries(X, [[1.0, 1.0, 0, 0], [-1.0, 1.0, 0, 0]]), shows)
    assert with_dog[0] > with_dog[2:].max()
    assert without[0] == without.min()


def test_captions_classes_and_tags_are_texts_of_one_kind():
    X, shows = pictures()
    halves = [[SENTENCES[thing]] if row < 40 else [] for row, thing in enumerate(shows)]
    tags = tags_of(shows) * (np.arange(80) >= 40)[:, None]
    model = SentenceCCA().fit(X, tags, texts=halves, tag_names=WORDS)
    assert model.n_texts_ == 80
    assert by_thing(model.score_texts(X, SENTENCES), shows).argmax(axis=1).tolist() == [0, 1, 2, 3]
    as_texts = [[*own, *(WORDS[t] for t in np.flatnonzero(row))] for own, row in zip(halves, tags, strict=True)]
    same = SentenceCCA().fit(X, texts=as_texts)
    np.testing.assert_allclose(same.score_texts(X, SENTENCES), model.score_texts(X, SENTENCES), atol=1e-9)


def test_an_empty_text_says_nothing():
    X, shows = pictures()
    texts = [[SENTENCES[thing], " "] for thing in shows]
    model = SentenceCCA().fit(X, texts=texts)
    plain = SentenceCCA().fit(X, texts=[own[:1] for own in texts])
    np.testing.assert_allclose(model.score_texts(X, SENTENCES), plain.score_texts(X, SENTENCES), atol=1e-9)
    cosines = model.text_codes([""])[:, :-2]
    np.testing.assert_array_equal(cosines, 0)


@pytest.fixture
def four_classes(monkeypatch):
    """What a network sees is one of four things."""
    encode = text_encoder().encode
    monkeypatch.setattr(said_texts, "class_vectors", lambda _: (encode(WORDS), encode(SENTENCES).mean(axis=0)))


def test_what_a_network_sees_is_a_start_without_labels(four_classes):
    X, shows = pictures()
    seen = 0.9 * tags_of(shows) + 0.025
    model = SentenceCCA().fit(X, class_probabilities=seen)
    assert model.n_texts_ == 0
    assert by_thing(model.score_texts(X, SENTENCES), shows).argmax(axis=1).tolist() == [0, 1, 2, 3]
    none = model.picture_codes(X)[:, -2]
    np.testing.assert_array_equal(none, 0)  # no texts that pictures could crowd around


def test_labels_outweigh_what_a_network_sees_when_there_are_enough(four_classes):
    X, shows = pictures(400)
    wrong = 0.9 * tags_of((shows + 1) % 4) + 0.025
    texts = [[SENTENCES[thing]] for thing in shows]
    few = SentenceCCA(n_seen=1_000_000).fit(X, texts=texts, class_probabilities=wrong)
    many = SentenceCCA(n_seen=50).fit(X, texts=texts, class_probabilities=wrong)
    assert by_thing(few.score_texts(X, SENTENCES), shows).argmax(axis=1).tolist() == [3, 0, 1, 2]
    assert by_thing(many.score_texts(X, SENTENCES), shows).argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_training_hands_over_the_names_of_tags():
    X, shows = pictures()
    tags = sparse.csr_array(tags_of(shows))
    data = Dataset("things", X, np.full(80, -1, np.intp), (), tags, tuple(WORDS))
    model = fit_method(registry.get("sentence-cca"), data)
    expected = SentenceCCA().fit(X, tags, tag_names=WORDS).score_texts(X, ["a puppy"])
    np.testing.assert_allclose(model.score_texts(X, ["a puppy"]), expected, atol=1e-9)


def test_blocks_of_pictures_give_the_same(monkeypatch):
    X, shows = pictures()
    texts = [[SENTENCES[thing]] if row % 3 else [] for row, thing in enumerate(shows)]
    whole = SentenceCCA().fit(X, texts=texts).score_texts(X, SENTENCES)
    monkeypatch.setattr("visterm.ranking.sentence_cca._BLOCK", 7)
    np.testing.assert_allclose(SentenceCCA().fit(X, texts=texts).score_texts(X, SENTENCES), whole, atol=1e-6)


def test_the_scale_of_a_feature_and_the_order_of_pictures_do_not_matter():
    X, shows = pictures()
    texts = [[SENTENCES[thing]] for thing in shows]
    scores = SentenceCCA().fit(X, texts=texts).score_texts(X, SENTENCES)
    scaled = SentenceCCA().fit(100 * X, texts=texts).score_texts(100 * X, SENTENCES)
    np.testing.assert_allclose(scaled, scores, atol=1e-5)
    backwards = SentenceCCA().fit(X[::-1], texts=texts[::-1]).score_texts(X, SENTENCES)
    np.testing.assert_allclose(backwards, scores, atol=1e-5)


def test_what_is_wrong_is_said():
    X, shows = pictures(8)
    tags = tags_of(shows)
    with pytest.raises(InputError, match="no picture has a tag or another text"):
        SentenceCCA().fit(X, texts=[[""]] * 8)
    with pytest.raises(InputError, match="the texts of picture 2 are one text"):
        SentenceCCA().fit(X, texts=[["dog"], [], "dog", *[[]] * 5])
    with pytest.raises(InputError, match="for each of the 8 pictures, but has 1"):
        SentenceCCA().fit(X, texts=[["dog"]])
    with pytest.raises(InputError, match="4 columns of tags, but 1 tag_names"):
        SentenceCCA().fit(X, tags, tag_names=["dog"])
    with pytest.raises(InputError, match="the tags have no names"):
        SentenceCCA().fit(X, tags, texts=[["dog"]] * 8)
    with pytest.raises(InputError, match=r"must be \(n_pictures, 1000\)"):
        SentenceCCA().fit(X, class_probabilities=np.ones((8, 3)))
    with pytest.raises(InputError, match="finite and not negative"):
        SentenceCCA().fit(X, class_probabilities=np.full((8, 1000), -1.0))
    with pytest.raises(InputError, match="have 7 rows, but X has 8"):
        SentenceCCA().fit(X, class_probabilities=np.ones((7, 1000)))
    with pytest.raises(InputError, match="reduce them to at most 4096 first"):
        SentenceCCA().fit(np.ones((8, 5000)), tags)
    with pytest.raises(InputError, match="learned tags without names"):
        SentenceCCA().fit(X, tags).score_texts(X, ["dog"])
    model = SentenceCCA().fit(X, tags, tag_names=WORDS)
    model.encoder_ = "use-multilingual-3 of another time"
    with pytest.raises(InputError, match="train it again"):
        model.score_texts(X, ["dog"])


def test_a_model_on_disk_knows_its_encoder_and_answers_the_same(tmp_path):
    X, shows = pictures()
    model = SentenceCCA().fit(X, texts=[[SENTENCES[thing]] for thing in shows])
    info = ModelInfo("search", 1, "sentence-cca", ("search",), (), (), (), 0, "colour", recipe("colour").hash)
    save_model(Model.of(info, model, recipe("colour")), tmp_path / "model")
    loaded = load_model(tmp_path / "model").estimator
    assert loaded.encoder_ == f"use-multilingual-3 {text_encoder().fingerprint}"
    np.testing.assert_array_equal(loaded.score_texts(X, ["a puppy"]), model.score_texts(X, ["a puppy"]))


# --- photographs ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def photographs():
    """A model of 250 captioned photographs of flickr1500 and what a network sees; the 250 test photographs."""
    folder = (data_folder() or Path(__file__).parents[3] / "shared/data") / "flickr1500"
    if not folder.is_dir():
        pytest.skip("the photographs (../shared/data/flickr1500) are not here")
    from PIL import Image

    from visterm.vision.network.imagenet_classes import class_probabilities

    with (folder / "captions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    train = [row for row in rows if row["split"] == "train"][:250]
    test = [row for row in rows if row["split"] == "test"]

    def vectors(some):
        return recipe("deep-lite2").compute_batch(
            [np.asarray(Image.open(folder / "pictures" / row["file_name"]).convert("RGB")) for row in some]
        )

    X, texts = vectors(train), [[row[f"caption{k}"] for k in range(1, 6)] for row in train]
    model = SentenceCCA().fit(X, texts=texts, class_probabilities=class_probabilities(X))
    return model, vectors(test), [row["caption1"].lower() for row in test]


def test_a_sentence_in_german_and_french_finds_what_the_english_one_finds(photographs):
    model, X, captions = photographs
    english, german, french = np.argsort(
        -model.score_texts(X, ["a dog in the snow", "ein Hund im Schnee", "un chien dans la neige"]), axis=1
    )[:, :10]
    assert len({*english.tolist()} & {*german.tolist()}) >= 7
    assert len({*english.tolist()} & {*french.tolist()}) >= 7
    assert sum("snow" in captions[row] or "dog" in captions[row] for row in german) >= 8

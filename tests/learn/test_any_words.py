"""Search by any words: the queries that it is measured on, and a search that asks nobody."""

import socket

import numpy as np
import pytest

from visterm.calibration import Asked
from visterm.collection import text_view
from visterm.collection.text_view import newest_model
from visterm.language import text_encoder, word_key
from visterm.language.text_encoder import DEFAULT
from visterm.learn import any_words
from visterm.learn.any_words import _asked, _left_out, _Pictures, _said, _without
from visterm.postcards import make_postcards
from visterm.workspace import Workspace

TEXTS = [["A brown dog runs on the beach.", "A dog at the sea"], ["dog, boat, sun"], ["A boat on a quiet lake"], []]
WORDS = [{"brown", "dog", "run", "beach", "sea"}, {"dog", "boat", "sun"}, {"boat", "quiet", "lake"}, set()]


@pytest.fixture
def drawn():
    pictures = _Pictures(np.arange(4), TEXTS, [frozenset(own) for own in WORDS])
    known = {word: np.zeros(4) for word in ("dog", "boat", "sun")}
    return list(_asked(pictures, np.arange(4), known, "en"))


def test_queries_are_words_of_one_picture_by_what_is_known_of_them(drawn):
    words = [each for each in drawn if each.kind in (Asked.KNOWN, Asked.MIXED, Asked.UNKNOWN)]
    assert {each.kind for each in words} == {Asked.KNOWN, Asked.MIXED, Asked.UNKNOWN}
    for each in words:
        assert set(each.text.split()) == each.words <= WORDS[each.row]
        n_known = len(each.words & {"dog", "boat", "sun"})
        expected = Asked.KNOWN if n_known == len(each.words) else Asked.MIXED if n_known else Asked.UNKNOWN
        assert each.kind == expected
    assert max(len(each.words) for each in words) > 1


def test_sentences_are_asked_with_known_words_and_without(drawn):
    """Tags, which are no sentence, are not."""
    asked = {kind: {each.text for each in drawn if each.kind == kind} for kind in (Asked.SENTENCE, Asked.FOREIGN)}
    assert asked[Asked.SENTENCE] == asked[Asked.FOREIGN] <= {*TEXTS[0], *TEXTS[2]}
    for each in drawn:
        if each.kind == Asked.FOREIGN:
            assert each.text in TEXTS[each.row]


def test_no_query_is_asked_twice(drawn):
    assert len({(each.kind, each.text) for each in drawn}) == len(drawn)


def test_of_each_kind_there_are_at_most_so_many(monkeypatch):
    monkeypatch.setattr(any_words, "_MAX_QUERIES", 2)
    pictures = _Pictures(np.arange(4), TEXTS, [frozenset(own) for own in WORDS])
    drawn = list(_asked(pictures, np.arange(4), {}, "en"))
    assert [sum(each.kind == kind for each in drawn) for kind in Asked] == [2, 0, 0, 2, 2]


def test_unknown_words_are_asked_by_themselves(monkeypatch):
    """Most words are known; those that are not would hardly ever be drawn alone."""
    words = [frozenset({*(f"known{i}" for i in range(60)), "unheard"})] * 3
    pictures = _Pictures(np.arange(3), [[]] * 3, words)
    known = {f"known{i}": np.zeros(3) for i in range(60)}
    drawn = list(_asked(pictures, np.arange(3), known, "en"))
    assert [each.text for each in drawn if each.kind == Asked.UNKNOWN] == ["unheard"]


def test_rare_words_are_left_out_where_all_are_known(monkeypatch):
    """They stand for words that nobody used: nothing that is said of any picture mentions them."""
    monkeypatch.setattr(any_words, "_ENOUGH_UNKNOWN", 40)
    names = [f"rare{i}" for i in range(40)]
    texts = [[f"{name}, common, {names[(i + 1) % 40]}", f"A common {name}."] for i, name in enumerate(names * 2)]
    own = [frozenset(word for text in each for word in word_key(text).split() if word != "a") for each in texts]
    pictures, said = _Pictures(np.arange(80), texts, own), _said(_Pictures(np.arange(80), texts, own), DEFAULT)
    left_out = _left_out(pictures, np.arange(0, 80, 4), [*names, "common"])
    assert len(left_out) == 10
    assert left_out < set(names)
    less = _without(said, pictures, left_out, "en")
    assert (less.n_pictures, len(less.of)) == (80, 160)
    changed = [number for number in range(160) if not np.array_equal(less.vectors[number], said.vectors[number])]
    every = [text for each in texts for text in each]
    assert changed == [number for number, text in enumerate(every) if left_out & set(word_key(text).split())]
    assert np.array_equal(
        less.vectors[changed[0]], text_encoder(DEFAULT).encode([_stripped(every[changed[0]], left_out)])[0]
    )
    assert not _left_out(pictures, np.arange(80), ["common"])  # 40 of these words are unknown as it is


def _stripped(text, left_out):
    return " ".join(word for word in text.split() if word_key(word) not in left_out)


def test_learning_and_searching_in_all_ways_asks_no_network(tmp_path, monkeypatch):
    folder = tmp_path / "pictures"
    make_postcards(folder, 24)
    with Workspace.create(folder) as photos:

        def refused(*_args, **_kwargs):
            raise AssertionError("a connection was opened")

        monkeypatch.setattr(socket.socket, "connect", refused)
        monkeypatch.setattr(socket, "create_connection", refused)
        monkeypatch.setattr(socket, "getaddrinfo", refused)
        photos.add()
        path = next(iter(photos.collection().frame.paths))
        for query in _QUERIES:
            found = photos.search(query.format(path=path))
            assert found.query == query.format(path=path)
        assert photos.search("a submarine beside an iceberg").found  # by its look, and no network was asked
        assert newest_model(photos) is not None
        monkeypatch.setattr(text_view, "_CALIBRATION", -1)
        assert newest_model(photos) is None  # a version that learns probabilities otherwise learns anew


_QUERIES = (
    "boat",
    "boat sea",
    "yacht",
    "Boot am Strand",
    "a small boat on the sea",
    "boat -tree",
    "boat OR house",
    '"boat"',
    "filename:1*",
    "boat yacht",
    "like:{path}",
)

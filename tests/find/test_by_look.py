"""Texts judged by the look of pictures: which known words they mean, what kind of query they are, what is fused."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from visterm.calibration import Asked as Kind
from visterm.calibration import TextRelevance
from visterm.collection.any_words import Texts
from visterm.collection.evidence import Evidence
from visterm.find.rank.beliefs import Beliefs, Leaf, believe, heard
from visterm.find.rank.searcher import Searcher
from visterm.find.words.by_look import ByLook
from visterm.find.words.names import Names
from visterm.find.words.query import Term
from visterm.find.words.reading import Part
from visterm.index.index import Index
from visterm.language import Near, text_encoder

TAGS = ["dog", "snow", "beach", "child", "boat"]


@pytest.fixture(scope="module")
def relevance():
    return TextRelevance().fit([])


@pytest.fixture
def texts(relevance):
    """Three pictures, of which nobody has looked at the last."""
    return SimpleNamespace(
        rows=np.array([0, 1]),
        relevance=relevance,
        word_vectors=lambda names: text_encoder().encode(list(names)),
        log_odds=lambda _kind, _text: np.array([1.0, -2.0, -np.inf]),
        helps=lambda kind: kind != Kind.KNOWN,
    )


@pytest.fixture
def look(texts):
    return ByLook(texts, Names({"tag": TAGS, "class": []}))


def part(word, *, judged=True):
    return Part(Leaf(word, 3, likeness=np.log(np.full(3, 0.5, np.float32)) if judged else None), 1.0, word)


def kind(look, text, known, *, unknown=0, judged=True):
    terms = [Term(word, place) for place, word in enumerate(text.split())]
    return look.kind(terms, [part(word, judged=judged) for word in known], unknown)


@pytest.mark.parametrize(
    ("word", "meant"), [("Hund", "dog"), ("neige", "snow"), ("playa", "beach"), ("bambino", "child"), ("hond", "dog")]
)
def test_a_word_of_another_language_means_a_known_one(look, word, meant):
    (near,) = look.same(word, [])
    assert (near.name, near.weight) == (meant, 1.0)
    assert near.likeness >= 0.8


def test_a_word_that_is_only_like_a_known_one_is_not_the_same(look):
    assert look.same("yacht", []) == []
    best, *_ = look.nearest("yacht")
    assert (best.name, best.likeness >= 0.6) == ("boat", True)


def test_a_word_that_may_be_misspelt_means_both(look):
    near = look.same("Strand", ["sand", "beach"])
    assert [(each.name, each.weight) for each in near] == [("beach", 1.0), ("sand", 1.0)]


def test_nothing_is_near_where_no_word_is_known(texts):
    look = ByLook(texts, Names({"tag": [], "class": []}))
    assert (look.nearest("dog"), look.same("dog", ["dig"])) == ([], [])


@pytest.mark.parametrize(
    ("text", "known", "unknown", "expected"),
    [
        ("dog", ["dog"], 0, Kind.KNOWN),
        ("dog snow", ["dog", "snow"], 0, Kind.KNOWN),
        ("dog yacht", ["dog"], 1, Kind.MIXED),
        ("yacht", [], 1, Kind.UNKNOWN),
        ("dog in snow", ["dog", "snow"], 0, Kind.KNOWN),  # three words are no sentence
        ("dog in deep snow", ["dog", "snow"], 1, Kind.SENTENCE),
        ("dog snow beach child", ["dog", "snow", "beach", "child"], 0, Kind.KNOWN),  # a list of words
        ("dog snow beach child boat", ["dog", "snow", "beach", "child", "boat"], 0, Kind.SENTENCE),
        ("ein Hubschrauber im Himmel", [], 2, Kind.FOREIGN),
    ],
)
def test_kinds_of_queries(look, text, known, unknown, expected):
    assert kind(look, text, known, unknown=unknown) == expected


def test_words_that_only_people_know_of_do_not_make_a_query_known(look):
    assert kind(look, "dog", ["dog"], judged=False) == Kind.UNKNOWN
    terms = [Term("dog", 0), Term("snow", 1)]
    assert look.kind(terms, [part("dog"), part("snow", judged=False)], 0) == Kind.MIXED


def test_what_is_only_like_a_known_word_is_not_known(look):
    terms = [Term("toddler", 0)]
    assert look.kind(terms, [], 1, [part("child").asked]) == Kind.MIXED
    assert look.kind(terms, [], 1, [part("child", judged=False).asked]) == Kind.UNKNOWN


def test_a_word_of_two_languages_has_no_meaning_of_its_own_if_a_known_word_means_the_same(look):
    own = {
        word: look.has_own_meaning(word, look.same(word, []), "en") for word in ("plage", "perro", "toddler", "bambino")
    }
    assert own == {"plage": False, "perro": False, "toddler": True, "bambino": False}
    assert look.has_own_meaning("plage", [Near("bank", 0.82, 1.0)], "en")
    assert look.has_own_meaning("yacht", [], "en")


def test_an_ordinary_word_has_a_meaning_of_its_own(texts, relevance):
    """Pictures of children are likelier to show a toddler; a *bambino* is a child in another language."""
    names, keys = ["child"], ["a", "b", "c"]
    index = Index(1)
    index.add(keys, np.log([[0.01], [0.7], [0.7]]))
    texts.log_odds = lambda _kind, _text: np.array([-3.0, -3.0, -3.0])
    evidence = Evidence(keys, tags=sparse.csr_array([[0], [0], [1]]), tag_names=names)
    searcher = Searcher(
        evidence, Beliefs(index.snapshot(), names, keys), texts=Texts(helps_known=False, get=lambda _needed: texts)
    )
    found = searcher.search("toddler", unlikely=True)
    assert [hit.row for hit in found.hits] == [2, 1, 0]
    assert not any(hit.told for hit in found.hits)
    weight = relevance.coefficients_[Kind.MIXED][-1]
    assert found.hits[0].probability == pytest.approx(expit(-3 + 2 * weight), rel=1e-3)  # that people said it is sure
    (word,) = found.understood
    assert (word.how, word.names[0]) == ("look", "child")
    same = searcher.search("bambino", unlikely=True)
    assert [(hit.row, hit.told) for hit in same.hits] == [(2, True), (1, False), (0, False)]
    assert same.hits[1].probability == pytest.approx(0.7, rel=1e-3)
    (word,) = same.understood
    assert (word.how, word.names) == ("meaning", ("child",))


def test_the_look_helps_only_where_it_was_looked_and_says_more(look, texts):
    assert look.helps(Kind.UNKNOWN)
    assert not look.helps(Kind.KNOWN)
    texts.rows = np.array([], np.intp)
    assert not look.helps(Kind.UNKNOWN)


def test_when_nothing_is_found_depends_on_the_kind(look, relevance):
    assert [look.nothing_below(kind) for kind in Kind] == relevance.nothing_below_.tolist()


def test_the_look_and_the_known_words_are_put_together(look, relevance):
    known = Leaf("dog", 3, likeness=np.log(np.array([0.9, 0.2, 0.3], np.float32)))
    fused = look.fused(Kind.KNOWN, "dog", known, (), complete=True)
    belief = believe(fused, heard(fused), 1.0)
    odds = np.log([9.0, 0.25]) * relevance.coefficients_[Kind.KNOWN][-1] + [1.0, -2.0]
    assert np.exp(belief.log_p[:2]) == pytest.approx(expit(odds), rel=1e-4)
    assert np.exp(belief.log_p[2]) == pytest.approx(0.3, rel=1e-4)  # nobody looked: the words answer alone
    assert not belief.told.any()

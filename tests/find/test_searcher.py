"""From a query to pictures: people first, the calculus of beliefs, nothing missed by looking at the best only."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.calibration import together
from visterm.collection.evidence import Evidence
from visterm.errors import InputError
from visterm.find.rank.beliefs import UNKNOWN, Beliefs, Leaf, Without, believe, heard
from visterm.find.rank.omission import RATES, Doubts
from visterm.find.rank.searcher import Searcher
from visterm.find.words.query import QueryError
from visterm.index.index import Index

NAMES = ["boat", "sea", "tall building", "person", "Straße"]
PATHS = [f"photos/p{i}.jpg" for i in range(6)]
TAGS = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 1, 0], [0, 0, 1, 0, 0], [0] * 5, [0] * 5, [0] * 5])
P = np.full((6, 5), 0.05)
P[3] = [0.9, 0.8, 0.01, 0.02, 0.01]
P[4] = [0.7, 0.1, 0.01, 0.9, 0.01]
CLASSES = ["coast", "coast", "street", None, None, None]


def made(p=P, *, paths=PATHS, tags=TAGS, names=NAMES, denied=None, classes=CLASSES, captions=(), **options):
    evidence = Evidence(
        paths,
        tags=sparse.csr_array(tags),
        tag_names=names,
        denied=None if denied is None else sparse.csr_array(denied),
        classes=classes,
        captions=captions,
    )
    index = Index(len(names))
    index.add(list(paths), np.log(p))
    return Searcher(evidence, Beliefs(index.snapshot(), names, list(paths)), **options)


def left_out(p, row=0):
    """The probability of a tag that people left out in a row of TAGS."""
    rate = float(RATES[Doubts.learned(TAGS.sum(axis=1)).levels[row]])
    return p * rate / (p * rate + 1 - p)


def rows(searcher, text, n_best=20, *, unlikely=True):
    return [hit.row for hit in searcher.search(text, n_best, unlikely=unlikely).hits]


def probability(searcher, text, row):
    return next(hit.probability for hit in searcher.search(text, unlikely=True).hits if hit.row == row)


def test_people_come_first_then_what_is_likely():
    hits = made().search("boat").hits
    assert [(hit.row, hit.told) for hit in hits] == [(0, True), (1, True), (3, False), (4, False)]
    assert [hit.probability for hit in hits] == pytest.approx([1, 1, 0.9, 0.7])


def test_several_words_lie_between_the_least_likely_and_the_product():
    for dependence in (0.0, 0.3, 1.0):
        p = probability(made(dependence=dependence), "boat sea", 3)
        assert p == pytest.approx(0.8**dependence * (0.9 * 0.8) ** (1 - dependence), rel=1e-4)
    # of two words one of which people gave, only the other is uncertain
    assert probability(made(), "boat sea", 1) == pytest.approx(left_out(0.05, 1), rel=1e-4)


def test_what_people_left_unsaid_is_doubted_and_what_they_denied_is_out():
    denied = np.zeros((6, 5))
    denied[3, 0] = 1
    searcher = made(denied=denied)
    assert probability(searcher, "boat", 2) == pytest.approx(left_out(0.05, 2), rel=1e-4)
    assert left_out(0.05, 2) < 0.6 * 0.05
    assert 3 not in rows(searcher, "boat")
    assert probability(searcher, "-boat", 3) == 1.0


def test_exclusion_and_alternatives():
    searcher = made()
    assert probability(searcher, "-person", 4) == pytest.approx(0.1, rel=1e-3)
    hits = searcher.search("boat -person").hits
    assert hits[0].row == 0
    assert hits[0].told  # people said boat, and nobody said person
    assert 1 not in [hit.row for hit in hits]
    assert probability(searcher, "sea OR person", 4) == pytest.approx(1 - 0.9 * 0.1, rel=1e-3)
    assert rows(searcher, "sea OR person")[:2] == [0, 1]
    assert probability(searcher, "NOT (sea OR person)", 4) == pytest.approx(0.9 * 0.1, rel=1e-3)
    assert probability(searcher, "NOT NOT sea", 4) == pytest.approx(0.1, rel=1e-3)


def test_weights_shift_what_matters():
    plain, boat, sea = (made(dependence=0.0).search(q, unlikely=True) for q in ("boat sea", "boat^3 sea", "boat sea^3"))

    def of(found, row):
        return next(hit.probability for hit in found.hits if hit.row == row)

    # weights have mean 1: 1.5 and 0.5
    assert of(boat, 4) == pytest.approx(0.7**1.5 * 0.1**0.5, rel=1e-3)
    assert of(sea, 4) < of(plain, 4) < of(boat, 4)


def test_classes_captions_files():
    captions = [None, None, None, "a ship at anchor", None, "Ships"]
    searcher = made(captions=captions, paths=[*PATHS[:5], "photos/norway/Fjord_01.jpg"])
    assert rows(searcher, "class:coast") == [0, 1]  # a street is no coast; of the others nobody knows
    assert rows(searcher, "class:coast", unlikely=False) == [0, 1]
    assert rows(searcher, "ship", unlikely=False) == [3, 5]
    assert rows(searcher, "caption:ships") == [3, 5]
    assert rows(searcher, "filename:NORWAY") == [5]
    assert rows(searcher, "fjord", unlikely=False) == [5]
    assert rows(searcher, "coast", unlikely=False) == [0, 1]
    assert rows(searcher, "class:coast boat", unlikely=False)[:2] == [0, 1]
    (reason,) = searcher.search("fjord").hits[0].reasons
    assert (reason.word, reason.by, reason.probability) == ("fjord", "file name", 1.0)


def test_pictures_of_which_nothing_is_known_are_no_guesses():
    """The model does not know the ship: only people say who has one."""
    searcher = made(captions=[None, None, None, "a ship at anchor", None, "Ships"])
    for query, told in (("ship", [3, 5]), ("ship -person", [3, 5]), ("ship OR class:street", [2, 3, 5])):
        assert sorted(rows(searcher, query)) == told
        assert searcher.search(query).n_less_likely == 0
    assert rows(searcher, "ship boat") == [3, 5]
    assert set(rows(searcher, "ship OR boat")) == set(range(6))  # it knows boats
    assert rows(searcher, "-ship") == [0, 1, 2, 4]  # unless somebody says otherwise
    assert {2, 4} <= set(rows(searcher, "ship OR -boat"))
    (lacking,) = searcher.search("ship filename:p0", unlikely=True).hits
    assert (lacking.row, lacking.missing) == (0, ("ship",))
    assert searcher.search("ship filename:p0").best == 0


def test_what_nobody_judged_is_nobodys_reason():
    hits = made(captions=[None, None, None, "a ship at anchor", None, "Ships"]).search("boat -ship").hits
    assert hits
    assert {(reason.word, reason.by) for hit in hits for reason in hit.reasons if reason.excluded} == {
        ("ship", "nobody")
    }


def test_a_file_is_found_by_its_name():
    searcher = made(paths=["a/Img_005.JPG", "b/img_005.png", "b/xImg_005.jpg", *PATHS[3:]])
    for text, found in (("img_005.jpg", [0]), ("IMG_005", [0, 1]), ("b/img_005.png", [1]), ('"img_005.png"', [1])):
        hits = searcher.search(text)
        assert ([hit.row for hit in hits.hits], hits.notes) == (found, []), text
    assert rows(searcher, "boat -img_005")[0] == 3
    assert [note.word for note in searcher.search("img_006.jpg").notes] == ["img_006", "jpg"]


def test_reasons_name_every_word():
    searcher = made(captions=["boats", None, None, None, None, None])
    found = {hit.row: hit.reasons for hit in searcher.search("boat -person", unlikely=True).hits}
    assert [(r.word, r.by, r.excluded) for r in found[0]] == [
        ("boat", "tag", False),
        ("boat", "caption", False),
        ("person", "model", True),
    ]
    (boat, person) = found[3]
    assert (boat.by, boat.probability) == ("model", pytest.approx(0.9, rel=1e-3))
    assert person.probability == pytest.approx(0.02, rel=1e-2)


def test_phrases_with_and_without_quotes():
    for text in ('"tall building"', "tall building", "tall-building", "Tall Buildings"):
        assert rows(made(), text, unlikely=False) == [2]
    assert rows(made(), "STRASSE", unlikely=False) == []
    found = made().search("tall tower")
    assert {note.word for note in found.notes} == {"tall", "tower"}


@pytest.mark.parametrize(
    ("written", "meant"), [("baot", "boat"), ("boart", "boat"), ("persn", "person"), ("sae", "sea")]
)
def test_misspelt_words_are_answered_by_the_nearest_and_said(written, meant):
    found = made().search(written)
    assert found.notes[0].meant == meant
    assert f"searched for {meant!r}" in str(found.notes[0])
    assert [hit.row for hit in found.hits] == rows(made(), meant, unlikely=False)


def test_words_that_say_nothing_are_no_corrections():
    captions = ["sea and land", "and so on", None, None, None, None]
    assert made(captions=captions).search("lsand").notes[0].meant == "land"


def test_ordinary_words_are_not_corrected_but_likely_ones_are_named():
    captions = ["sea and land", None, None, None, None, None]
    (note,) = made(captions=captions).search("sand boat").notes
    assert (note.meant, note.alike, note.ignored) == (None, ("land",), True)
    assert str(note) == "no picture has the word 'sand', so it was ignored; did you mean land?"
    (note,) = made().search("class:cost").notes
    assert str(note) == "no picture has the class 'cost'; the known ones are coast, street; did you mean coast?"


def test_unknown_words_are_left_out_and_said():
    found = made().search("boat xylophone")
    assert [hit.row for hit in found.hits] == rows(made(), "boat", unlikely=False)
    assert str(found.notes[0]) == "no picture has the word 'xylophone', so it was ignored"
    nothing = made().search("xylophone")
    assert nothing.hits == []
    assert nothing.n_likely == 0


def test_exclusions_do_not_answer_for_unknown_words():
    found = made().search("xylophone -boat")
    assert found.hits == []
    assert str(found.notes[0]) == "no picture has the word 'xylophone', so it was ignored"
    assert made().search("-boat").hits  # asked alone, they do
    assert made().search("xylophone class:street -boat").hits


def test_unknown_classes_and_tags_match_nothing_and_the_known_are_named():
    found = made().search("boat class:nowhere", unlikely=True)
    assert found.hits == []
    assert str(found.notes[0]) == "no picture has the class 'nowhere'; the known ones are coast, street"
    assert made().search("-class:nowhere boat").hits[0].row == 0
    assert "has the tag 'zebra'" in str(made().search("tag:zebra").notes[0])
    assert made().search("class:caost").notes[0].meant == "coast"
    assert made().search("filename:qqq").hits == made().search("caption:qqq").hits == []


def test_stop_words_say_nothing_unless_they_are_tags():
    assert rows(made(), "a boat on the sea") == rows(made(), "boat sea")
    for text in ("the a", "???", '""', "-", "*"):
        with pytest.raises(QueryError, match="no word to search for"):
            made().search(text)
    tagged = made(names=["the", *NAMES[1:]])
    assert rows(tagged, "the")[:2] == [0, 1]


def test_nothing_is_found_where_the_best_is_unlikely():
    searcher = made(nothing_below=0.3)
    found = searcher.search("person sea -boat")
    assert found.hits == []
    assert found.cut_off == math.inf
    assert 0 < found.best < 0.3
    assert searcher.search("person sea -boat", unlikely=True).hits[0].likely is False


@pytest.mark.parametrize("unlikely", [True, False])
@pytest.mark.parametrize(
    "text", ["boat", "boat -person", "building person sea", "person sea -boat", "boat unicorn", "qqq"]
)
def test_the_columns_are_those_of_the_hits(text, unlikely):
    searcher = made(nothing_below=0.3)
    found = searcher.search(text, 3, unlikely=unlikely)
    columns = (found.rows, found.probabilities, found.told, found.likely)
    assert list(zip(*(column.tolist() for column in columns), found.missing, strict=True)) == [
        (hit.row, hit.probability, hit.told, hit.likely, hit.missing) for hit in found.hits
    ]
    backwards = np.arange(len(found.rows))[::-1]
    assert found.at(backwards) == found.hits[::-1]
    assert found.at(backwards[:1]) == found.hits[-1:]


def test_the_cut_off_parts_likely_from_unlikely():
    found = made().search("person", unlikely=True)
    assert [hit.row for hit in found.hits if hit.likely] == [1, 4]
    assert found.n_likely == 2
    assert all(hit.likely == (hit.probability >= found.cut_off) for hit in found.hits)


def test_nothing_possible_is_nothing_likely():
    found = made(nothing_below=0.0).search("filename:p1 filename:p2", unlikely=True)
    assert (found.hits, found.n_likely, found.cut_off) == ([], 0, math.inf)


def test_like_uses_what_it_is_given():
    likeness = np.log([0.1, 0.2, 0.9, 0.3, 0.4, 1e-9])
    searcher = made(like=lambda reference: likeness if reference == "x.jpg" else likeness[::-1])
    assert rows(searcher, "like:x.jpg")[:3] == [2, 4, 3]
    assert searcher.search("like:x.jpg").hits[0].reasons[0].by == "look"
    assert rows(searcher, "like:x.jpg boat")[:2] == [4, 3]
    with pytest.raises(InputError, match="like: compares pictures"):
        made().search("like:x.jpg")


def test_without_a_model_people_are_still_heard():
    evidence = Evidence(PATHS, tags=sparse.csr_array(TAGS), tag_names=NAMES)
    assert [hit.row for hit in Searcher(evidence).search("boat").hits] == [0, 1]
    empty = Evidence([], tags=sparse.csr_array((0, 0)), tag_names=[])
    assert Searcher(empty).search("boat").hits == []


def test_of_what_models_of_tags_and_classes_say_of_a_word_the_likelier_counts():
    beliefs = []
    for p in ([0.9, 0.1, 0.6], [0.2, 0.8, 0.6]):
        index = Index(1)
        index.add(PATHS[:3], np.log(p).reshape(3, 1))
        beliefs.append(Beliefs(index.snapshot(), ["coast"], PATHS[:3]))
    evidence = Evidence(PATHS[:3], tags=sparse.csr_array((3, 0)), tag_names=[])
    found = Searcher(evidence, *beliefs).search("coast", unlikely=True)
    assert [hit.row for hit in found.hits] == [0, 1, 2]
    assert [hit.probability for hit in found.hits] == pytest.approx([0.9, 0.8, 0.6], rel=1e-3)


def test_pictures_the_model_has_not_seen_are_unknown():
    index = Index(2)
    index.add(["b", "x"], np.log([[0.9, 0.1], [0.5, 0.5]]))
    beliefs = Beliefs(index.snapshot(), ["boat", "sea"], ["a", "b"])
    np.testing.assert_allclose(beliefs.log_p("boat"), [UNKNOWN, math.log(0.9)], rtol=1e-6)
    np.testing.assert_allclose(beliefs.log_p("sea", np.array([1])), [math.log(0.1)], rtol=1e-6)
    index.remove(["b"])
    np.testing.assert_allclose(Beliefs(index.snapshot(), ["boat", "sea"], ["a", "b"]).log_p("boat"), UNKNOWN)


WORDS = ["boat", "sea", '"tall building"', "person", "class:coast", "p1", "zzz", "tag:boat", "bota"]


def queries(depth=3):
    leaf = st.sampled_from(WORDS)
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(lambda q: f"-({q})"),
            st.lists(inner, min_size=2, max_size=3).map(lambda qs: f"({' '.join(qs)})"),
            st.lists(inner, min_size=2, max_size=3).map(lambda qs: f"({' OR '.join(qs)})^2"),
        ),
        max_leaves=6,
    )


@given(queries(), st.integers(1, 8), st.integers(0, 3))
@settings(max_examples=120, deadline=None)
def test_looking_at_those_that_can_be_the_best_misses_nothing(text, n_best, seed):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.001, 0.95, (40, 5)) ** 3
    tags = (rng.random((40, 5)) < 0.1).astype(int)
    paths = [f"q/p{i}.jpg" for i in range(40)]
    classes = [["coast", "street", None][i % 3] for i in range(40)]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"_FEW": 5, "HEAD": 2}.items():
            patch.setattr(f"visterm.find.rank.searcher.{name}", value)
        quick = made(p, paths=paths, tags=tags, classes=classes).search(text, n_best, unlikely=True)
    slow = made(p, paths=paths, tags=tags, classes=classes).search(text, n_best, unlikely=True)
    # of pictures that are equally likely, either may be the one
    assert [hit.told for hit in quick.hits] == [hit.told for hit in slow.hits]
    assert [hit.probability for hit in quick.hits] == pytest.approx([hit.probability for hit in slow.hits], rel=1e-4)


def test_in_large_collections_people_come_first_though_what_they_did_not_exclude_is_uncertain():
    n = 12_000
    p, tags = np.full((n, 2), 0.001), np.zeros((n, 2))
    p[:300] = [0.99, 0.001]  # the model is sure of these, and nobody has seen them
    p[700] = [0.5, 0.45]
    tags[700, 0] = 1
    searcher = made(p, paths=[f"{i}.jpg" for i in range(n)], tags=tags, names=["boat", "person"], classes=())
    first, *others = searcher.search("boat -person", 20).hits
    assert (first.row, first.told) == (700, True)
    assert first.probability < 0.9
    assert len(others) == 19
    assert all(hit.row < 300 and not hit.told and hit.probability > 0.9 for hit in others)


@given(queries())
@settings(max_examples=100, deadline=None)
def test_beliefs_of_some_rows_are_those_of_all(text):
    searcher = made()
    from visterm.find.words.query import parse

    asked = searcher._interpreter.read(parse(text)).asked
    if asked is None:
        return
    whole = believe(asked, heard(asked), 0.4)
    some = np.array([1, 4])
    part = believe(asked, heard(asked, some), 0.4)
    np.testing.assert_allclose(part.log_p, whole.log_p[some], rtol=1e-5)
    np.testing.assert_array_equal(part.told, whole.told[some])
    assert (whole.log_p <= 1e-6).all()
    assert not np.isnan(whole.log_p).any()


def test_contradictions_of_people_are_impossible():
    leaf = Leaf("x", 3, {"tag": np.array([0])}, np.array([1]), closed=False)
    belief = believe(Without(Without(leaf)), heard(leaf), 0.5)
    np.testing.assert_allclose(np.exp(belief.log_p), [1, 0, math.exp(UNKNOWN)], rtol=1e-3)
    np.testing.assert_allclose(np.exp(together([np.array([0.0]), np.array([-np.inf])], 0.5)), [0.0])


@given(st.text(max_size=50) | st.text(alphabet="boatse \"()^-:*ANDORT2%_;'\x00", max_size=50))
@settings(max_examples=250, deadline=None)
def test_any_text_gets_an_answer_or_a_clear_refusal(text):
    try:
        found = made().search(text, 5, unlikely=True)
    except QueryError:
        return
    assert all(0 < hit.probability <= 1 and 0 <= hit.row < 6 for hit in found.hits)
    assert all(str(note) for note in found.notes)


def test_many_unknown_words_are_not_all_corrected():
    found = made().search(" ".join(f"boa{chr(97 + i)}t" for i in range(20)))
    assert sum(note.meant is not None for note in found.notes) <= 10

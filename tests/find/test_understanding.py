"""What people type is taken as it is meant: fillers, forms of a word, operators, words that cannot all be met."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.find.rank.beliefs import Beliefs
from visterm.find.rank.searcher import Searcher
from visterm.find.words.query import QueryError
from visterm.index.index import Index

NAMES = ["boat", "sea", "dog", "piano", "snow"]
TAGS = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0] * 5, [0] * 5])
P = np.full((6, 5), 0.02)
P[:, 0] = [0.3, 0.9, 0.02, 0.02, 0.8, 0.1]
P[4:, 2] = [0.02, 0.7]


def made(p=P, tags=TAGS, names=NAMES, **options):
    paths = [f"p{i}.jpg" for i in range(len(tags))]
    language = options.pop("language", "en")
    captions = options.pop("captions", ())
    classes = options.pop("classes", ())
    index = Index(len(names), dtype="float16")
    index.add(paths, np.log(p))
    evidence = Evidence(
        paths, tags=sparse.csr_array(tags), tag_names=names, language=language, captions=captions, classes=classes
    )
    return Searcher(evidence, Beliefs(index.snapshot(), names, paths), **options)


def rows(found):
    return [hit.row for hit in found.hits]


# One word


@pytest.mark.parametrize(
    ("twice", "once"),
    [
        ("boat boats", "boat"),
        ("boat OR boats", "boat"),
        ("Boats BOAT boat", "boat"),
        ("boat boats sea", "boat sea"),
        ("boat^2 boats sea", "boat^2 sea"),
        ("boats OR sea OR boat", "boat OR sea"),
        ("sea -boat -boats", "sea -boat"),
        ("sea (boat OR dog) (boats OR dogs)", "sea (boat OR dog)"),
        ("baot boat sea", "boat sea"),
        ("tag:boats tag:boat", "tag:boat"),
    ],
)
def test_forms_of_a_word_are_one_word(twice, once):
    for dependence in (0.0, 0.5):
        searcher = made(dependence=dependence)
        ours, theirs = (searcher.search(text, unlikely=True) for text in (twice, once))
        assert ours.hits == theirs.hits
        assert ours.hits


def test_forms_of_a_word_in_captions_and_fields_are_one_word():
    searcher = made(captions=["two ships", "a ship", None, None, None, None])
    assert searcher.search("ship ships").hits == searcher.search("ship").hits
    assert searcher.search("caption:ships OR caption:ship").hits == searcher.search("caption:ship").hits
    found = made(classes=["coast", None, None, None, None, None]).search("class:coasts")
    assert (rows(found), found.notes) == ([0], [])
    assert made().search("tag:boats").notes == []


# The order of what people said


def test_what_people_said_is_ordered_by_what_the_model_believes():
    found = made().search("boat")
    assert rows(found)[:2] == [1, 0]
    assert [hit.told for hit in found.hits][:3] == [True, True, False]
    assert [hit.probability for hit in found.hits][:2] == [1, 1]
    assert rows(made().search("boat", 1)) == [1]
    assert rows(made().search("filename:p boat", unlikely=True))[:2] == [1, 0]


def test_the_belief_that_orders_is_not_doubted():
    tags = np.zeros((40, 5), int)
    tags[:38, 1:] = 1
    tags[37:, 0] = 1  # of 37 everything is said, of 38 and 39 only the boat
    p = np.full((40, 5), 0.02)
    p[37:, 0] = [0.8, 0.7, 0.6]
    assert rows(made(p, tags).search("boat")) == [37, 38, 39]


def test_what_people_said_comes_before_what_is_likelier_to_the_model():
    p = P.copy()
    p[0, 0], p[4, 0] = 0.001, 0.999
    assert rows(made(p).search("boat"))[:3] == [1, 0, 4]


def test_probabilities_below_one_count_before_the_belief_about_words_given():
    p = P.copy()
    p[:2, 2] = [0.02, 0.4]  # the second may show a dog, which is excluded
    tags = TAGS.copy()
    tags[:, 1] = 0
    hits = made(p, tags).search("boat -dog").hits
    assert [hit.row for hit in hits][:2] == [0, 1]
    assert hits[0].probability > hits[1].probability


# Fillers, operators, patterns


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ("show me photos of boats", ["show", "photos"]),
        ("pictures with a boat", ["pictures"]),
        ("find all my images of the boats", ["find", "images"]),
        ("Photos of Boats", ["Photos"]),
        ("a boat", []),
    ],
)
def test_words_by_which_people_ask_are_ignored_and_said(text, ignored):
    found = made().search(text)
    assert found.hits == made().search("boat").hits
    assert found.ignored == ignored
    assert found.notes == []


def test_fillers_that_are_tags_or_stand_alone_are_words():
    tagged = made(names=["photos", *NAMES[1:]])
    assert rows(tagged.search("photos"))[:2] == [1, 0]
    assert tagged.search("photos of the sea").ignored == []
    assert rows(made(captions=["my pictures", *[None] * 5]).search("pictures")) == [0]
    assert str(made().search("photos").notes[0]) == "no picture has the word 'photos', so it was ignored"
    assert made().search("boat 'photos'").ignored == ["'photos'"]
    assert made().search('boat "photos"').ignored == []


def test_fillers_follow_the_language():
    german = made(names=["boot", *NAMES[1:]], language="de")
    found = german.search("zeige bilder mit booten")
    assert rows(found)[:2] == [1, 0]
    assert found.ignored == ["zeige", "bilder"]
    assert made().search("bilder boat").ignored == []


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("boat or sea", "'or' was ignored: write OR in capitals"),
        ("boat not sea", "'not' was ignored: write NOT in capitals"),
        ("boat and sea", "'and' was ignored: all words are looked for anyway"),
        ("boat*", "Visterm knows the forms of words: leave out the * of 'boat*'"),
    ],
)
def test_what_was_probably_meant_is_said(text, hint):
    (said,) = made().search(text).hints
    assert said.startswith(hint)


def test_operators_and_patterns_written_right_need_no_hint():
    for text in ("boat OR sea", "boat NOT sea", "filename:p*", '"boat*"', "the boat", '"or" boat'):
        assert made().search(text).hints == []


# Words that cannot all be met


def test_unknown_words_are_missing_in_what_is_found():
    found = made().search("dog unicorn")
    assert rows(found) == rows(made().search("dog"))
    assert {hit.missing for hit in found.hits} == {("unicorn",)}
    assert found.n_likely == len(found.hits)
    for text in ("dog -unicorn", "dog OR unicorn", "dog the", "dgo"):
        assert {hit.missing for hit in made().search(text).hits} == {()}
    assert made().search("unicorn").hits == []


def test_where_no_picture_has_all_words_those_with_most_words_are_shown():
    found = made().search("dog piano")
    assert (found.n_likely, found.cut_off) == (0, np.inf)
    assert found.best < 0.1
    told = [(hit.row, hit.missing) for hit in found.hits if hit.told]
    assert sorted(told) == [(2, ("piano",)), (3, ("dog",))]
    assert [(hit.row, hit.missing) for hit in found.hits if not hit.told] == [(5, ("piano",))]
    assert all(hit.likely for hit in found.hits)
    assert rows(made().search("dog piano", 1)) == [2]


def test_as_few_words_as_possible_are_missing():
    found = made().search("boat sea piano unicorn")
    assert [(hit.row, hit.missing) for hit in found.hits if hit.told] == [(0, ("unicorn", "piano"))]
    assert made().search("boat sea").hits[0].missing == ()


def test_ways_to_leave_out_words_take_turns():
    tags = np.repeat(np.eye(5, dtype=int), 3, axis=0)
    found = made(np.full((15, 5), 0.02), tags).search("boat sea", 4)
    assert [hit.missing for hit in found.hits] == [("sea",), ("boat",), ("sea",), ("boat",)]


def test_fields_and_exclusions_are_never_left_out():
    assert rows(made().search("dog filename:p3")) == [3]  # the field holds, the dog is missing
    assert made().search("dog filename:p3").hits[0].missing == ("dog",)
    assert made().search("tag:dog tag:piano").hits == []
    found = made().search("boat piano -sea")
    assert 0 not in rows(found)
    assert (1, ("piano",)) in [(hit.row, hit.missing) for hit in found.hits]
    assert made().search("piano -filename:p").hits == []
    assert made().search("snow -boat").hits == []  # without the snow, nothing is asked for


def test_with_the_unlikely_ones_nothing_is_left_out():
    found = made().search("dog piano", unlikely=True)
    assert {hit.missing for hit in found.hits} == {()}
    assert not any(hit.likely for hit in found.hits)


def test_long_queries_without_an_answer_are_answered_all_the_same():
    names = [f"word{i:02d}" for i in range(40)]
    searcher = made(np.full((40, 40), 0.02), np.eye(40, dtype=int), names)
    found = searcher.search(" ".join(names))
    assert len(found.hits) == 20
    assert all(len(hit.missing) == 39 for hit in found.hits)


# Untagged pictures


@pytest.mark.parametrize("text", ["is:untagged", "untagged", "IS:Untagged", 'is:"untagged"'])
def test_pictures_without_tags(text):
    assert rows(made().search(text)) == [4, 5]
    assert made().search(text).hits[0].reasons[0].by == "no tags"
    found = made().search(f"{text} boat")
    assert rows(found) == [4]
    assert not found.hits[0].told
    assert rows(made().search(f"-{text} boat", unlikely=True))[:2] == [1, 0]
    assert not {4, 5} & set(rows(made().search(f"-{text} boat", unlikely=True)))
    assert made().search(f"{text} piano").hits[0].missing == ("piano",)
    assert {4, 5} == set(rows(made().search(f"{text} piano")))


def test_untagged_may_be_a_tag():
    searcher = made(names=["untagged", *NAMES[1:]])
    assert rows(searcher.search("untagged"))[:2] == [1, 0]
    assert rows(searcher.search("is:untagged")) == [4, 5]


def test_is_knows_one_word():
    with pytest.raises(QueryError, match=r"'is:tagged' at character 6 is unknown: write is:untagged"):
        made().search("boat is:tagged")


# What is not shown


def test_less_likely_pictures_are_counted():
    found = made().search("boat")
    assert found.n_less_likely == len(made().search("boat", unlikely=True).hits) - len(found.hits) > 0
    assert made().search("boat", unlikely=True).n_less_likely == 0
    assert made().search("boat", 2).n_less_likely == 0


def test_similar_pictures_obey_the_cut_off():
    alike = np.log([0.9, 0.8, 0.1, 0.02, 0.01, 0.001])
    assert rows(made(like=lambda _: alike).search("like:x")) == [0, 1]
    unlike = made(like=lambda _: alike - 3).search("like:x")
    assert (unlike.hits, unlike.n_likely) == ([], 0)
    assert unlike.n_less_likely == 6


def test_a_merged_name_finds_what_it_is_called_now():
    evidence = Evidence(["a.jpg", "b.jpg"], tag_names=["plane", "sea"], tags=sparse.csr_array([[1, 0], [0, 1]]))
    found = Searcher(evidence, aliases={"tag": {"prop": "plane"}, "class": {}})
    assert [hit.row for hit in found.search("prop").hits] == [0]
    assert [hit.row for hit in found.search("tag:prop").hits] == [0]
    assert not found.search("class:prop").hits
    assert not Searcher(evidence).search("prop").hits

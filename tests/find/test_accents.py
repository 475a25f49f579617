"""Accents make no difference to a search, except between tags that differ in nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.collection import Evidence
from visterm.find import Beliefs, Searcher
from visterm.find.words.names import Names
from visterm.index import Index


def evidence(tag_names, *, captions=(), paths=None, classes=()):
    """A picture for each tag, and then those that have captions only."""
    n_rows = max(len(tag_names), len(captions), len(classes), len(paths or ()))
    tags = sparse.eye_array(n_rows, len(tag_names), format="csr")
    paths = paths or [f"{row}.jpg" for row in range(n_rows)]
    captions = [*captions, *[None] * (n_rows - len(captions))]
    return Evidence(paths, tags=tags, tag_names=tag_names, captions=captions, classes=classes)


def searcher(tag_names, *, beliefs=None, aliases=None, **pictures):
    return Searcher(evidence(tag_names, **pictures), beliefs, aliases=aliases)


def told(asked, query):
    found = asked.search(query)
    assert not found.notes
    return sorted(hit.row for hit in found.hits if hit.told)


@pytest.mark.parametrize("query", ["naive", "naïve", "NAIVE", "nai\u0308ve", "tag:naive", '"naive"', "naives", "nàivé"])
def test_a_tag_is_found_whatever_the_accents(query):
    assert told(searcher(["boat", "naïve"]), query) == [1]
    assert told(searcher(["boat", "naive"]), query) == [1]


@pytest.mark.parametrize("query", ["creme brulee", "crème brulée", '"creme brulee"', 'tag:"crèmes brulées"'])
def test_names_of_several_words_are_found_whatever_the_accents(query):
    assert told(searcher(["boat", "crème brûlée"]), query) == [1]


def test_tags_that_differ_in_accents_only_are_kept_apart():
    asked = searcher(["resume", "résumé", "maté", "màte"])
    assert told(asked, "resume") == told(asked, "tag:resumes") == [0]
    assert told(asked, "résumé") == told(asked, "tag:Résumés") == [1]
    assert told(asked, "resumé") == [0, 1], "neither is meant exactly, so both are"
    assert told(asked, "mate") == told(asked, "tag:mate") == [2, 3]
    assert told(asked, "-mate resume") == [0]


def test_classes_are_found_whatever_the_accents():
    asked = searcher([], classes=["café", "street", "cafè", None])
    assert told(asked, "class:cafe") == told(asked, "cafe") == [0, 2]
    assert told(asked, "class:café") == [0]
    assert told(asked, "-class:cafe") == [1], "of another class"


def test_captions_and_file_names_are_found_whatever_the_accents():
    captions = ["Au Café du Port", "the cafes", None, None]
    paths = ["a.jpg", "b.jpg", "Café Größe.jpg", "Cafe\u0301/grosse.jpg"]
    asked = searcher([], captions=captions, paths=paths)
    for query in ("cafe", "café", "Cafés"):
        assert told(asked, query) == [0, 1, 2, 3]
    assert told(asked, "caption:cafe") == told(asked, "caption:café") == [0, 1]
    assert told(asked, '"cafe du port"') == [0]
    assert told(asked, "grosse") == told(asked, "größe") == [2, 3]
    assert told(asked, "filename:cafe") == told(asked, "filename:CAFÉ*") == told(asked, "filename:*café*") == [2, 3]
    assert told(asked, '"cafe grosse.jpg"') == [2]


def test_a_word_is_suggested_as_people_spell_it():
    known = evidence(["rivière"], captions=["la forêt", "la forêt et la foret", "foret"])
    for query, meant in (("fortê", "forêt"), ("rivièer", "rivière")):
        (note,) = Searcher(known).search(query).notes
        assert note.meant == meant
    assert {word: n for word, n in known.counts().items() if word.startswith("for")} == {"forêt": 2, "foret": 2}


def test_a_stop_word_is_not_taken_for_a_word_with_accents():
    asked = searcher(["thé", "boat"], captions=[None, None, "the sea", "un thé"])
    assert told(asked, "the boat") == [1]
    assert told(asked, "thé") == [0, 3]


def test_a_model_answers_for_the_tags_that_are_meant():
    def beliefs(*names):
        index = Index(len(names))
        index.add(["0", "1", "2"], np.log([[0.1] * len(names), [0.2] * len(names), [0.8] * len(names)]))
        return Beliefs(index.snapshot(), names, ["0", "1", "2"])

    def believed(asked, query):
        return {hit.row: round(hit.probability, 2) for hit in asked.search(query).hits if not hit.told}

    paths = ["0.jpg", "1.jpg", "2.jpg"]
    assert believed(searcher(["café"], paths=paths, beliefs=beliefs("café")), "cafe") == {2: 0.8}
    assert believed(searcher(["resume"], paths=paths, beliefs=beliefs("résumé")), "resume") == {}


def test_old_names_are_found_whatever_the_accents():
    asked = searcher(["naïve", "résumé"], aliases={"tag": {"candidé": "naïve", "resumé": "naïve"}})
    assert told(asked, "candide") == told(asked, "tag:candidé") == [0]
    assert told(asked, "resumé") == [0]
    assert told(asked, "resume") == [1], "what is called so now comes first"


def test_names_mean_the_nearest_of_their_kind():
    names = Names({"tag": ["café", "boats"], "class": ["cafe", ""]}, {"tag": {"Kneipé": "café"}})
    assert names.meant(None, "cafe") == ("cafe",)
    assert names.meant("tag", "cafe") == ("café",)
    assert names.meant(None, "boat") == names.meant(None, "bôat") == ("boats",)
    assert names.meant("class", "boat") == names.meant("caption", "boat") == names.meant(None, "") == ()
    assert (names.of("class"), names.of("caption"), names.of(None)) == ({"cafe"}, set(), set())
    assert names.renamed("tag", "kneipe") == names.renamed(None, "kneipé") == "café"
    assert names.renamed("class", "kneipe") is names.renamed(None, "boats") is None

"""What a term means in a collection: names of several words, forms, corrections, words near in meaning."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.find.rank.beliefs import UNKNOWN, Beliefs
from visterm.find.rank.searcher import Searcher
from visterm.find.words.meaning import Interpreter
from visterm.find.words.query import parse
from visterm.index.index import Index
from visterm.language import WordVectors, compile_vectors

VECTORS = """\
dog 1 0 0 0
cat 0.8 0.6 0 0
puppy 0.97 0.24 0 0
car 0 0 1 0
automobile 0 0 0.9 0.1
cab 0 0 0.9 0.2
caat 0 1 0 -1
air 0 0 0 1
"""


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    (folder / "tiny.txt").write_text(VECTORS)
    return WordVectors(compile_vectors(folder / "tiny.txt", folder / "words.safetensors"))


def known(*names, **options):
    """A picture for each tag."""
    tags = sparse.eye_array(len(names), format="csr")
    paths = [f"{row}.jpg" for row in range(len(names))]
    searching = {name: options.pop(name) for name in ("vectors", "tag_beliefs", "class_beliefs") if name in options}
    return Searcher(Evidence(paths, tags=tags, tag_names=names, **options), **searching)


def told(searcher, text):
    return [hit.row for hit in searcher.search(text).hits if hit.told]


def said(searcher, text):
    return [str(note) for note in searcher.search(text).notes]


def model(names, n_rows, log_p=UNKNOWN):
    index = Index(len(names))
    keys = [f"{row}.jpg" for row in range(n_rows)]
    index.add(keys, np.full((n_rows, len(names)), log_p))
    return Beliefs(index.snapshot(), names, keys)


# Names of several words


def test_words_that_form_a_name_are_joined_wherever_they_stand():
    tags = sparse.csr_array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    evidence = Evidence(["0.jpg", "1.jpg", "2.jpg"], tags=tags, tag_names=["tall building", "sea", "old red boat"])
    searcher = Searcher(evidence)
    for text in ("tall building sea", "sea tall building", "sea tall buildings"):
        assert told(searcher, text) == [0]
        assert said(searcher, text) == []
    assert told(searcher, "old red boat sea") == told(searcher, "sea old red boats") == [1]
    assert told(searcher, "tall building old red boat") == [2]
    asked = searcher._interpreter.read(parse("sea tall building old red boat")).asked
    assert [part.text for part in asked.parts] == ["sea", "tall building", "old red boat"]
    assert searcher.search("tall building* sea").hints == []  # words of a name are taken as quoted


def test_words_with_weights_quotes_or_fields_are_not_joined():
    searcher = known("tall building", "tall", "building")
    for text in ("tall^2 building", '"tall" building', "tag:tall building", "tall building^3"):
        asked = searcher._interpreter.read(parse(text)).asked
        assert [part.text for part in asked.parts] == ["tall", "building"]
    assert told(searcher, "tall building") == told(searcher, "tall buildings") == [0]


def test_the_longest_name_counts():
    searcher = known("red", "red boat", "red boat race")
    assert told(searcher, "red boat race") == [2]
    asked = searcher._interpreter.read(parse("red boat red")).asked
    assert [part.text for part in asked.parts] == ["red boat", "red"]


def test_parts_of_a_word_with_a_hyphen_may_be_missing():
    (hit,) = known("boat", "sea").search("boat-xylophone").hits
    assert (hit.row, hit.missing) == (0, ("xylophone",))


def test_what_is_missing_is_needed():
    read = known("boat")._interpreter.read
    assert read(parse("xylophone")).missing == ["xylophone"]
    assert read(parse("-xylophone")).missing == read(parse("xylophone OR boat")).missing == []
    assert read(parse("boat (xylophone)")).missing == ["xylophone"]


# Rare names beside frequent words


def collection(tags, **options):
    """Pictures with these tags; as many of each line as its number says."""
    rows = [own.split(", ") for number, own in tags for _ in range(number)]
    names = sorted({name for own in rows for name in own})
    given = sparse.csr_array([[name in own for name in names] for own in rows], dtype=float)
    keys = [f"{row}.jpg" for row in range(len(rows))]
    index = Index(len(names))
    index.add(keys, np.log(np.full((len(rows), len(names)), 0.3)))
    beliefs = Beliefs(index.snapshot(), names, keys)
    return Searcher(Evidence(keys, tags=given, tag_names=names, **options), beliefs)


def words_asked(searcher, text):
    asked = searcher._interpreter.read(parse(text)).asked
    return [part.text for part in getattr(asked, "parts", [asked])]


def test_the_name_of_a_rare_tag_does_not_stand_for_its_frequent_words():
    searcher = collection([(20, "run"), (30, "dog"), (5, "dog, run"), (4, "running dog")])
    for text in ("running dog", "Running dogs", "runs dog"):
        assert words_asked(searcher, text) == ["run", "dog"]
        assert set(told(searcher, text)) == set(range(50, 59))  # who wrote the phrase wrote its words
    assert words_asked(searcher, '"running dog"') == ["running dog"]
    assert len([hit for hit in searcher.search("dog", 100).hits if hit.told]) == 35  # not those of the phrase
    (missing,) = {hit.missing for hit in searcher.search("running dog xylophone").hits}
    assert missing == ("xylophone",)


def test_the_name_of_a_tag_stands_for_words_that_hardly_occur_without_it():
    searcher = collection([(20, "traffic light, light"), (5, "traffic"), (30, "light")])
    assert words_asked(searcher, "traffic light") == ["traffic light"]
    few = collection([(4, "traffic light"), (9, "traffic"), (9, "light")])
    assert words_asked(few, "traffic light") == ["traffic", "light"]
    unknown_word = collection([(1, "golden retriever"), (9, "golden")])
    assert words_asked(unknown_word, "golden retriever") == ["golden retriever"]


def test_the_name_of_a_class_stands_for_its_words():
    classes = ["inside city", None, None]
    searcher = known("inside", "city", "sea", classes=classes)
    assert words_asked(searcher, "inside city") == ["inside city"]


def test_a_rare_tag_does_not_hide_a_frequent_form_of_its_word():
    searcher = collection([(1, "kids"), (12, "kid"), (3, "jump"), (4, "jumping")])
    assert told(searcher, "kids") == told(searcher, "tag:kids") == list(range(13))
    assert told(searcher, "kid") == list(range(1, 13))
    assert told(searcher, "jump") == [13, 14, 15]
    assert told(searcher, "jumped") == list(range(13, 20))
    (leaf,) = [searcher._interpreter.read(parse("kids")).asked]
    assert [word for _, word in leaf.sources] == ["kid"]  # a model that saw one picture does not answer for the word
    (both,) = [searcher._interpreter.read(parse("jumped")).asked]
    assert [word for _, word in both.sources] == ["jumping", "jump"]


# Words that are misspelt


def test_what_is_less_sure_is_not_read_as_it_is_stored():
    """Bounds on large collections read what is stored."""
    index = Index(1, dtype="float16")
    index.add(["a"], np.log([[0.5]]))
    beliefs = Beliefs(index.snapshot(), ["orchard"], ["a"])
    assert beliefs.halves("orchard") is not None
    assert beliefs.less_sure(0.5).halves("orchard") is None
    assert np.exp(beliefs.less_sure(0.5).log_p("orchard")) == pytest.approx([0.25], rel=1e-3)


def test_a_misspelt_word_is_less_sure_than_the_word_itself():
    searcher = Searcher(
        Evidence(["0.jpg", "1.jpg"], tags=sparse.csr_array([[1], [0]]), tag_names=["orchard"]),
        model(["orchard"], 2, np.log(0.5)),
    )
    for text, sure in (("orchard", 1.0), ("orchrad", 0.88), ("orxhrad", 0.37)):
        by_people, by_model = searcher.search(text, unlikely=True).hits
        assert (by_people.row, by_people.told) == (0, True)
        assert by_model.probability == pytest.approx(0.5 * sure, rel=1e-3)
        (without,) = searcher.search(f"filename:1.jpg -{text}", unlikely=True).hits
        assert without.probability == pytest.approx(1 - 0.5 * sure, rel=1e-3)
    both = searcher.search("orchrad orchard", unlikely=True)
    assert both.hits[1].probability == pytest.approx(0.5, rel=1e-3)


# What is said of each word


def understood(searcher, text):
    return {word.word: word for word in searcher.search(text).understood}


def test_it_is_said_how_each_word_was_understood():
    searcher = collection([(3, "dog"), (2, "jump"), (1, "sea view")], captions=["A yacht", *[None] * 5])
    said = understood(searcher, "the dogs jump -jumping yacht dgo zeppelin photos")
    assert {word: (each.how, each.names, each.n_pictures, each.has_model) for word, each in said.items()} == {
        "the": ("ignored", (), 0, False),
        "dogs": ("form", ("dog",), 3, True),
        "jump": ("name", ("jump",), 2, True),
        "jumping": ("form", ("jump",), 2, True),
        "yacht": ("written", (), 1, False),
        "dgo": ("spelling", ("dog",), 3, True),
        "zeppelin": ("unknown", (), 0, False),
        "photos": ("ignored", (), 0, False),
    }
    assert [word for word, each in said.items() if each.lacks_model] == ["yacht", "zeppelin"]
    assert said["dogs"].in_words(searched=True) == "dogs as dog (3 pictures)"
    assert said["jumping"].in_words(searched=True) == "-jumping as jump (2 pictures)"
    assert [word for word, each in said.items() if each.excluded] == ["jumping"]
    assert said["yacht"].in_words(searched=True) == "yacht (1 picture, no model)"
    assert said["yacht"].in_words(searched=False) == "yacht (1 picture)"
    assert said["zeppelin"].in_words(searched=True) == "zeppelin (unknown)"


def test_values_of_fields_are_understood_too():
    searcher = collection([(3, "dog"), (2, "sea view")], captions=["A yacht", *[None] * 4])
    assert understood(searcher, "tag:dogs")["dogs"].in_words(searched=True) == "tag:dogs as dog (3 pictures)"
    assert understood(searcher, "caption:yachts")["yachts"].how == "written"
    assert not understood(searcher, "caption:yachts")["yachts"].lacks_model
    assert understood(searcher, "tag:nothing")["nothing"].how == "unknown"
    assert understood(searcher, "sea view")["sea view"].names == ("sea view",)
    assert understood(searcher, "4.jpg")["4.jpg"].in_words(searched=True) == "filename:4.jpg (1 picture)"


def test_words_near_in_meaning_are_said(vectors):
    said = understood(known("dog", "cat", vectors=vectors), "puppy")["puppy"]
    assert (said.how, said.names, said.n_pictures) == ("meaning", ("dog", "cat"), 2)


# Forms and fields


def test_a_word_means_all_names_that_are_its_forms():
    searcher = known("berrys", "berries")
    assert told(searcher, "berry") == told(searcher, "tag:berry") == [0, 1]
    assert told(searcher, "berrys") == [0]


def test_values_of_fields_without_letters_match_nothing_and_are_said():
    assert said(known("boat"), 'tag:"!?"') == ["no picture has the tag '!?'; the known ones are boat"]
    assert known("boat").search('tag:"!?"', unlikely=True).hits == []


def test_a_hint_is_given_for_each_pattern():
    assert known("boat", "sea").search("boat* sea").hints == [
        "Visterm knows the forms of words: leave out the * of 'boat*'"
    ]


def test_a_field_with_the_first_word_of_a_name_says_how_to_quote_it():
    hint = """put names of several words in quotes: tag:"los angeles", and in a shell 'tag:"los angeles"'"""
    searcher = known("los angeles", "los alamos", "lost")
    assert searcher.search("tag:los angeles").hints == [hint.replace("angeles", "alamos")]
    assert known("los angeles", "lost").search("tag:Los Angeles").hints == [hint]
    assert known("lost").search("tag:zebra").hints == []
    assert known("los angeles").search('tag:"los angeles"').hints == []


def test_of_many_known_values_some_are_named():
    (note,) = known(*(f"tag{i:02d}" for i in range(11))).search("tag:zebra").notes
    assert note.others == (*(f"tag{i:02d}" for i in range(10)), "...")
    (note,) = known(*(f"tag{i:02d}" for i in range(10))).search("tag:zebra").notes
    assert note.others == tuple(f"tag{i:02d}" for i in range(10))


def test_terms_that_are_written_or_not_match_nothing_else():
    tags = sparse.csr_array([[1], [0], [0]])
    evidence = Evidence(
        ["sea/a1.jpg", "b.jpg", "c.jpg"], tags=tags, tag_names=["boat"], captions=[None, "a pier", None]
    )
    searcher = Searcher(evidence)
    for text, rows in (
        ("is:untagged", [1, 2]),
        ("a1.jpg", [0]),
        ("caption:pier", [1]),
        ("filename:b", [1]),
        ("tag:zebra", []),
    ):
        assert [hit.row for hit in searcher.search(text, unlikely=True).hits] == rows
    assert searcher.search("a1.jpg").hits[0].reasons[0].by == "file name"


def test_classes_are_not_doubted_by_tags():
    of_class = model(["coast"], 2, np.log(0.5))
    searcher = known("boat", "sea", classes=[None, None], class_beliefs=of_class)
    for text in ("coast", "class:coast"):
        assert [hit.probability for hit in searcher.search(text, unlikely=True).hits] == pytest.approx([0.5, 0.5])
    of_tag = model(["coast"], 2, np.log(0.5))
    doubted = known("boat", "sea", tag_beliefs=of_tag)
    for text in ("coast", "tag:coast"):
        assert all(hit.probability < 0.4 for hit in doubted.search(text, unlikely=True).hits)


def test_words_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr("visterm.find.words.leaves._MAX_REMEMBERED", 2)
    interpreter = known("boat", "sea", "sky")._interpreter

    def leaf(text):
        return interpreter.read(parse(text)).asked

    boat, sea = leaf("boat"), leaf("sea")
    assert (leaf("boats"), leaf("Sea")) == (boat, sea)
    sky = leaf("sky")
    assert leaf("sky") is sky
    assert leaf("boat") is not boat


# Corrections


@pytest.mark.parametrize("field", ["", "tag:"])
def test_of_equally_near_words_the_one_with_more_pictures_is_meant(field):
    """A word that only the model knows has no picture."""
    searcher = Searcher(
        Evidence(["0.jpg", "1.jpg"], tags=sparse.csr_array([[1], [0]]), tag_names=["boot"]),
        model(["boat", "boot"], 2),
    )
    (note,) = searcher.search(f"{field}boet").notes
    assert (note.meant, note.others, note.field) == ("boot", ("boat",), field[:-1] or None)
    assert told(searcher, f"{field}boet") == [0]


def test_values_of_a_field_are_corrected_by_values_of_that_field():
    tags = sparse.csr_array(np.ones((4, 3)))
    evidence = Evidence(
        [f"{row}.jpg" for row in range(4)],
        tags=tags,
        tag_names=["ceast", "ciast", "clast"],
        classes=["coast", None, None, None],
    )
    assert [note.meant for note in Searcher(evidence).search("class:cuast").notes] == ["coast"]
    assert [note.meant for note in Searcher(evidence).search("cuast").notes] == ["ceast"]
    assert said(Searcher(evidence), "filename:4.jpg") == ["no picture has a file name like '4.jpg'"]


# Words near in meaning


def test_an_unknown_word_is_answered_by_what_is_near_in_meaning(vectors):
    searcher = known("dog", "cat", "car", vectors=vectors)
    assert told(searcher, "automobile") == told(searcher, "tag:automobile") == [2]
    (note,) = searcher.search("automobile").notes
    assert (note.word, note.meant, [near.name for near in note.near]) == ("automobile", "car", ["car"])
    assert told(searcher, "puppy") == [0, 1]
    assert said(searcher, "puppy") == [
        "no picture has the word 'puppy': searched for 'dog' (0.97) or 'cat' (0.92) instead, which are close in meaning"
    ]
    assert said(searcher, "air") == ["no picture has the word 'air', so it was ignored"]


def test_the_nearest_words_weigh_by_how_near_they_are(vectors):
    searcher = known("dog", "cat", "car", vectors=vectors)
    asked = searcher._interpreter.read(parse("puppy")).asked
    (note,) = searcher.search("puppy").notes
    assert [part.text for part in asked.parts] == ["dog", "cat"]
    assert list(asked.weights) == [near.weight for near in note.near]
    assert asked.weights[0] > asked.weights[1]


def test_meaning_comes_before_spelling_only_for_words_with_a_vector(vectors):
    searcher = known("dog", "cat", "car", vectors=vectors)
    assert told(searcher, "cab") == [2]  # by spelling it would be as near the cat
    assert said(searcher, "dgo") == ["no picture has the word 'dgo': searched for 'dog' instead"]
    assert said(searcher, "caat") == ["no picture has the word 'caat': searched for 'cat' instead"]  # near nothing
    assert said(searcher, "cat") == []
    assert told(searcher, '"dog automobile"') == [0, 2]  # no word, but the mean of two


def test_each_field_has_its_own_words_near_in_meaning(vectors):
    searcher = known("cat", "sea", classes=["dog", None], vectors=vectors)
    assert [part.text for part in searcher._interpreter.read(parse("puppy")).asked.parts] == ["dog", "cat"]
    assert searcher._interpreter.read(parse("tag:puppy")).asked.text == "cat"
    assert searcher._interpreter.read(parse("class:puppy")).asked.text == "dog"
    assert searcher._interpreter.read(parse("tag:puppy")).asked.text == "cat"


def test_without_any_words_nothing_is_known():
    evidence = Evidence(["0.jpg"], tags=sparse.csr_array((1, 0)), tag_names=[])
    read = Interpreter(evidence).read(parse("boat"))
    assert (read.asked, [note.ignored for note in read.notes]) == (None, [True])

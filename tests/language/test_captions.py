from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.language.captions import ENGLISH, CaptionTokenizer
from visterm.language.english import IRREGULAR, UNCHANGED, singular

CAPTIONS = st.lists(
    st.lists(st.sampled_from(["the", "boat", "boats", "sea", "others", "leaf", "leaves", "bus", "tall", "building"])),
    max_size=8,
)


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("The BOAT, the boat; and a sea!", ["boat", "boat", "sea"]),
        ("A mother-in-law's cat -- and the dogs' toys", ["mother-in-law", "cat", "dogs", "toys"]),
        ("It’s the year 2020: 3-4 men in 3d, plan b", ["year", "men", "3d", "plan"]),
        ("snake_case/and.dots\tmore\nlines", ["snake", "case", "dots", "lines"]),
        (unicodedata.normalize("NFD", "Ein Café in Zürich"), ["ein", "café", "zürich"]),
        ("Море и हिन्दी 山", ["море", "हिन्दी", "山"]),
        ("🏖️ beach 🏖️ -- ' - '' \x00", ["beach"]),
        ("", []),
    ],
)
def test_words(caption, words):
    assert CaptionTokenizer().words(caption) == words


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        *[("buses", "bus"), ("churches", "church"), ("cities", "city"), ("leaves", "leaf"), ("glass", "glass")],
        *[("grass", "grass"), ("bus", "bus"), ("people", "person"), ("men", "man"), ("women", "woman")],
        *[("children", "child"), ("feet", "foot"), ("geese", "goose"), ("mice", "mouse"), ("sheep", "sheep")],
        *[("boxes", "box"), ("horses", "horse"), ("shoes", "shoe"), ("potatoes", "potato"), ("waves", "wave")],
        *[("glasses", "glass"), ("movies", "movie"), ("tennis", "tennis"), ("cactus", "cactus"), ("cameras", "camera")],
        *[("trousers", "trousers"), ("dishes", "dish"), ("gas", "gas"), ("sea", "sea"), ("red-boats", "red-boat")],
    ],
)
def test_singular(plural, expected):
    assert singular(plural) == expected


def test_known_words_decide_where_spelling_cannot():
    assert singular("taxis") == "taxis"
    assert singular("taxis", {"taxi"}) == "taxi"
    assert singular("menus", {"menu"}) == "menu"
    assert singular("biases", {"bias"}) == "bias"
    assert singular("princess", {"princes"}) == "princess"


WORDS = st.text("abcehimnorstuvwxyz", min_size=1, max_size=8).map(lambda stem: stem + "s") | st.sampled_from(
    sorted({*IRREGULAR, *IRREGULAR.values(), *UNCHANGED, *(word + "s" for word in IRREGULAR)})
)


@settings(max_examples=300, deadline=None)
@given(word=WORDS)
def test_folding_twice_changes_nothing(word):
    assert singular(singular(word)) == singular(word)


def test_tags_fold_count_and_keep_order():
    captions = [
        "Boats on the sea.",
        "One boat; two churches\nand the sea",
        "A church and others",
        "an other thing, ones",
    ]
    assert CaptionTokenizer().tags(captions) == [["boat", "sea"], ["boat", "church", "sea"], ["church"], []]
    assert CaptionTokenizer().vocabulary(captions) == {"boat": 2, "sea": 2, "church": 2}
    assert CaptionTokenizer(fold_plurals=False).tags(captions) == [["sea"], ["sea"], [], []]
    assert CaptionTokenizer(min_count=1, stop_words=frozenset()).tags(["the boat"]) == [["the", "boat"]]


def test_phrases_are_one_tag():
    tokenizer = CaptionTokenizer(phrases=("Tall Building", "bird of prey", "tall building site"), min_count=1)
    assert tokenizer.words("Tall buildings, a tall building site") == ["tall building", "tall building site"]
    assert tokenizer.words("two birds of prey in a tall tree") == ["bird of prey", "tall", "tree"]
    assert tokenizer.tags(["tall buildings and a building"]) == [["tall building", "building"]]
    assert CaptionTokenizer(phrases=("tall building",), fold_plurals=False).words("tall buildings") == [
        "tall",
        "buildings",
    ]


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="min_count"):
        CaptionTokenizer(min_count=0)
    with pytest.raises(InputError, match="' - ' has no words"):
        CaptionTokenizer(phrases=(" - ",))


@settings(max_examples=100, deadline=None)
@given(captions=CAPTIONS, min_count=st.integers(1, 3), fold=st.booleans())
def test_vocabulary_is_what_tags_use(captions, min_count, fold):
    texts = [" ".join(words) for words in captions]
    tokenizer = CaptionTokenizer(min_count=min_count, fold_plurals=fold, phrases=("tall building",))
    tags, vocabulary = tokenizer.tags(texts), tokenizer.vocabulary(texts)
    assert {tag for bag in tags for tag in bag} == set(vocabulary)
    assert all(sum(tag in bag for bag in tags) == count >= min_count for tag, count in vocabulary.items())
    assert all(len(set(bag)) == len(bag) for bag in tags)
    assert not set(vocabulary) & ENGLISH


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60))
def test_words_of_any_text_are_clean_and_stable(text):
    tokenizer = CaptionTokenizer()
    words = tokenizer.words(text)
    for word in words:
        assert word == word.strip("'- ")
        assert unicodedata.is_normalized("NFC", word)
    assert tokenizer.words(" ".join(words)) == words

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import InputError
from visterm.language import CaptionTokenizer, stop_words

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


def test_tags_fold_count_and_keep_order():
    captions = [
        "Boats on the sea.",
        "One boat; two churches\nand the sea",
        "A church and others",
        "an other thing, ones",
    ]
    tokenizer = CaptionTokenizer(min_count=2)
    assert tokenizer.tags(captions) == [["boat", "sea"], ["boat", "church", "sea"], ["church"], []]
    assert tokenizer.read(captions).kept == {"boat": 2, "sea": 2, "church": 2}
    assert CaptionTokenizer(min_count=1, stop_words=frozenset()).tags(["the boat"]) == [["the", "boat"]]


def test_phrases_are_one_tag():
    tokenizer = CaptionTokenizer(phrases=("Tall Building", "bird of prey", "tall building site"), min_count=1)
    assert tokenizer.words("Tall buildings, a tall building site") == ["tall building", "tall building site"]
    assert tokenizer.words("two birds of prey in a tall tree") == ["two", "bird of prey", "tall", "tree"]
    assert tokenizer.tags(["tall buildings and a building"]) == [["tall building", "building"]]


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="min_count"):
        CaptionTokenizer(min_count=0)
    with pytest.raises(InputError, match="' - ' has no words"):
        CaptionTokenizer(phrases=(" - ",))
    with pytest.raises(InputError, match="not 'German'"):
        CaptionTokenizer(language="German")


@pytest.mark.parametrize(
    ("language", "captions", "tags"),
    [
        ("de", ["Zwei alte Häuser am Fluss", "Ein Haus, und die Flüsse"], [["haus", "fluss"], ["haus", "fluss"]]),
        ("fr", ["Les chevaux dans l’eau", "Un cheval qu'on voit près de l'eau"], [["cheval", "eau"]] * 2),
        ("es", ["Los perros y las montañas", "Un perro en la montaña"], [["perro", "montaña"]] * 2),
        ("it", ["I gatti dell'isola", "Un gatto sull'isola"], [["gatto", "isola"]] * 2),
        ("nl", ["De honden op het strand", "een hond en een strand"], [["hond", "strand"]] * 2),
        ("pt", ["Os gatos na praia", "um gato e uma praia"], [["gato", "praia"]] * 2),
        ("ja", ["山 海", "山 の 海"], [["山", "海"]] * 2),
    ],
)
def test_captions_of_other_languages(language, captions, tags):
    assert CaptionTokenizer(language=language, min_count=2).tags(captions) == tags


def test_apostrophes_cut_off_only_what_says_nothing():
    tokenizer = CaptionTokenizer(language="fr", phrases=("pomme d'api",), min_count=1)
    assert tokenizer.words("Aujourd'hui l'arbre et une pomme d'api") == ["aujourd'hui", "arbre", "pomme api"]
    assert CaptionTokenizer().words("l'arbre") == ["l'arbre"]
    assert CaptionTokenizer(language="fr", stop_words=frozenset({"arbre"})).words("la l'arbre") == ["la"]


@settings(max_examples=100, deadline=None)
@given(captions=CAPTIONS, min_count=st.integers(1, 3))
def test_vocabulary_is_what_tags_use(captions, min_count):
    texts = [" ".join(words) for words in captions]
    tokenizer = CaptionTokenizer(min_count=min_count, phrases=("tall building",))
    tags, vocabulary = tokenizer.tags(texts), tokenizer.read(texts).kept
    assert {tag for bag in tags for tag in bag} == set(vocabulary)
    assert all(sum(tag in bag for bag in tags) == count for tag, count in vocabulary.items())
    assert all(count >= min_count for tag, count in vocabulary.items() if tag != "tall building")
    assert all(len(set(bag)) == len(bag) for bag in tags)
    assert not set(vocabulary) & stop_words()


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60))
def test_words_of_any_text_are_clean_and_stable(text):
    tokenizer = CaptionTokenizer()
    words = tokenizer.words(text)
    for word in words:
        assert word == word.strip("'- ")
        assert unicodedata.is_normalized("NFC", word)
    assert tokenizer.words(" ".join(words)) == words

"""Which words of captions become tags: all that say something, each in one form; and frequent pairs of nouns."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from visterm.language import CaptionTokenizer
from visterm.language.function_words import function_words

# Each caption with its content words in the form of tags; nobody looked at these captions while lists were made.
CAPTIONS = """
A goat chews on a wooden fence beside a rusty tractor. | goat chew wooden fence rusty tractor
Two nurses push an empty wheelchair along the hospital corridor. | two nurse push empty wheelchair hospital corridor
The mayor greets three students on the steps of the museum. | mayor greet three student step museum
An acrobat balances on a unicycle while juggling burning torches. | acrobat balance unicycle juggle burn torch
She carried herself proudly through the older streets. | carry proudly old street
Barefoot monks swept the courtyard whilst others were sleeping. | barefoot monk sweep courtyard sleep
The children's dog ran, jumped and swam; it is swimming again. | child dog run jump swim
A scarecrow guards a pumpkin patch under a cloudy sky. | scarecrow guard pumpkin patch cloudy sky
This photo shows a fishing boat that was painted blue. | fishing boat paint blue
Men taping a striped box, their hats hidden. | man tape stripe box hat hide
"""


def read(text: str) -> list[tuple[str, list[str]]]:
    """The captions and their words."""
    pairs = [line.split("|") for line in text.strip().splitlines()]
    return [(caption.strip(), words.split()) for caption, words in pairs]


@pytest.mark.parametrize(("caption", "words"), read(CAPTIONS))
def test_every_content_word_is_a_tag_in_one_form(caption, words):
    (tags,) = CaptionTokenizer(min_count=1).tags([caption])
    assert tags == words


def test_words_of_fewer_than_three_captions_are_no_tags():
    captions = ["A red boat", "red boats", "the boat, at night"]
    assert CaptionTokenizer().tags(captions) == [["boat"]] * 3
    assert CaptionTokenizer().read(captions).others == {"red": 2, "night": 1}


def test_synonyms_stay_apart():
    assert CaptionTokenizer(min_count=1).tags(["a boat, a ship", "kids", "children"]) == [
        ["boat", "ship"],
        ["kid"],
        ["child"],
    ]


def test_frequent_pairs_of_nouns_are_tags_beside_their_words():
    captions = [f"{caption} at night" for caption in ("A traffic light", "the traffic lights", "two traffic lights")]
    captions += ["a traffic light on a street"] * 2 + ["A light in the fog", "white clouds", "parents watch"] * 5
    words = CaptionTokenizer(min_count=1).read(captions)
    assert words.kept["traffic light"] == words.kept["traffic"] == 5
    assert words.kept["light"] == 10
    assert words.tags[1] == ["traffic light", "traffic", "light", "night"]
    assert "white cloud" not in words.kept  # an adjective
    assert "parent watch" not in words.kept  # the first word of a compound has no plural
    assert "traffic light" not in CaptionTokenizer(min_count=1).read(captions[1:]).kept  # four are too few


def test_a_pair_that_is_rare_beside_its_words_is_no_phrase():
    apart = ["a dog", "a race"] * 20
    assert "dog race" not in CaptionTokenizer(min_count=1).read(["a dog race"] * 5 + apart).kept
    assert "dog race" in CaptionTokenizer(min_count=1).read(["a dog race"] * 7 + apart).kept


@pytest.mark.parametrize(
    ("language", "caption", "tags"),
    [
        (
            "de",
            "Ein Mann mit blauem Hemd rennt selbst zu zwei Hunden, während sie selbst da sind",
            "mann blau hemd rennen zwei hund",
        ),
        ("fr", "Une femme en rouge court tandis que les enfants jouent", "femme rouge court enfant jouer"),
        ("es", "Un hombre corriendo con dos perros mientras otros juegan", "hombre correr dos perro jugar"),
        ("it", "Un uomo corre con due cani mentre altri dormono", "uomo correre due cane dormire"),
        ("nl", "Een man met twee honden terwijl de kinderen elkaar zien", "man twee hond kind elkaar"),
        ("pt", "Um homem com dois cachorros enquanto eles dormem", "homem dois cachorro dormir"),
    ],
)
def test_function_words_of_other_languages_are_no_tags(language, caption, tags):
    assert CaptionTokenizer(language=language, min_count=1).tags([caption]) == [tags.split()]


def test_each_line_has_the_function_words_of_its_language():
    german = ["eine Frau mit der Katze", "der Mann und die Frau", "wo ein Kind, das den Hund hat"]
    english = ["a man with a hat", "the die is cast in iron", "men in a war"]
    tags = CaptionTokenizer(min_count=1).tags([*german, *english])
    assert tags == [
        ["frau", "katze"],
        ["mann", "frau"],
        ["kind", "hund"],
        ["man", "hat"],
        ["die", "cast", "iron"],
        ["man", "war"],
    ]
    # one German line among many is taken for what it may be: a title with a foreign word
    assert CaptionTokenizer(min_count=1).tags(["a man with a hat"] * 30 + ["der Hund"])[-1] == ["der", "hund"]
    both = CaptionTokenizer(min_count=1).tags(["a boat at sea\nein Boot auf dem Meer"])
    assert both == [["boat", "sea", "boot", "meer"]]


def test_without_a_list_short_frequent_words_are_function_words():
    lines = [["en", name, "och", "en", "katt"] for name in ("hund", "pojke", "flicka", "man")] * 6
    ignored = function_words(lines, "sv")(lines[0])
    assert ignored == {"en", "och", "katt"}
    assert function_words(lines[:19], "sv")(lines[0]) == frozenset()  # too few to tell


def test_a_word_that_is_asked_for_is_a_tag():
    assert CaptionTokenizer(phrases=("under", "stone bridges")).tags(["A man under a stone bridge"]) == [
        ["under", "stone bridges"]
    ]


def test_eight_thousand_captions_take_little_time():
    captions = [f"{caption} Number {number}." for number in range(800) for caption, _ in read(CAPTIONS)]
    started = time.process_time()
    words = CaptionTokenizer().read(captions)
    assert time.process_time() - started < 4  # about 0.5 s on an idle core
    assert Counter(tag for tags in words.tags for tag in tags) == words.kept

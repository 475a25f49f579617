"""Forms of words brought to one."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from visterm.collection.evidence import Evidence
from visterm.errors import InputError
from visterm.find.rank.searcher import Searcher
from visterm.language import base_form, check_language, stop_words
from visterm.language.english import IRREGULAR, UNCHANGED
from visterm.language.english_lists import VERBS

GERMAN = """
    häuser:haus bäume:baum hunde:hund katzen:katze kinder:kind männer:mann berge:berg blumen:blume vögel:vogel
    wälder:wald städte:stadt brücken:brücke türme:turm schiffe:schiff boote:boot wolken:wolke strände:strand seen:see
    flüsse:fluss straßen:straße grüne:grün
"""
FRENCH = """
    chevaux:cheval chats:chat chiens:chien oiseaux:oiseau fleurs:fleur enfants:enfant hommes:homme femmes:femme
    arbres:arbre montagnes:montagne bateaux:bateau châteaux:château animaux:animal plages:plage rivières:rivière
    maisons:maison églises:église ponts:pont voitures:voiture nuages:nuage
"""
SPANISH = """
    niños:niño peces:pez luces:luz árboles:árbol ciudades:ciudad perros:perro gatos:gato caballos:caballo
    montañas:montaña ríos:río playas:playa barcos:barco casas:casa iglesias:iglesia puentes:puente coches:coche
    calles:calle bosques:bosque pájaros:pájaro mujeres:mujer
"""


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
    assert base_form(plural) == expected


@pytest.mark.parametrize(
    ("forms", "base"),
    [
        ("jump jumps jumping jumped", "jump"),
        ("run runs running ran", "run"),
        ("stripe stripes striped striping", "stripe"),
        ("strip strips stripped stripping", "strip"),
        ("tape tapes taped taping", "tape"),
        ("tap taps tapped tapping", "tap"),
        ("play playing playing played", "play"),
        ("carry carries carrying carried", "carry"),
        ("lie lying lies", "lie"),
        ("old older oldest", "old"),
        ("big bigger biggest", "big"),
        ("young younger youngest", "young"),
        ("happy happier happiest", "happy"),
        ("white whiter whitest", "white"),
        ("wine wines", "wine"),
        ("cane canes", "cane"),
        ("building buildings", "building"),
        ("fishing", "fishing"),
        ("fish", "fish"),
        ("red", "red"),
        ("leaf leaves", "leaf"),
        ("pants", "pants"),
        ("man men", "man"),
    ],
)
def test_forms_of_an_english_word_are_one(forms, base):
    assert {base_form(form) for form in forms.split()} == {base}


@settings(max_examples=300, deadline=None)
@given(word=st.sampled_from(sorted(VERBS)), ending=st.sampled_from(["", "s", "es", "ing", "ed", "er", "est"]))
def test_forms_of_verbs_are_stable(word, ending):
    once = base_form(word + ending)
    assert base_form(once) == once


def test_known_words_decide_where_spelling_cannot():
    assert base_form("taxis") == "taxis"
    assert base_form("taxis", {"taxi"}) == "taxi"
    assert base_form("menus", {"menu"}) == "menu"
    assert base_form("biases", {"bias"}) == "bias"
    assert base_form("princess", {"princes"}) == "princess"


WORDS = st.text("abcehimnorstuvwxyz", min_size=1, max_size=8).map(lambda stem: stem + "s") | st.sampled_from(
    sorted({*IRREGULAR, *IRREGULAR.values(), *UNCHANGED, *(word + "s" for word in IRREGULAR)})
)


@settings(max_examples=300, deadline=None)
@example(word="nearests")
@given(word=WORDS)
def test_folding_twice_changes_nothing(word):
    assert base_form(base_form(word)) == base_form(word)


@pytest.mark.parametrize(("language", "text"), [("de", GERMAN), ("fr", FRENCH), ("es", SPANISH)])
def test_forms_of_other_languages_become_the_word_of_the_dictionary(language, text):
    pairs = [pair.split(":") for pair in text.split()]
    assert len(pairs) >= 20
    assert [base_form(form, language=language) for form, _ in pairs] == [word for _, word in pairs]
    assert [base_form(word, language=language) for _, word in pairs] == [word for _, word in pairs]


@pytest.mark.parametrize("language", ["de", "fr", "it", "nl"])
@settings(max_examples=150, deadline=None)
@given(
    word=st.text("abdeghilnorstuß", min_size=1, max_size=8)
    | st.sampled_from(["kitzele", "gelopen", "vacas", "incluse"])
)
@example(word="nearests")
def test_folding_twice_changes_nothing_in_any_language(language, word):
    once = base_form(word, language=language)
    assert base_form(once, language=language) == once


def test_a_german_collection_is_searched_in_german():
    tags = sparse.csr_array([[1], [0], [0], [0]])
    captions = [None, "Ein Boot am Ufer", "Die Boote", None]
    paths = ["a.jpg", "b.jpg", "c.jpg", "Schiffe/d.jpg"]
    evidence = Evidence(paths, tags=tags, tag_names=["Brücken"], captions=captions, language="de")
    searcher = Searcher(evidence)
    found = {query: [hit.row for hit in searcher.search(query).hits] for query in ("Brücke", "das boot", "schiff")}
    assert found == {"Brücke": [0], "das boot": [1, 2], "schiff": [3]}
    assert [note.meant for note in searcher.search("Brükcen").notes] == ["brücken"]


def test_keys_without_sharp_s_meet():
    assert base_form("strassen", language="de") == base_form("strasse", language="de")
    assert base_form("flüsse", language="de") == "fluss"
    assert base_form("straßen", language="de") == "straße"


def test_words_of_a_language_without_tables_stay():
    assert base_form("boats", language="ja") == "boats"
    assert stop_words("ja") == frozenset()


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "it", "nl", "pt"])
def test_stop_words_are_in_lower_case(language):
    words = stop_words(language)
    assert len(words) >= 60
    assert all(word == word.lower() for word in words)


@pytest.mark.parametrize("language", ["", "e", "EN", "german", "d1", "de\n"])
def test_what_is_no_code_of_a_language_is_refused(language):
    with pytest.raises(InputError, match="two or three small letters"):
        check_language(language)

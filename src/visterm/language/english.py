"""The forms of English words brought to one: plurals, forms of verbs, comparatives."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from visterm.language.english_lists import NOUNS, verb_of

#: Plurals that the rules below get wrong.
IRREGULAR = {
    "children": "child", "feet": "foot", "geese": "goose", "men": "man", "mice": "mouse", "oxen": "ox",
    "people": "person", "teeth": "tooth", "women": "woman", "firemen": "fireman", "fishermen": "fisherman",
    "policemen": "policeman", "snowmen": "snowman", "sportsmen": "sportsman", "postmen": "postman",
    "calves": "calf", "elves": "elf", "halves": "half", "hooves": "hoof", "knives": "knife", "leaves": "leaf",
    "lives": "life", "loaves": "loaf", "scarves": "scarf", "shelves": "shelf", "thieves": "thief", "wives": "wife",
    "wolves": "wolf", "bookshelves": "bookshelf", "buses": "bus", "cactuses": "cactus", "cacti": "cactus",
    "circuses": "circus", "crocuses": "crocus", "gases": "gas", "lenses": "lens", "canvases": "canvas",
    "octopuses": "octopus", "viruses": "virus", "walruses": "walrus", "hippopotamuses": "hippopotamus",
    "buffaloes": "buffalo", "echoes": "echo", "flamingoes": "flamingo", "heroes": "hero", "mangoes": "mango",
    "mosquitoes": "mosquito", "potatoes": "potato", "tomatoes": "tomato", "tornadoes": "tornado",
    "volcanoes": "volcano", "birdies": "birdie", "brownies": "brownie", "cookies": "cookie", "hoodies": "hoodie",
    "movies": "movie", "pies": "pie", "selfies": "selfie", "ties": "tie", "zombies": "zombie",
    "aches": "ache", "axes": "axe", "caches": "cache", "moustaches": "moustache", "mustaches": "mustache",
}  # fmt: skip

#: Words that end in s but are not plurals, or whose singular means something else.
_UNCHANGED = """
    alps always andes arts athletics atlas bahamas barracks binoculars bus canvas christmas chaos clothes cosmos gas
    gymnastics headquarters himalayas jeans leggings lens maths mathematics means news overalls overseas
    pajamas pants paris perhaps physics politics pyjamas scissors series sheep shorts species sunglasses texas thanks
    tights towards trousers wales
"""
UNCHANGED = frozenset(_UNCHANGED.split())


#: Adjectives whose comparatives and superlatives count as the adjective.
_COMPARED = """
    big bright brown busy calm clean clear close cold cool dark deep dirty dry fast fat few fine full funny great
    happy hard heavy high hot large late light little long loud low near new nice old plain poor pretty quick quiet
    rich rough round safe sharp short slow small smooth soft steep strange strong sunny tall thick thin tiny
    tough warm weak wet white wide wild windy young
"""


def _comparatives() -> Iterator[tuple[str, str]]:
    for word in _COMPARED.split():
        short_vowel = len(word) > 2 and word[-1] in "gtdnm" and word[-2] in "aeiou" and word[-3] not in "aeiou"
        stem = word[:-1] + "i" if word.endswith("y") else word.rstrip("e") if word.endswith("e") else word
        stem += word[-1] if short_vowel else ""
        yield from ((f"{stem}er", word), (f"{stem}est", word))


_ADJECTIVE_OF = dict(_comparatives())


def english_base(word: str, known: Collection[str] = ()) -> str:
    """The one form of an English word in lower case: of a noun the singular, of a verb the infinitive.

    Words that have forms of two kinds are one word: parked cars and a park. A noun that only looks like a form of a
    verb stays: a building is not what people build.

    >>> words = ("boats", "men", "jumping", "jumps", "ran", "building", "waves", "leaves", "older", "swimming", "red")
    >>> [english_base(word) for word in words]
    ['boat', 'man', 'jump', 'jump', 'run', 'building', 'wave', 'leaf', 'old', 'swim', 'red']
    """
    one = english_singular(word, known)
    if word in IRREGULAR or word in UNCHANGED or one in NOUNS:
        return one
    return verb_of(word) or verb_of(one) or _ADJECTIVE_OF.get(one, one)


def english_singular(word: str, known: Collection[str] = ()) -> str:
    """The singular of a plural in lower case; other words stay as they are.

    If spelling allows several singulars, one of the ``known`` words of a collection is preferred.

    >>> words = ("boats", "churches", "cities", "leaves", "houses", "grass", "bus", "people")
    >>> [english_singular(word) for word in words]
    ['boat', 'church', 'city', 'leaf', 'house', 'grass', 'bus', 'person']
    >>> english_singular("skis"), english_singular("skis", known={"ski"})
    ('skis', 'ski')
    """
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss") or word in UNCHANGED:
        return word
    found = next((form for form in _possible_singulars(word) if form in known), None) or _usual_singular(word)
    return IRREGULAR.get(found, found)


def _possible_singulars(word: str) -> Iterator[str]:
    yield word[:-1]
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith("ves"):
        yield word[:-3] + "f"
        yield word[:-3] + "fe"
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        yield word[:-2]


def _usual_singular(word: str) -> str:
    if word.endswith(("us", "is")):  # cactus, tennis
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zzes")):
        return word[:-2]
    return word[:-1]

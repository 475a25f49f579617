"""Singulars of English plurals."""

from __future__ import annotations

from collections.abc import Collection, Iterator

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

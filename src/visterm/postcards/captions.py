"""Captions: one or two English sentences about what a postcard shows, made only from its truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from visterm.catalogue import Region
from visterm.postcards.light import Light

#: Tags that are not counted: "snow", not "a snow".
_MASS: Final = frozenset({"sky", "snow", "grass", "rain"})
#: Tags for things that occur once, or that are seen as one: "the sea".
_UNIQUE: Final = frozenset({"sea", "sun", "moon"})
_PLURALS: Final = {
    "person": "people",
    "sheep": "sheep",
    "bush": "bushes",
    "beach": "beaches",
    "bus": "buses",
    "cactus": "cactuses",
}
#: Tags with one region for many things: "flowers", not "a flower".
_GROUPS: Final = frozenset({"flower", "star", "window"})
_NUMBERS: Final = {2: "two", 3: "three", 4: "four"}
_PLACES: Final = {
    "coast": ("the coast", "a stretch of coast", "the seaside"),
    "desert": ("the desert", "a wide desert", "a quiet desert"),
    "forest": ("the forest", "a quiet forest", "an old forest"),
    "harbour": ("the harbour", "a busy harbour", "an old harbour"),
    "highway": ("the highway", "a broad highway", "a highway across the land"),
    "mountain": ("the mountains", "the high mountains", "a valley in the mountains"),
    "open country": ("open country", "the open country", "wide open country"),
    "street": ("a street in town", "the street", "a city street"),
    "village": ("the village", "a small village", "an old village"),
    "winter": ("a winter landscape", "the winter countryside", "a cold and quiet winter land"),
}
_HOURS: Final = {
    "dawn": ("at dawn", "in the early morning", "at first light"),
    "noon": ("at noon", "in broad daylight", "around midday"),
    "afternoon": ("in the afternoon", "in golden light", "late in the afternoon"),
    "dusk": ("at dusk", "in the evening", "after sunset"),
    "night": ("at night", "after dark", "late at night"),
    "overcast": ("on a grey day", "under a grey light", "on a dull day"),
}
_MOST_MENTIONED: Final = 7


def write(class_name: str, light: Light, regions: Sequence[Region], rng: np.random.Generator) -> str:
    """A caption that names the most important things among ``regions``, and nothing else."""
    counts = Counter(region.name for region in regions)
    sizes: Counter[str] = Counter()
    for region in regions:
        sizes[region.name] += round((region.right - region.left) * (region.bottom - region.top))
    # People point out small things; the sky is mentioned only if there is little else.
    order = sorted(counts, key=lambda name: (name == "sky", rng.normal(0.0, 0.6) + 0.25 * np.log1p(sizes[name])))
    mentioned = [_phrase(name, counts[name]) for name in order[:_MOST_MENTIONED]]
    place = str(rng.choice(_PLACES[class_name]))
    when = str(rng.choice(_HOURS[light.hour]))
    return _sentence(int(rng.integers(5)), place, when, mentioned)


def _sentence(template: int, place: str, when: str, things: list[str]) -> str:
    first, rest = things[: (len(things) + 1) // 2], things[(len(things) + 1) // 2 :]
    match template:
        case 0:
            return f"{_capital(place)} {when}, with {_listed(things)}."
        case 1:
            return f"{_capital(_listed(things))}: {place} {when}."
        case 2 if rest:
            return f"{_capital(place)} {when}. We saw {_listed(first)}, and then {_listed(rest)}."
        case 3 if rest:
            return f"{_capital(when)} we came to {place}: {_listed(first)}, and beyond, {_listed(rest)}."
        case _:
            return f"Greetings from {place} {when}! There is so much to see: {_listed(things)}."


def _phrase(name: str, count: int) -> str:
    """``name`` with its number or article.

    >>> _phrase("boat", 2), _phrase("umbrella", 1), _phrase("person", 9), _phrase("sea", 1)
    ('two boats', 'an umbrella', 'many people', 'the sea')
    """
    if name in _MASS:
        return name
    if name in _UNIQUE:
        return f"the {name}"
    plural = _PLURALS.get(name, f"{name}s")
    if name in _GROUPS:
        return plural
    if count == 1:
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    return f"{_NUMBERS.get(count, 'several' if count < 8 else 'many')} {plural}"


def _listed(things: Sequence[str]) -> str:
    """``things`` as a list in a sentence.

    >>> _listed(["a boat", "two trees", "the sea"])
    'a boat, two trees and the sea'
    """
    return f"{', '.join(things[:-1])} and {things[-1]}" if len(things) > 1 else things[0]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]

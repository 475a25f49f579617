"""Fields of the query language that ask what a file says of its picture, or where it stands, and need no model.

Each field has one function, which reads the value and gives the pictures that meet it: ``date:2019..2021``,
``rating:>=3``, ``place:norway``. A value that cannot be read is refused before anything is searched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from visterm.collection.facts import UNKNOWN_TIME, Coded, Facts, seconds_of
from visterm.collection.filters import By, Filters
from visterm.geography import Gazetteer, kilometres
from visterm.language import unaccented

if TYPE_CHECKING:
    from visterm.collection.moment import Frame

Mask = NDArray[np.bool_]
#: ``near:`` means at most this far.
NEAR_KM = 1.0

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
#: The seasons of the north by their months; the south has them half a year later.
_SEASONS = {"spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11), "fall": (9, 10, 11), "winter": (12, 1, 2)}
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?", re.ASCII)
_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)(mp|mb)", re.ASCII)
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)", re.ASCII)
#: What people call countries besides their names and ISO 3166's two letters.
_COUNTRIES = {"usa": "US", "uk": "GB", "england": "GB", "holland": "NL", "uae": "AE"}
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, eq=False)
class Known:
    """What conditions are asked of: rows are the pictures of a collection that have a file.

    ``narrowed`` answers what depends on who said something; ``position`` gives a picture's latitude and longitude.
    """

    facts: Facts
    frame: Frame
    narrowed: Callable[[Filters], Mask]
    position: Callable[[str], tuple[float, float]]


Condition = Callable[[Known], Mask]


def condition(field: str, value: str) -> Condition:
    """The condition that ``field:value`` asks for; raises :class:`ValueError`, with what to write, for another value.

    >>> condition("rating", "many")
    Traceback (most recent call last):
      ...
    ValueError: write a number, a range or a comparison, as in rating:4, rating:3..5 or rating:>=3
    """
    return CONDITIONS[field](value)


def is_date(text: str) -> bool:
    """Whether a word alone is read as a date: a year, a month or a day."""
    return _DATE.fullmatch(text) is not None and "1800" <= text[:4] < "2200" and text[5:7] < "13"


def _date(value: str) -> Condition:
    word = value.casefold()
    if word in _SEASONS or word in _MONTHS:
        months = _SEASONS.get(word) or (_MONTHS.index(word) + 1,)
        return partial(_in_months, months=months, turns=word in _SEASONS)
    what = "a date, a range, a month or a season, as in date:2019, date:2019-07..2020 or date:summer"
    first, last = _range(word, _seconds, what)

    def mask(known: Known) -> Mask:
        earliest, latest = known.facts.seconds
        return np.asarray((earliest != UNKNOWN_TIME) & (earliest >= first) & (latest <= last))

    return mask


def _in_months(known: Known, months: tuple[int, ...], *, turns: bool) -> Mask:
    names = known.facts.months
    month_of = np.array([*(int(name[5:]) for name in names.names), 0])[names.codes]
    if turns:
        south = known.facts.numbers("latitude") < 0
        month_of = np.where(south & (month_of > 0), (month_of + 5) % 12 + 1, month_of)
    return np.isin(month_of, months)


def _seconds(text: str) -> tuple[float, float]:
    """The first and the last second of a year, a month or a day."""
    if not _DATE.fullmatch(text):
        raise ValueError(text)
    return seconds_of(text)


def _range(value: str, one: Callable[[str], tuple[float, float]], what: str) -> tuple[float, float]:
    """The least and the most of ``a``, ``a..b``, ``a..``, ``..b``, ``>=a``, ``>a``, ``<=a`` or ``<a``."""
    try:
        if ".." in value:
            low, _, high = value.partition("..")
            if not low and not high:
                raise ValueError(value)
            return one(low)[0] if low else -math.inf, one(high)[1] if high else math.inf
        sign = next((sign for sign in (">=", "<=", ">", "<") if value.startswith(sign)), "")
        least, most = one(value[len(sign) :].strip())
    except ValueError as error:
        raise ValueError(f"write {what}") from error
    match sign:
        case ">=":
            return least, math.inf
        case ">":
            return math.nextafter(most, math.inf), math.inf
        case "<=":
            return -math.inf, most
        case "<":
            return -math.inf, math.nextafter(least, -math.inf)
        case _:
            return least, most


def _plain_number(text: str) -> tuple[float, float]:
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text), float(text)


def _numbers(value: str, column: str, example: str) -> Condition:
    alone, between_two, compared = (example.format(value) for value in ("4", "3..5", ">=3"))
    what = f"a number, a range or a comparison, as in {alone}, {between_two} or {compared}"
    least, most = _range(value, _plain_number, what)
    return lambda known: between(known.facts.numbers(column), least, most)


def _size(value: str) -> Condition:
    """Millions of pixels (``mp``) or of bytes (``mb``)."""
    units = {text[-2:] for text in re.findall(r"[a-z]+", value.casefold())}

    def one(text: str) -> tuple[float, float]:
        found = _SIZE.fullmatch(text)
        if found is None or len(units) > 1:
            raise ValueError(text)
        return float(found[1]) * 1e6, float(found[1]) * 1e6

    what = "a range or a comparison in mp (million pixels) or mb (million bytes), as in size:>12mp or size:2mb..5mb"
    least, most = _range(value.casefold(), one, what)
    if least == most:
        raise ValueError(f"write {what}")
    return lambda known: between(pixels(known.facts) if units == {"mp"} else known.facts.numbers("bytes"), least, most)


def pixels(facts: Facts) -> NDArray[np.float64]:
    """How many pixels each picture has."""
    return facts.numbers("width") * facts.numbers("height")


def between(column: NDArray[np.float64], least: float, most: float) -> Mask:
    """Where a column is known and in a range."""
    return np.asarray((column >= least) & (column <= most))  # NaN is in no range


def _orientation(value: str) -> Condition:
    shapes: dict[str, Callable[[Any, Any], Any]] = {"landscape": np.greater, "portrait": np.less, "square": np.equal}
    if value.casefold() not in shapes:
        raise ValueError(f"write one of {', '.join(shapes)}")
    compared = shapes[value.casefold()]
    return lambda known: np.asarray(compared(known.facts.numbers("width"), known.facts.numbers("height")))


def _text(value: str, column: str) -> Condition:
    """Pictures whose text has all words of the value, whatever their capitals and accents."""
    words = set(_WORDS.findall(_key(value)))
    return lambda known: known.facts.texts(column).where(lambda text: words.issubset(_WORDS.findall(_key(text))))


def _place(value: str) -> Condition:
    wanted, code = " ".join(_WORDS.findall(_key(value))), _COUNTRIES.get(value.casefold(), value.upper())

    def fits(name: str) -> bool:
        return f" {wanted} " in f" {' '.join(_WORDS.findall(_key(name)))} "

    def mask(known: Known) -> Mask:
        map_of, places = Gazetteer.open(), known.facts.places
        countries = zip(map_of.countries, map_of.codes, strict=True)
        is_country = [fits(name) or own == code for name, own in countries]
        found = np.array([*is_country, False])[places.countries]
        for names, codes in ((map_of.regions, places.regions), (map_of.towns, places.towns)):
            found |= Coded(names, codes).where(fits)
        return np.asarray(found)

    return mask


def _near(value: str) -> Condition:
    def mask(known: Known) -> Mask:
        facts = known.facts
        distance = kilometres(facts.numbers("latitude"), facts.numbers("longitude"), *known.position(value))
        return between(distance, 0.0, NEAR_KM)

    return mask


def _folder(value: str) -> Condition:
    wanted = value.strip("/").casefold() if value not in ("/", ".") else ""

    def mask(known: Known) -> Mask:
        names, numbers = known.frame.folders
        below = f"{wanted}/" if wanted else ""
        held = [name.casefold() == wanted or name.casefold().startswith(below) for name in names]
        return np.array(held, np.bool_)[numbers]

    return mask


def _by(value: str) -> Condition:
    found = next((by for by in get_args(By) if by == value.casefold()), None)
    if found is None:
        raise ValueError(f"write one of {', '.join(get_args(By))}")
    return lambda known: known.narrowed(Filters(by=found))


def _suggested(value: str) -> Condition:
    return lambda known: known.narrowed(Filters(suggested_tag=value))


def _pick(value: str) -> Condition:
    flags = {"yes": 1.0, "no": -1.0}
    if value.casefold() not in flags:
        raise ValueError("write pick:yes for picked pictures, or pick:no for rejected ones")
    flag = flags[value.casefold()]
    return lambda known: between(known.facts.numbers("pick"), flag, flag)


def _key(text: str) -> str:
    return unaccented(text.casefold())


#: The fields, each with what reads its value.
CONDITIONS: dict[str, Callable[[str], Condition]] = {
    "date": _date,
    "place": _place,
    "near": _near,
    "camera": partial(_text, column="camera"),
    "lens": partial(_text, column="lens"),
    "iso": partial(_numbers, column="iso", example="iso:{}"),
    "rating": partial(_numbers, column="rating", example="rating:{}"),
    "colour": partial(_text, column="colour"),
    "pick": _pick,
    "title": partial(_text, column="title"),
    "creator": partial(_text, column="creator"),
    "orientation": _orientation,
    "size": _size,
    "folder": _folder,
    "by": _by,
    "suggested": _suggested,
}
#: Fields whose answer changes without a change of the collection.
UNSTEADY = frozenset({"by", "suggested"})

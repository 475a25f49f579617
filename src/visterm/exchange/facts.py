"""Metadata as blocks of any kind write them, made one: times, zones, positions, names of cameras, ratings.

A value that is unknown by the standard's own words (0/0, blanks in place of digits, rating 0) is left out. A value that
cannot be what it should be is left out, too, and a :class:`Problem` tells which: nothing is guessed.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from visterm.catalogue.metadata import COLUMNS, Metadata
from visterm.catalogue.records import Region

#: What a camera writes while a file is made; of these, a camera's own block is believed before others.
_BY_CAMERA = {"taken", "zone", "latitude", "longitude", "camera", "lens", "exposure", "aperture", "iso", "focal_length"}
#: What belongs together, so that no half of it comes from another block.
_TOGETHER = (("taken", "zone"), ("latitude", "longitude"))
_MAX_TEXT = 1000
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_TIME = re.compile(
    r"(\d{4})(?:[-:./](\d\d)(?:[-:./](\d\d)(?:[ T]+(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?)?)?\s*(Z|[-+]\d.*)?",
    re.IGNORECASE,
)
#: Blanks in place of digits, as EXIF has them where a time is not known.
_BLANK = re.compile(r"[\s:0]*")
_BLANK_HOURS = re.compile(r"[ T]+[\s:]*$")
_ZONE = re.compile(r"([-+])(\d\d?)(?::?(\d\d))?")
_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)")
_FRACTION = re.compile(r"([-+]?\d+)\s*/\s*([-+]?\d+)")


class Problem(NamedTuple):
    """A value that was left out: which one it is, and what stands there."""

    what: str
    value: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The metadata of one block. ``regions`` are shares of the picture as it is stored, from 0 to 1."""

    metadata: Metadata = field(default_factory=Metadata)
    regions: tuple[Region, ...] = ()
    problems: tuple[Problem, ...] = ()


class Gathering:
    """Gathers the metadata of a ``block``, such as EXIF; the first usable value of each field counts."""

    def __init__(self, block: str) -> None:
        self._block = block
        self._found: dict[str, Any] = {}
        self.problems: list[Problem] = []

    def take(self, name: str, what: str, value: Any, clean: Callable[[Any], Any]) -> None:
        """Note the field ``name`` from the property ``what``, unless it is absent, unknown or known already."""
        if value is None or name in self._found:
            return
        with self.noticing(what, value):
            cleaned = clean(value)
            if cleaned is not None:
                self._found[name] = cleaned

    def take_time(self, what: str, text: str | None, *, parts: str = "", zone: str | None = None) -> None:
        """Note when the picture was taken; ``parts`` of seconds and the ``zone`` may stand apart from it."""
        if text is None or "taken" in self._found:
            return
        with self.noticing(what, text):
            taken, own_zone = read_time(text)
            if taken is None:
                return
            has_parts = len(taken) == len("2019-07-14T12:30:05") and parts.strip().isascii() and parts.strip().isdigit()
            self._found["taken"] = f"{taken}.{parts.strip()[:6]}" if has_parts else taken
            if own_zone:
                self.take("zone", f"{what} zone", own_zone, read_zone)
            self.take("zone", f"{what} zone", zone, read_zone)

    def noticing(self, what: str, value: object) -> "_Noticing":
        """A context in which a :class:`ValueError` means that ``value`` is no ``what``."""
        return _Noticing(self.problems, f"{self._block} {what}", value)

    def facts(self, regions: Iterable[Region] = ()) -> Facts:
        """All that was gathered; half a position is none."""
        found = {name: self._found[name] for name in COLUMNS if name in self._found}
        if not {"latitude", "longitude"} <= found.keys():
            found = {name: value for name, value in found.items() if name not in ("latitude", "longitude")}
        return Facts(Metadata(**found), tuple(regions), tuple(self.problems))


class _Noticing:
    """Turns errors of values into problems."""

    def __init__(self, problems: list[Problem], what: str, value: object) -> None:
        self._problems, self._what, self._value = problems, what, value

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        is_value = isinstance(error, ValueError | OverflowError)
        if is_value:
            self._problems.append(Problem(self._what, _shown(self._value)))
        return is_value


def merged(beside: Sequence[Facts], inside: Sequence[Facts]) -> Metadata:
    """The metadata of a picture from its sidecars and from the blocks inside, of which EXIF is the last.

    Sidecars count first. Of the blocks inside, EXIF is believed first in what the camera knows, and last in what people
    wrote.
    """
    places = [facts.metadata for facts in (*beside, *inside)]
    by_camera = [facts.metadata for facts in (*beside, *inside[-1:], *inside[:-1])]
    found: dict[str, Any] = {}
    for name in COLUMNS:
        order = by_camera if name in _BY_CAMERA else places
        found[name] = next((value for each in order if (value := getattr(each, name)) is not None), None)
    for names in _TOGETHER:
        first = next((each for each in by_camera if getattr(each, names[0]) is not None), Metadata())
        found |= {name: getattr(first, name) for name in names}
    if found["zone"] is None and found["taken"] is not None:  # the same time, and its zone, in another place
        same = (each.zone for each in places if (each.taken or "")[:19] == found["taken"][:19])
        found["zone"] = next((zone for zone in same if zone is not None), None)
    return Metadata(**found)


def read_time(text: str) -> tuple[str | None, str | None]:
    """A time in ISO format as far as it is known, and the zone that stands behind it.

    >>> read_time("2019:07:14 12:30:05"), read_time("2019-07-14T12:30+02:00"), read_time("2019:07:00 00:00:00")
    (('2019-07-14T12:30:05', None), ('2019-07-14T12:30', '+02:00'), ('2019-07', None))
    >>> read_time("    :  :     :  :  "), read_time("0000:00:00 00:00:00")
    ((None, None), (None, None))
    """
    text = _BLANK_HOURS.sub("", text.strip(" \0"))
    if _BLANK.fullmatch(text):
        return None, None
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute, second, parts, zone = found.groups()
    if month in (None, "00"):
        datetime(int(year), 1, 1)
        return year, None
    if day in (None, "00"):
        datetime(int(year), int(month), 1)
        return f"{year}-{month}", None
    datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    taken = f"{year}-{month}-{day}"
    if hour is not None:
        taken += f"T{hour}:{minute}" + (f":{second}" if second else "") + (f".{parts[:6]}" if parts else "")
    return taken, zone


def read_zone(text: str) -> int | None:
    """The minutes by which a zone is ahead of UTC.

    >>> read_zone("+05:45"), read_zone("-0330"), read_zone("Z"), read_zone("   :  ")
    (345, -210, 0, None)
    """
    text = text.strip(" \0")
    if not text.strip(": "):
        return None
    if text in ("Z", "z"):
        return 0
    found = _ZONE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    minutes = 60 * int(found[2]) + int(found[3] or 0)
    if minutes > 14 * 60 or int(found[3] or 0) > 59:
        raise ValueError(text)
    return -minutes if found[1] == "-" else minutes


def degrees(parts: list[float], reference: str, signs: str) -> float | None:
    """The degrees of a latitude or longitude from degrees, minutes and seconds; None if they are not known.

    ``signs`` are ``NS`` or ``EW``, of which ``reference`` says one; nobody knows the side without it.

    >>> degrees([60, 23, 30], "N", "NS"), degrees([5.5], "w", "EW")
    (60.391667, -5.5)
    """
    if not parts or any(map(math.isnan, parts)):
        return None
    sign = reference.strip(" \0").upper()[:1]
    value = sum(part / 60**place for place, part in enumerate(parts[:3]))
    if not sign or sign not in signs or not math.isfinite(value) or min(parts) < 0 or max([0, *parts[1:3]]) > 60:
        raise ValueError(parts)
    if value > (90 if signs == "NS" else 180):
        raise ValueError(parts)
    return round(-value if sign == signs[1] else value, 6)


def camera_name(make: str | None, model: str | None) -> str | None:
    """The name of a camera, with its maker once.

    >>> camera_name("NIKON CORPORATION", "NIKON D90"), camera_name("Apple", "iPhone 8"), camera_name(None, None)
    ('NIKON D90', 'Apple iPhone 8', None)
    """
    if not (make and model):
        return model or make
    return model if model.casefold().split()[0] == make.casefold().split()[0] else f"{make} {model}"


def plain_text(text: str) -> str | None:
    """A text in one line, without control characters; None if nothing is left."""
    return " ".join(_CONTROL.sub(" ", text).split())[:_MAX_TEXT] or None


def number_of(text: str) -> float | None:
    """The number that a text is: ``2.8``, ``28/10``; None for 0/0.

    >>> number_of("1/250"), number_of("2.8"), number_of("0/0")
    (0.004, 2.8, None)
    """
    text = text.strip()
    if fraction := _FRACTION.fullmatch(text):
        above, below = int(fraction[1]), int(fraction[2])
        if below == 0 and above != 0:
            raise ValueError(text)
        return above / below if below else None
    if not _DECIMAL.fullmatch(text):
        raise ValueError(text)
    return float(text)


def positive(number: float | None) -> float | None:
    """A number above 0, in seven digits; 0 and 0/0 are not known."""
    if number is None or number == 0 or math.isnan(number):
        return None
    if not 0 < number < 1e9:
        raise ValueError(number)
    return float(f"{number:.7g}")


def whole(number: float | None) -> int | None:
    """A positive number without a fraction; 65535 says that it is too large for its field."""
    known = positive(number)
    if known is not None and known != int(known):
        raise ValueError(number)
    return None if known in (None, 65535) else int(known or 0)


def rating(number: float | None) -> int | None:
    """A rating from 1 to 5, or -1 for a rejected picture; 0 means that nobody rated it."""
    if number is None or number == 0:
        return None
    if number not in (-1, 1, 2, 3, 4, 5):
        raise ValueError(number)
    return int(number)


def without_null_island(facts: Facts) -> Facts:
    """The facts without a position of exactly 0, 0: what receivers write that have none."""
    said = facts.metadata
    if (said.latitude, said.longitude) != (0, 0):
        return facts
    problem = Problem("position", "0, 0")
    return replace(facts, metadata=replace(said, latitude=None, longitude=None), problems=(*facts.problems, problem))


def _shown(value: object) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return plain_text(text) or repr(text)

"""Metadata in an XMP packet, besides its labels: the schemas of EXIF, TIFF, Photoshop, digiKam and the MWG."""

from collections.abc import Iterator
from functools import partial
from xml.etree.ElementTree import Element

from visterm.catalogue.records import Region
from visterm.exchange.facts import (
    Facts,
    Gathering,
    camera_name,
    degrees,
    number_of,
    plain_text,
    positive,
    rating,
    whole,
    without_null_island,
)
from visterm.exchange.xmp_tree import DC, RDF, items, preferred_language, text_of

EXIF, TIFF = "http://ns.adobe.com/exif/1.0/", "http://ns.adobe.com/tiff/1.0/"
_EXIF_EX, _AUX = "http://cipa.jp/exif/1.0/", "http://ns.adobe.com/exif/1.0/aux/"
_XMP, _PHOTOSHOP = "http://ns.adobe.com/xap/1.0/", "http://ns.adobe.com/photoshop/1.0/"
_DYNAMIC, _DIGIKAM = "http://ns.adobe.com/xmp/1.0/DynamicMedia/", "http://www.digikam.org/ns/1.0/"
_REGIONS = "http://www.metadataworkinggroup.com/schemas/regions/"
_AREA = "http://ns.adobe.com/xmp/sType/Area#"
#: digiKam's colour labels by their number, and its marks for picked and rejected pictures.
_COLOURS = (None, "Red", "Orange", "Yellow", "Green", "Blue", "Magenta", "Gray", "Black", "White")
_PICKS = {"1": -1, "2": None, "3": 1, "0": None}


def xmp_facts(descriptions: list[Element]) -> Facts:
    """The metadata in the properties of a packet."""

    def text(namespace: str, name: str) -> str | None:
        return next(filter(None, map(text_of, items(descriptions, namespace, name))), None)

    found = Gathering("XMP")
    for namespace, name in ((EXIF, "DateTimeOriginal"), (_PHOTOSHOP, "DateCreated"), (_XMP, "CreateDate")):
        found.take_time(name, text(namespace, name), zone=text(EXIF, "OffsetTimeOriginal"))
    for name, which, signs in (("latitude", "GPSLatitude", "NS"), ("longitude", "GPSLongitude", "EW")):
        found.take(name, which, text(EXIF, which), partial(_degrees, signs=signs))
    make, model = (plain_text(text(TIFF, name) or "") for name in ("Make", "Model"))
    found.take("camera", "Model", camera_name(make, model), plain_text)
    for namespace, name in ((_EXIF_EX, "LensModel"), (_AUX, "Lens"), (_AUX, "LensModel")):
        found.take("lens", name, text(namespace, name), plain_text)
    found.take("exposure", "ExposureTime", text(EXIF, "ExposureTime"), lambda value: positive(number_of(value)))
    found.take("aperture", "FNumber", text(EXIF, "FNumber"), lambda value: positive(number_of(value)))
    found.take("focal_length", "FocalLength", text(EXIF, "FocalLength"), lambda value: positive(number_of(value)))
    for namespace, name in ((_EXIF_EX, "PhotographicSensitivity"), (EXIF, "ISOSpeedRatings")):
        found.take("iso", name, text(namespace, name), lambda value: whole(number_of(value)))
    found.take("rating", "Rating", text(_XMP, "Rating"), lambda value: rating(number_of(value)))
    found.take("colour", "Label", text(_XMP, "Label"), plain_text)
    found.take("colour", "ColorLabel", text(_DIGIKAM, "ColorLabel"), _colour)
    found.take("pick", "pick", text(_DYNAMIC, "pick"), _pick)
    found.take("pick", "PickLabel", text(_DIGIKAM, "PickLabel"), _digikam_pick)
    found.take("title", "title", preferred_language(list(items(descriptions, DC, "title"))), plain_text)
    creators = [plain_text(text_of(item)) for item in items(descriptions, DC, "creator")]
    found.take("creator", "creator", "; ".join(filter(None, creators)), plain_text)
    found.take("copyright", "rights", preferred_language(list(items(descriptions, DC, "rights"))), plain_text)
    return without_null_island(found.facts(_regions(descriptions, found)))


def _degrees(value: str, signs: str) -> float | None:
    """The degrees of ``60,23.5N`` or ``60,23,30N``."""
    value = value.strip()
    parts = [number_of(part) for part in value[:-1].split(",")]
    known = [part for part in parts if part is not None]
    return degrees(known, value[-1:], signs)


def _colour(value: str) -> str | None:
    number = int(value)
    if not 0 <= number < len(_COLOURS):
        raise ValueError(value)
    return _COLOURS[number]


def _pick(value: str) -> int | None:
    number = int(value)
    if number not in (-1, 0, 1):
        raise ValueError(value)
    return number or None


def _digikam_pick(value: str) -> int | None:
    if value not in _PICKS:
        raise ValueError(value)
    return _PICKS[value]


def _regions(descriptions: list[Element], found: Gathering) -> Iterator[Region]:
    """The named regions, as shares of the picture as it is stored."""
    for description in descriptions:
        for regions in description.iterfind(f"{{{_REGIONS}}}Regions"):
            for item in regions.iter(f"{{{RDF}}}li"):
                name = plain_text(_part(item, _REGIONS, "Name") or "")
                if name is None:
                    continue
                box = [_part(item, _AREA, part) for part in ("x", "y", "w", "h", "unit")]
                with found.noticing("region", f"{name} {box}"):
                    yield _region(name, box)


def _region(name: str, box: list[str | None]) -> Region:
    *texts, unit = box
    if None in texts or (unit or "normalized") != "normalized":
        raise ValueError(box)
    x, y, width, height = (float(text or "") for text in texts)
    left, top, right, bottom = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    slack = 1e-3
    if not (-slack <= left < right <= 1 + slack and -slack <= top < bottom <= 1 + slack):
        raise ValueError(box)
    return Region(name, max(0.0, left), max(0.0, top), min(1.0, right), min(1.0, bottom))


def _part(item: Element, namespace: str, name: str) -> str | None:
    """A member of a structure, in whichever of its elements and forms it is written."""
    key = f"{{{namespace}}}{name}"
    for element in item.iter():
        if key in element.attrib:
            return element.attrib[key]
        if element.tag == key:
            return text_of(element)
    return None

"""XML files that annotate one picture each: shared by Pascal VOC and LabelMe."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from xml.etree.ElementTree import Element as Element

from visterm.catalogue.records import Reading
from visterm.errors import InputError
from visterm.exchange.readers._files import walk
from visterm.storage.opening import read_regular

#: A larger annotation file is refused.
MAX_BYTES = 2**24
#: How many files of a folder are opened to recognise its format.
_PROBED = 5


def annotation_files(path: Path, reading: Reading) -> Iterator[tuple[Path, Element]]:
    """Each annotation file at or under ``path``, with its root element.

    In a folder, files that are not annotations are skipped with the reason. A folder without .xml files is refused.
    """
    if path.is_file():
        yield path, parse_annotation(path)
        return
    n_files = 0
    for file in _xml_files(path, reading):
        n_files += 1
        try:
            root = parse_annotation(file)
        except InputError as error:
            reading.skip(file.relative_to(path).as_posix(), str(error))
            continue
        yield file, root
    if not n_files:
        raise InputError(f"{path} has no .xml files: expected one annotation file for each picture")


def parse_annotation(path: Path) -> Element:
    """The root element, ``<annotation>``, of an XML file; entities and external references are refused."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        root: Element = fromstring(read_regular(path, MAX_BYTES)[0])
    except DefusedXmlException as error:
        raise InputError(f"refused for safety: {type(error).__name__}") from None
    except (ParseError, LookupError, ValueError) as error:
        raise InputError(f"not valid XML: {error}") from None
    if root.tag != "annotation":
        raise InputError(f"expected an <annotation> element, found <{root.tag:.40}>")
    return root


def first_annotation(path: Path) -> Element | None:
    """The first annotation with an object among the first few files at ``path``, to recognise the format."""
    if path.is_file() and path.suffix.lower() != ".xml":
        return None
    for file in islice(_xml_files(path) if path.is_dir() else [path], _PROBED):
        try:
            root = parse_annotation(file)
        except InputError:
            continue
        if root.find("object") is not None:
            return root
    return None


def text_at(element: Element, tag: str) -> str | None:
    """The stripped text of the child ``tag``; None if there is none."""
    text = element.findtext(tag)
    return text.strip() if text and text.strip() else None


def _xml_files(folder: Path, reading: Reading | None = None) -> Iterator[Path]:
    for parent, names in walk(folder, reading):
        yield from (parent / name for name in names if name.lower().endswith(".xml"))

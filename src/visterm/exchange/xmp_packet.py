"""Reads tags, class and caption from an XMP packet, whichever program wrote it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from visterm.errors import InputError

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DC = "http://purl.org/dc/elements/1.1/"
LIGHTROOM = "http://ns.adobe.com/lightroom/1.0/"
DIGIKAM = "http://www.digikam.org/ns/1.0/"
XML = "http://www.w3.org/XML/1998/namespace"
#: Visterm's own properties: the class, and a record of the keywords and caption it wrote itself.
VISTERM = "urn:visterm:1.0:"

#: Larger packets are not read: real ones take kilobytes.
MAX_BYTES = 16 * 2**20
#: Packets with more elements are not read, so that a small file of empty elements cannot fill the memory.
MAX_ELEMENTS = 100_000

#: Tag properties whose items are paths from the widest term to the narrowest, and the separator of the terms.
_HIERARCHIES = ((LIGHTROOM, "hierarchicalSubject", "|"), (DIGIKAM, "TagsList", "/"))
#: Visterm's records of keywords that are no tags.
_NO_TAGS = ("classKeywords", "suggestions", "hierarchy")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class PacketLabels:
    """The tags, class and caption of one picture, without surrounding white space.

    ``catalogue`` is the catalogue of Visterm that wrote the packet, and ``own_tags`` are the tags that it wrote.
    """

    tags: tuple[str, ...] = ()
    class_name: str | None = None
    caption: str | None = None
    catalogue: str | None = field(default=None, compare=False, repr=False)
    own_tags: tuple[str, ...] = field(default=(), compare=False, repr=False)


def read_packet(packet: bytes) -> PacketLabels:
    """The labels in ``packet``; raises :class:`InputError` if it is not usable XMP.

    Tags are the union of ``dc:subject``, ``lr:hierarchicalSubject`` and ``digiKam:TagsList``. An item of the first is
    one tag, whatever characters it contains. An item of the other two is a path; each of its terms becomes a tag.
    digiKam separates terms by ``/`` and has no escape for it: a digiKam tag named "24/7" is read as "24" and "7".
    Keywords that Visterm wrote for a class or for a model's suggestion are no tags.

    >>> packet = f'''<r:RDF xmlns:r="{RDF}" xmlns:dc="{DC}" xmlns:lr="{LIGHTROOM}"><r:Description>
    ...   <dc:subject><r:Bag><r:li>Rome</r:li><r:li>sun, sea</r:li></r:Bag></dc:subject>
    ...   <lr:hierarchicalSubject><r:Bag><r:li>Places|Italy|Rome</r:li></r:Bag></lr:hierarchicalSubject>
    ... </r:Description></r:RDF>'''.encode()
    >>> read_packet(packet).tags
    ('Rome', 'sun, sea', 'Places', 'Italy')
    """
    descriptions = _descriptions(_parse(packet))

    def written(name: str) -> tuple[str, ...]:
        return tuple(filter(None, map(_text, _items(descriptions, VISTERM, name))))

    ours = {text for name in _NO_TAGS for text in written(name)}
    tags = [text for item in _items(descriptions, DC, "subject") if (text := _text(item)) not in ours]
    for namespace, name, separator in _HIERARCHIES:
        for item in _items(descriptions, namespace, name):
            if (path := _text(item)) not in ours:
                tags += map(str.strip, path.split(separator))
    return PacketLabels(
        tags=tuple(dict.fromkeys(filter(None, tags))),
        class_name=next(iter(written("class")), None),
        caption=_preferred_language(list(_items(descriptions, DC, "description"))),
        catalogue=next(iter(written("catalogue")), None),
        own_tags=written("tags"),
    )


def trim_packet(packet: bytes) -> bytes:
    """``packet`` without the padding that some programs leave around it and that an XML parser would refuse."""
    if len(packet) > MAX_BYTES:
        raise InputError(f"the XMP has {len(packet) / 2**20:.0f} MiB; at most {MAX_BYTES // 2**20} MiB are allowed")
    return packet if packet.startswith(_UTF16_MARKS) else packet.strip(b"\0 \t\r\n")


class _BoundedBuilder(TreeBuilder):
    """Builds at most :data:`MAX_ELEMENTS` elements."""

    def __init__(self) -> None:
        super().__init__()
        self._left = MAX_ELEMENTS

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self._left -= 1
        if self._left < 0:
            raise InputError(f"the XML has more than {MAX_ELEMENTS} elements")
        return super().start(tag, attrs)


def _parse(packet: bytes) -> Element:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import XMLParser

    parser = XMLParser(target=_BoundedBuilder(), forbid_dtd=True)
    try:
        parser.feed(trim_packet(packet))
        root: Element = parser.close()
    except InputError:
        raise
    except DefusedXmlException as error:
        raise InputError("its XML declares a document type or entities, which XMP never needs") from error
    except (ParseError, ValueError, LookupError) as error:
        raise InputError(f"not well-formed XML: {error}") from error
    return root


def _descriptions(root: Element) -> list[Element]:
    blocks = list(root.iter(f"{{{RDF}}}RDF"))
    if not blocks:
        raise InputError("not an XMP packet: it has no rdf:RDF element")
    return [description for block in blocks for description in block]


def _items(descriptions: list[Element], namespace: str, name: str) -> Iterator[Element]:
    """The items of an array property, or the property itself if it is plain text or an attribute."""
    key = f"{{{namespace}}}{name}"
    for description in descriptions:
        if key in description.attrib:
            item = Element(key)
            item.text = description.attrib[key]
            yield item
        for value in description.iterfind(key):
            yield from value.findall(f"*/{{{RDF}}}li") or [value]


def _text(item: Element) -> str:
    value = item.find(f".//{{{RDF}}}value")  # present if the item has qualifiers
    return "".join((item if value is None else value).itertext()).strip()


def _preferred_language(alternatives: list[Element]) -> str | None:
    """The text of the default language, or else the first text."""
    alternatives.sort(key=lambda item: item.get(f"{{{XML}}}lang") != "x-default")
    return next(filter(None, map(_text, alternatives)), None)

"""The tree of an XMP packet, and its properties in whatever form a program wrote them."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from visterm.errors import InputError

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DC = "http://purl.org/dc/elements/1.1/"
XML = "http://www.w3.org/XML/1998/namespace"

#: Larger packets are not read: real ones take kilobytes.
MAX_BYTES = 16 * 2**20
#: Packets with more elements are not read, so that a small file of empty elements cannot fill the memory.
MAX_ELEMENTS = 100_000

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


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


def parse_packet(packet: bytes) -> Element:
    """The root of a packet; raises :class:`InputError` if it is not well-formed, harmful, or too large."""
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


def descriptions_of(root: Element) -> list[Element]:
    """The elements that hold the properties."""
    blocks = list(root.iter(f"{{{RDF}}}RDF"))
    if not blocks:
        raise InputError("not an XMP packet: it has no rdf:RDF element")
    return [description for block in blocks for description in block]


def items(descriptions: list[Element], namespace: str, name: str) -> Iterator[Element]:
    """The items of an array property, or the property itself if it is plain text or an attribute."""
    key = f"{{{namespace}}}{name}"
    for description in descriptions:
        if key in description.attrib:
            item = Element(key)
            item.text = description.attrib[key]
            yield item
        for value in description.iterfind(key):
            yield from value.findall(f"*/{{{RDF}}}li") or [value]


def text_of(item: Element) -> str:
    """The text of an item, without its qualifiers."""
    value = item.find(f".//{{{RDF}}}value")  # present if the item has qualifiers
    return "".join((item if value is None else value).itertext()).strip()


def preferred_language(alternatives: list[Element]) -> str | None:
    """The text of the default language, or else the first text."""
    alternatives.sort(key=lambda item: item.get(f"{{{XML}}}lang") != "x-default")
    return next(filter(None, map(text_of, alternatives)), None)

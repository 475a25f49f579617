"""Merges labels into an XMP packet: what other programs wrote stays, what Visterm wrote earlier is updated.

The packet is edited as a document, so that elements, namespaces and their prefixes, comments, processing instructions
and unknown properties stay as they are. Visterm records what it added, and removes or changes only that:
``visterm:tags``, ``visterm:classKeywords`` and ``visterm:suggestions`` name its items in ``dc:subject``,
``visterm:hierarchy`` those in ``lr:hierarchicalSubject``; ``visterm:caption`` and ``visterm:title`` repeat its texts.
``visterm:catalogue`` names the catalogue that wrote them.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TypeGuard
from xml.dom.minidom import Document, Element, Node, Text
from xml.parsers.expat import ExpatError

from visterm.errors import InputError
from visterm.exchange.xmp_packet import LIGHTROOM, VISTERM, PacketLabels, read_packet
from visterm.exchange.xmp_tree import DC, RDF, XML, trim_packet

_XMLNS = "http://www.w3.org/2000/xmlns/"
_PREFIXES = {RDF: "rdf", DC: "dc", LIGHTROOM: "lr", VISTERM: "visterm"}
_NEW_PACKET = f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="{RDF}">
  <rdf:Description rdf:about="" xmlns:dc="{DC}" xmlns:visterm="{VISTERM}">
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


def merge_packet(
    packet: bytes | None,
    labels: PacketLabels,
    *,
    hierarchy: str | None = None,
    suggestions: Sequence[str] = (),
    edited: Container[str] = (),
) -> bytes:
    """``packet`` (None: a new one) with ``labels`` merged in; the same bytes if it already has these labels.

    The class is also a keyword, so that photo programs show it; with ``hierarchy`` it is one below that keyword, too.
    ``suggestions`` of models are keywords that :func:`~visterm.exchange.xmp_packet.read_packet` does not read. The
    ``caption`` or ``title`` that another program wrote stays, unless it was ``edited`` by a person since.

    Raises :class:`InputError` if the packet is not valid XMP.

    >>> packet = merge_packet(None, PacketLabels(tags=("boat", "sea"), class_name="harbour"))
    >>> read_packet(packet)
    PacketLabels(tags=('boat', 'sea'), class_name='harbour', caption=None)
    >>> read_packet(merge_packet(packet, PacketLabels(tags=("sea", "quay")))).tags
    ('sea', 'quay')
    """
    from defusedxml.minidom import parseString

    if packet is None:
        packet = _NEW_PACKET.encode()
    read_packet(packet)  # refuses a packet that is malformed, harmful or too large
    try:
        document: Document = parseString(trim_packet(packet), forbid_dtd=True)
    except (ExpatError, ValueError) as error:  # a space in the address of a namespace
        raise InputError(f"its XML cannot be edited: {error}") from error
    before = _serialise(document)
    properties = _Properties(document)
    class_names = [labels.class_name] if labels.class_name else []
    keywords = {"tags": labels.tags, "classKeywords": class_names, "suggestions": suggestions}
    _merge_items(properties, DC, "subject", keywords)
    paths = [f"{hierarchy}|{name}" for name in class_names] if hierarchy else []
    _merge_items(properties, LIGHTROOM, "hierarchicalSubject", {"hierarchy": paths})
    _merge_text(properties, "description", "caption", labels.caption, edited)
    _merge_text(properties, "title", "title", labels.title, edited)
    properties.set_text(VISTERM, "class", labels.class_name)
    wrote = labels.class_name or properties.items(VISTERM, "tags")
    properties.set_text(VISTERM, "catalogue", labels.catalogue if wrote else None)
    after = _serialise(document)
    return packet if after == before else after.encode()


def _merge_items(properties: "_Properties", namespace: str, name: str, texts: Mapping[str, Sequence[str]]) -> None:
    """Make ``texts`` items of an array property; each of Visterm's records names those it added (the first counts)."""
    wanted: dict[str, str] = {}
    for record, items in texts.items():
        for text in items:
            wanted.setdefault(text, record)
    written = {record: {_text(item) for item in properties.items(VISTERM, record)} for record in texts}
    earlier = set[str]().union(*written.values())
    present = properties.items(namespace, name)
    for item in present:
        if _text(item) in earlier and _text(item) not in wanted:
            properties.remove_item(item)
    known = {_text(item) for item in present} | set(properties.plain_values(namespace, name))
    added = [text for text in wanted if text not in known]
    properties.extend(namespace, name, added)
    for record in texts:
        ours = [text for text in wanted if wanted[text] == record and (text in earlier or text in added)]
        if set(ours) != written[record]:
            properties.remove(VISTERM, record)
            properties.extend(VISTERM, record, ours)


def _merge_text(properties: "_Properties", name: str, record: str, wanted: str | None, edited: Container[str]) -> None:
    """Make ``wanted`` the text of a property in the default language; Visterm's ``record`` repeats what it wrote."""
    written = next(iter(properties.plain_values(VISTERM, record)), None)
    items = sorted(properties.items(DC, name), key=lambda item: item.getAttribute("xml:lang") != "x-default")
    present = next(filter(None, map(_text, items)), None)
    is_plain = any(properties.plain_values(DC, name))
    if (is_plain or present not in (None, written)) and record not in edited:
        wanted = None  # keep what another program wrote
    elif wanted != present or is_plain:
        if is_plain:
            properties.remove(DC, name)
        for item in items:
            if _text(item) in ("", present):
                properties.remove_item(item)
        for item in properties.extend(DC, name, [wanted] if wanted else [], container="Alt"):
            item.setAttributeNS(XML, "xml:lang", "x-default")
    properties.set_text(VISTERM, record, wanted)


class _Properties:
    """The properties of the resource that an XMP document describes."""

    def __init__(self, document: Document) -> None:
        self._document = document
        blocks = [node for node in _descendants(document) if _is(node, RDF, "RDF")]
        self._descriptions = [description for block in blocks for description in _elements(block)]
        if not self._descriptions:
            description = self._append(blocks[0], RDF, "Description")
            description.setAttributeNS(RDF, f"{_prefix(description, RDF)}:about", "")
            self._descriptions = [description]

    def items(self, namespace: str, name: str) -> list[Element]:
        """The items of an array property."""
        return [item for array in self._arrays(namespace, name) for item in _elements(array) if _is(item, RDF, "li")]

    def plain_values(self, namespace: str, name: str) -> list[str]:
        """The values of a property that is written as plain text or as an attribute."""
        values = [
            description.getAttributeNS(namespace, name).strip()
            for description in self._descriptions
            if description.hasAttributeNS(namespace, name)
        ]
        return values + [_text(value) for value in self._values(namespace, name) if not list(_elements(value))]

    def set_text(self, namespace: str, name: str, text: str | None) -> None:
        """Make ``text`` the one plain value of a property (None: none)."""
        if self.plain_values(namespace, name) != ([text] if text else []):
            self.remove(namespace, name)
            if text:
                element = self._append(self._descriptions[0], namespace, name)
                element.appendChild(self._document.createTextNode(text))

    def remove(self, namespace: str, name: str) -> None:
        """Remove a property in every form."""
        for description in self._descriptions:
            if description.hasAttributeNS(namespace, name):
                description.removeAttributeNS(namespace, name)
        for value in self._values(namespace, name):
            _detach(value)

    def extend(self, namespace: str, name: str, texts: Sequence[str], *, container: str = "Bag") -> list[Element]:
        """Append items to an array property; it is created if absent, or made from plain values. Returns the items."""
        if not texts:
            return []
        array = next(iter(self._arrays(namespace, name)), None)
        if array is None:
            texts = [*filter(None, self.plain_values(namespace, name)), *texts]
            self.remove(namespace, name)
            array = self._append(self._append(self._descriptions[0], namespace, name), RDF, container)
        items = [self._append(array, RDF, "li") for _ in texts]
        for item, text in zip(items, texts, strict=True):
            item.appendChild(self._document.createTextNode(text))
        return items

    def remove_item(self, item: Element) -> None:
        """Remove an item of an array property; also the property if that was the last item."""
        array = item.parentNode
        assert isinstance(array, Element)  # noqa: S101 - items come out of arrays
        _detach(item)
        if not list(_elements(array)) and isinstance(array.parentNode, Element):
            _detach(array.parentNode)

    def _values(self, namespace: str, name: str) -> list[Element]:
        return [
            value
            for description in self._descriptions
            for value in _elements(description)
            if _is(value, namespace, name)
        ]

    def _arrays(self, namespace: str, name: str) -> list[Element]:
        return [array for value in self._values(namespace, name) for array in _elements(value)]

    def _append(self, parent: Element, namespace: str, name: str) -> Element:
        """Append a new child on a line of its own, indented like its siblings."""
        element = self._document.createElementNS(namespace, f"{_prefix(parent, namespace)}:{name}")
        depth = _depth(parent)
        first, last = parent.firstChild, parent.lastChild
        line = first.data if _is_blank(first) and any(_elements(parent)) else "\n" + " " * depth
        if not _is_blank(last):
            last = parent.appendChild(self._document.createTextNode("\n" + " " * (depth - 1)))
        parent.insertBefore(self._document.createTextNode(line), last)
        parent.insertBefore(element, last)
        return element


def _descendants(parent: Node) -> Iterator[Node]:
    """All nodes below ``parent`` in document order; unlike minidom's own search, it works at any depth."""
    todo = list(reversed(parent.childNodes))
    while todo:
        node = todo.pop()
        yield node
        todo += reversed(node.childNodes)


def _elements(parent: Node) -> Iterator[Element]:
    return (child for child in parent.childNodes if isinstance(child, Element))


def _is(node: Node, namespace: str, name: str) -> TypeGuard[Element]:
    return isinstance(node, Element) and (node.namespaceURI, node.localName) == (namespace, name)


def _text(item: Element) -> str:
    value = next((node for node in _descendants(item) if _is(node, RDF, "value")), item)
    return "".join(node.data for node in _descendants(value) if isinstance(node, Text)).strip()


def _detach(element: Element) -> None:
    """Remove ``element`` and the white space before it."""
    parent, before = element.parentNode, element.previousSibling
    if isinstance(parent, Element):
        parent.removeChild(element)
        if _is_blank(before):
            parent.removeChild(before)


def _is_blank(node: Node | None) -> TypeGuard[Text]:
    return isinstance(node, Text) and not node.data.strip()


def _depth(element: Element) -> int:
    depth, node = 0, element.parentNode
    while node is not None:
        depth, node = depth + 1, node.parentNode
    return depth


def _prefix(element: Element, namespace: str) -> str:
    """A prefix for ``namespace`` inside ``element``; it is declared there if there is none."""
    bound: dict[str, str] = {}
    node: Node | None = element
    while isinstance(node, Element):
        for attribute in node.attributes.values():
            if attribute.prefix == "xmlns" and attribute.localName is not None:
                bound.setdefault(attribute.localName, attribute.value)
        node = node.parentNode
    for prefix, meaning in bound.items():
        if meaning == namespace:
            return prefix
    prefix = _PREFIXES[namespace]
    while prefix in bound:
        prefix += "1"
    element.setAttributeNS(_XMLNS, f"xmlns:{prefix}", namespace)
    return prefix


def _serialise(document: Document) -> str:
    """The document as XML; unlike minidom's own, it works at any depth and keeps line breaks in attributes."""
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n'] if document.version else []
    todo: list[Node | str] = [part for child in reversed(document.childNodes) for part in ("\n", child)]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            parts.append(node)
        elif isinstance(node, Element):
            parts.append(f"<{node.tagName}")
            parts += [f' {name}="{_escape(value, _IN_ATTRIBUTE)}"' for name, value in node.attributes.items()]
            parts.append(">" if node.childNodes else "/>")
            if node.childNodes:
                todo.append(f"</{node.tagName}>")
                todo += reversed(node.childNodes)
        elif isinstance(node, Text):
            parts.append(_escape(node.data, _IN_TEXT))
        elif node.nodeType == Node.COMMENT_NODE:
            parts.append(f"<!--{node.nodeValue}-->")
        elif node.nodeType == Node.PROCESSING_INSTRUCTION_NODE:
            parts.append(f"<?{node.nodeName} {node.nodeValue}?>")
        else:
            raise InputError(f"its XML contains a {node.nodeName}, which XMP never needs")
    return "".join(parts)


_IN_TEXT = re.compile("[&<>\r]")
_IN_ATTRIBUTE = re.compile('[&<>"\r\n\t]')


def _escape(text: str, signs: re.Pattern[str]) -> str:
    return signs.sub(lambda match: _ESCAPES.get(match[0], f"&#{ord(match[0])};"), text)


_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}

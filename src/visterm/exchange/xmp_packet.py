"""Reads tags, class and caption from an XMP packet, whichever program wrote it."""

from dataclasses import dataclass, field

from visterm.exchange.facts import Facts
from visterm.exchange.xmp_facts import xmp_facts
from visterm.exchange.xmp_tree import (
    DC,
    descriptions_of,
    items,
    parse_packet,
    preferred_language,
    text_of,
)

LIGHTROOM = "http://ns.adobe.com/lightroom/1.0/"
DIGIKAM = "http://www.digikam.org/ns/1.0/"
#: Visterm's own properties: the class, and a record of the keywords and caption it wrote itself.
VISTERM = "urn:visterm:1.0:"

#: Tag properties whose items are paths from the widest term to the narrowest, and the separator of the terms.
_HIERARCHIES = ((LIGHTROOM, "hierarchicalSubject", "|"), (DIGIKAM, "TagsList", "/"))
#: Visterm's records of keywords that are no tags.
_NO_TAGS = ("classKeywords", "suggestions", "hierarchy")


@dataclass(frozen=True, slots=True)
class PacketLabels:
    """The tags, class and caption of one picture, without surrounding white space.

    ``catalogue`` is the catalogue of Visterm that wrote the packet, and ``own_tags`` are the tags that it wrote.
    ``facts`` are its other metadata. ``title`` is one to be written; one that was read is among the facts.
    """

    tags: tuple[str, ...] = ()
    class_name: str | None = None
    caption: str | None = None
    title: str | None = field(default=None, repr=False)
    catalogue: str | None = field(default=None, compare=False, repr=False)
    own_tags: tuple[str, ...] = field(default=(), compare=False, repr=False)
    facts: Facts = field(default_factory=Facts, compare=False, repr=False)


def read_packet(packet: bytes) -> PacketLabels:
    """The labels in ``packet``; raises :class:`InputError` if it is not usable XMP.

    Tags are the union of ``dc:subject``, ``lr:hierarchicalSubject`` and ``digiKam:TagsList``. An item of the first is
    one tag, whatever characters it contains. An item of the other two is a path; each of its terms becomes a tag.
    digiKam separates terms by ``/`` and has no escape for it: a digiKam tag named "24/7" is read as "24" and "7".
    Keywords that Visterm wrote for a class or for a model's suggestion are no tags.

    >>> from visterm.exchange.xmp_tree import RDF
    >>> packet = f'''<r:RDF xmlns:r="{RDF}" xmlns:dc="{DC}" xmlns:lr="{LIGHTROOM}"><r:Description>
    ...   <dc:subject><r:Bag><r:li>Rome</r:li><r:li>sun, sea</r:li></r:Bag></dc:subject>
    ...   <lr:hierarchicalSubject><r:Bag><r:li>Places|Italy|Rome</r:li></r:Bag></lr:hierarchicalSubject>
    ... </r:Description></r:RDF>'''.encode()
    >>> read_packet(packet).tags
    ('Rome', 'sun, sea', 'Places', 'Italy')
    """
    descriptions = descriptions_of(parse_packet(packet))

    def written(name: str) -> tuple[str, ...]:
        return tuple(filter(None, map(text_of, items(descriptions, VISTERM, name))))

    ours = {text for name in _NO_TAGS for text in written(name)}
    tags = [text for item in items(descriptions, DC, "subject") if (text := text_of(item)) not in ours]
    for namespace, name, separator in _HIERARCHIES:
        for item in items(descriptions, namespace, name):
            if (path := text_of(item)) not in ours:
                tags += map(str.strip, path.split(separator))
    return PacketLabels(
        tags=tuple(dict.fromkeys(filter(None, tags))),
        class_name=next(iter(written("class")), None),
        caption=preferred_language(list(items(descriptions, DC, "description"))),
        catalogue=next(iter(written("catalogue")), None),
        own_tags=written("tags"),
        facts=xmp_facts(descriptions),
    )

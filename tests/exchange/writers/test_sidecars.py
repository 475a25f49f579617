"""XMP sidecars: merged, never replaced."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from defusedxml import ElementTree
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.catalogue.records import Reading, Record
from visterm.errors import InputError, VistermError
from visterm.exchange.readers import xmp
from visterm.exchange.writers.xmp import merged_sidecar, sidecar_of, store_sidecar
from visterm.exchange.xmp_merge import merge_packet
from visterm.exchange.xmp_packet import DIGIKAM, LIGHTROOM, VISTERM, PacketLabels, read_packet
from visterm.exchange.xmp_tree import DC, RDF

FOREIGN = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- before -->
<?program keep="this"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Some Core 4.4">
 <rdf:RDF xmlns:rdf="{RDF}">
  <rdf:Description rdf:about=""
    xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:odd="urn:odd:" xmlns:unused="urn:unused:"
    xmlns:dc="{DC}"
   xmp:Rating="4" odd:lines="one&#10;two&#9;&quot;&lt;" odd:name="xmp:Rating">
   <!-- inside -->
   <odd:thing rdf:parseType="Resource"><odd:deep>x &amp; <![CDATA[<y>]]></odd:deep></odd:thing>
   <dc:subject>
    <rdf:Seq>
     <rdf:li>theirs</rdf:li>
     <rdf:li xml:lang="de" odd:q="1">deutsch</rdf:li>
    </rdf:Seq>
   </dc:subject>
   <dc:description><rdf:Alt><rdf:li xml:lang="x-default">Their words</rdf:li></rdf:Alt></dc:description>
   <odd:history><rdf:Seq><rdf:li odd:action="crop"/></rdf:Seq></odd:history>
  </rdf:Description>
  <rdf:Description rdf:about="" xmlns:z="urn:z:" z:a="1"/>
 </rdf:RDF>
</x:xmpmeta>
<!-- after -->
"""


def write_sidecar(picture_file: Path, tags: list[str], **labels: object) -> Path:
    """Merge labels into the sidecar of a picture, as an export does."""
    sidecar, contents = merged_sidecar(picture_file, tags, **labels)
    if contents is not None:
        store_sidecar(sidecar, contents)
    return sidecar


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    file = tmp_path / "IMG 1.jpg"
    file.write_bytes(b"pixels")
    os.utime(file, ns=(10**18, 10**18))
    return file


def read_back(picture_file: Path) -> Record:
    (record,) = xmp.read(picture_file.parent, Reading("", "xmp"))
    return record


def canonical(packet: bytes | str) -> str:
    """The packet's infoset with comments, without Visterm's declaration and white space between elements."""
    text: str = ElementTree.tostring(ElementTree.fromstring(packet), encoding="unicode")
    return re.sub(r">\s+<", "><", text)


def strip_added(packet: bytes, added: list[str]) -> str:
    """The packet without the items ``added`` to ``dc:subject`` and without Visterm's own properties."""
    root = ElementTree.fromstring(packet)
    for parent in list(root.iter()):
        for child in list(parent):
            if str(child.tag).startswith(f"{{{VISTERM}}}") or (child.tag == f"{{{RDF}}}li" and child.text in added):
                parent.remove(child)
    return re.sub(r">\s+<", "><", ElementTree.tostring(root, encoding="unicode"))


def test_a_new_sidecar_says_it_all_and_the_picture_is_untouched(picture: Path) -> None:
    sidecar = write_sidecar(picture, ["boat", "sea"], caption="Two\nlines", class_name="harbour")
    assert sidecar == picture.parent / "IMG 1.jpg.xmp"
    assert read_back(picture) == Record("IMG 1.jpg", class_name="harbour", tags=("boat", "sea"), caption="Two\nlines")
    text = sidecar.read_text()
    assert text.startswith('<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n')
    assert text.endswith('<?xpacket end="w"?>\n')
    assert picture.read_bytes() == b"pixels"
    assert picture.stat().st_mtime_ns == 10**18
    assert sorted(file.name for file in picture.parent.iterdir()) == ["IMG 1.jpg", "IMG 1.jpg.xmp"]


def test_a_second_write_changes_nothing(picture: Path) -> None:
    sidecar = sidecar_of(picture)
    sidecar.write_text(FOREIGN)
    write_sidecar(picture, ["boat", "theirs"], caption="ours", class_name="harbour")
    contents = sidecar.read_bytes()
    os.utime(sidecar, ns=(10**18, 10**18))
    write_sidecar(picture, ["theirs", "boat"], caption="ours", class_name="harbour")
    assert sidecar.stat().st_mtime_ns == 10**18
    assert sidecar.read_bytes() == contents


def test_saying_nothing_makes_no_sidecar_and_leaves_a_foreign_one(picture: Path) -> None:
    assert not write_sidecar(picture, [], caption=" ", class_name="").exists()
    sidecar_of(picture).write_text(FOREIGN)
    write_sidecar(picture, [" "])
    assert sidecar_of(picture).read_text() == FOREIGN


def test_what_others_wrote_is_kept(picture: Path) -> None:
    sidecar = sidecar_of(picture)
    sidecar.write_text(FOREIGN)
    write_sidecar(picture, ["boat", "theirs"], caption="ours", class_name="harbour")
    merged = sidecar.read_text()
    assert read_packet(merged.encode()) == PacketLabels(("theirs", "deutsch", "boat"), "harbour", "Their words")
    assert strip_added(merged.encode(), ["boat", "harbour"]) == canonical(FOREIGN)
    for kept in (
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- before -->",
        "<!-- inside -->",
        "<!-- after -->",
        '<?program keep="this"?>',
        'xmlns:unused="urn:unused:"',
        'odd:lines="one&#10;two&#9;&quot;&lt;"',
        '<rdf:li xml:lang="de" odd:q="1">deutsch</rdf:li>',
        'xmlns:z="urn:z:"',
        "x &amp; &lt;y&gt;",
    ):
        assert kept in merged


def test_only_tags_that_visterm_wrote_are_removed(picture: Path) -> None:
    sidecar = sidecar_of(picture)
    sidecar.write_text(FOREIGN)
    write_sidecar(picture, ["theirs", "boat", "sea"])
    write_sidecar(picture, ["sea", "quay"])
    assert read_back(picture).tags == ("theirs", "deutsch", "sea", "quay")
    write_sidecar(picture, [])
    assert read_back(picture).tags == ("theirs", "deutsch")
    assert canonical(sidecar.read_bytes()) == canonical(FOREIGN)


def test_a_class_is_replaced_and_removed(picture: Path) -> None:
    write_sidecar(picture, ["a"], class_name="coast")
    write_sidecar(picture, ["a"], class_name="forest")
    assert read_back(picture).class_name == "forest"
    write_sidecar(picture, ["a"])
    assert read_back(picture).class_name is None


def test_a_caption_is_changed_only_where_it_is_ours(picture: Path) -> None:
    sidecar = write_sidecar(picture, ["a"], caption="first")
    write_sidecar(picture, ["a"], caption="second")
    assert read_back(picture).caption == "second"
    sidecar.write_bytes(sidecar.read_bytes().replace(b">second</rdf:li>", b">by hand</rdf:li>"))
    write_sidecar(picture, ["a"], caption="third")
    assert read_back(picture).caption == "by hand"
    assert b"visterm:caption" not in sidecar.read_bytes()
    write_sidecar(picture, ["a"])
    assert read_back(picture).caption == "by hand"


def test_our_caption_is_removed_and_translations_stay() -> None:
    merged = merge_packet(None, PacketLabels(caption="ours"))
    assert read_packet(merge_packet(merged, PacketLabels())) == PacketLabels()
    french = merged.replace(b"</rdf:Alt>", '<rdf:li xml:lang="fr">la nôtre</rdf:li></rdf:Alt>'.encode())
    assert read_packet(merge_packet(french, PacketLabels())).caption == "la nôtre"


@pytest.mark.parametrize(
    "rdf",
    [
        "",
        "<r:Description/>",
        '<r:Description xmlns:dc="urn:not-dublin-core:" xmlns:visterm="urn:other:" dc:a="1"/>',
        '<r:Description xmlns:d="http://purl.org/dc/elements/1.1/"><d:subject>x</d:subject></r:Description>',
        '<r:Description xmlns:d="http://purl.org/dc/elements/1.1/" d:subject="x" d:description=""/>',
        '<r:Description xmlns:d="http://purl.org/dc/elements/1.1/"><d:subject><r:Bag/></d:subject></r:Description>',
        '<Description xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><subject xmlns="http://purl.org/dc/elements/1.1/"/>'
        "</Description>",
        '<r:Description xmlns:d="http://purl.org/dc/elements/1.1/"><d:description><r:Alt><r:li xml:lang="x-default"/>'
        "</r:Alt></d:description></r:Description>",
    ],
)
def test_merging_into_unusual_packets(rdf: str) -> None:
    packet = f'<r:RDF xmlns:r="{RDF}">{rdf}</r:RDF>'.encode()
    before = read_packet(packet)
    labels = PacketLabels(("a", "b"), "coast", "words")
    merged = merge_packet(packet, labels)
    assert read_packet(merged) == PacketLabels((*before.tags, "a", "b"), "coast", "words")
    assert merged.count(b"x-default") == 1
    assert merge_packet(merged, labels) == merged
    assert read_packet(merge_packet(merged, PacketLabels())) == before


def test_utf16_is_merged_as_utf8(picture: Path) -> None:
    sidecar_of(picture).write_bytes(FOREIGN.replace("UTF-8", "UTF-16").replace("theirs", "їхнє").encode("utf-16"))
    write_sidecar(picture, ["boat"])
    assert read_back(picture).tags == ("їхнє", "deutsch", "boat")


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"not XML",
        b"<html/>",
        FOREIGN.encode()[:500],
        b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>',
        b" " * (2**24 + 1),
        FOREIGN.replace("urn:unused:", "urn: unused").encode(),
    ],
)
def test_a_sidecar_that_cannot_be_understood_is_left(picture: Path, contents: bytes) -> None:
    sidecar = sidecar_of(picture)
    sidecar.write_bytes(contents)
    with pytest.raises(InputError, match="left as it is"):
        write_sidecar(picture, ["a"])
    assert sidecar.read_bytes() == contents


def test_a_pipe_and_a_link_in_the_sidecars_place(picture: Path) -> None:
    os.mkfifo(sidecar_of(picture))
    with pytest.raises(InputError, match="regular file"):
        write_sidecar(picture, ["a"])
    sidecar_of(picture).unlink()
    elsewhere = picture.parent / "elsewhere.xmp"
    elsewhere.write_text(FOREIGN)
    sidecar_of(picture).symlink_to(elsewhere)
    write_sidecar(picture, ["boat"])
    assert sidecar_of(picture).is_symlink()
    assert "boat" in read_packet(elsewhere.read_bytes()).tags


def test_deep_nesting_is_merged(picture: Path) -> None:
    deep = "<odd:a>" * 20_000 + "</odd:a>" * 20_000
    sidecar_of(picture).write_text(FOREIGN.replace("<!-- inside -->", deep))
    write_sidecar(picture, ["boat"])
    assert deep.replace("<odd:a></odd:a>", "<odd:a/>") in sidecar_of(picture).read_text()


def test_a_full_disk_leaves_the_sidecar_as_it_was(picture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sidecar_of(picture).write_text(FOREIGN)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(VistermError, match="No space left"):
        write_sidecar(picture, ["boat"])
    assert sidecar_of(picture).read_text() == FOREIGN
    assert len(list(picture.parent.iterdir())) == 2


@pytest.mark.parametrize("tag", ["a\x00b", "a\nb", "a\x9fb", "a\ud800", "a\uffffb", "a\u2028b"])
def test_characters_that_xmp_cannot_carry_are_refused(picture: Path, tag: str) -> None:
    with pytest.raises(InputError, match=r"the tag .* does not allow"):
        write_sidecar(picture, ["good", tag])
    with pytest.raises(InputError, match=r"the class .* does not allow"):
        write_sidecar(picture, [], class_name=tag)
    with pytest.raises(InputError, match=r"the caption .* does not allow"):
        write_sidecar(picture, [], caption="a\x00b")
    assert not sidecar_of(picture).exists()


WRITABLE = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufffe\uffff")
ODD_TAGS = st.one_of(
    st.text(WRITABLE, min_size=1, max_size=20),
    st.text(st.sampled_from("ab ,;|/\\\"'<>&]=+-@#\u05d0\u0627\u202e\u200d🌊👩‍🚀é"), min_size=1, max_size=30),
    st.sampled_from(
        ["x" * 500, "]]>", "<!-- -->", "&amp;", "['a', \"b\"]", "Places|Italy|Rome", "a/b", "שלום עולם", "مرحبا"]
    ),
)


@given(
    tags=st.lists(ODD_TAGS, max_size=6),
    later=st.lists(ODD_TAGS, max_size=6),
    class_name=st.none() | ODD_TAGS,
    foreign=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_what_is_written_is_read_back(tags: list[str], later: list[str], class_name: str | None, foreign: bool) -> None:
    def expected(tags: list[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, [*theirs, *map(str.strip, tags)])))

    theirs = ["theirs", "deutsch"] if foreign else []
    with TemporaryDirectory() as folder:
        picture = Path(folder, "a.jpg")
        picture.touch()
        if foreign:
            sidecar_of(picture).write_text(FOREIGN)
        for said in (tags, later, []):
            write_sidecar(picture, said, class_name=class_name)
            assert merged_sidecar(picture, said, class_name=class_name)[1] is None, "idempotent"
            records = list(xmp.read(Path(folder), Reading("", "xmp")))
            found = records[0] if records else Record("a.jpg")
            assert set(found.tags) == set(expected(said))
            assert found.class_name == ((class_name or "").strip() or None)
            if said is tags:
                assert found.tags == expected(said), "in the order given"


def keywords(picture_file: Path, name: str = f"{{{DC}}}subject") -> list[str]:
    """The keywords that a photo program shows."""
    root = ElementTree.fromstring(sidecar_of(picture_file).read_bytes())
    return [item.text for value in root.iter(name) for item in value.iter(f"{{{RDF}}}li")]


HIERARCHY = f"{{{LIGHTROOM}}}hierarchicalSubject"


def test_photo_programs_show_the_class_which_is_no_tag(picture: Path) -> None:
    write_sidecar(picture, ["boat"], class_name="beach", hierarchy="Class")
    assert keywords(picture) == ["boat", "beach"]
    assert keywords(picture, HIERARCHY) == ["Class|beach"]
    assert read_back(picture) == Record("IMG 1.jpg", class_name="beach", tags=("boat",))
    write_sidecar(picture, ["boat"], class_name="coast")  # another class, no hierarchy
    assert keywords(picture) == ["boat", "coast"]
    assert keywords(picture, HIERARCHY) == []
    write_sidecar(picture, ["boat"])
    assert keywords(picture) == ["boat"]


def test_a_class_that_is_also_a_tag_stays_a_tag(picture: Path) -> None:
    write_sidecar(picture, ["beach"], class_name="beach")
    assert keywords(picture) == ["beach"]
    assert read_back(picture) == Record("IMG 1.jpg", class_name="beach", tags=("beach",))
    write_sidecar(picture, [], class_name="beach")
    assert keywords(picture) == ["beach"]
    assert read_back(picture) == Record("IMG 1.jpg", class_name="beach")


def test_what_others_wrote_is_a_tag_even_if_it_is_our_class_or_suggestion(picture: Path) -> None:
    sidecar_of(picture).write_text(FOREIGN)
    write_sidecar(picture, [], class_name="theirs", suggestions=["deutsch", "boat"])
    assert read_back(picture).tags == ("theirs", "deutsch")
    write_sidecar(picture, [])
    assert canonical(sidecar_of(picture).read_bytes()) == canonical(FOREIGN)


def test_a_suggestion_is_shown_but_never_read_as_a_truth(picture: Path) -> None:
    write_sidecar(picture, ["sea"], suggestions=["boat", "sea"])
    assert keywords(picture) == ["sea", "boat"]
    assert read_back(picture).tags == ("sea",)
    # digiKam repeats flat keywords in its own list when it saves
    text = sidecar_of(picture).read_text()
    listed = "<d:TagsList><rdf:Seq><rdf:li>boat</rdf:li><rdf:li>Things/boat</rdf:li></rdf:Seq></d:TagsList>"
    described = f'<rdf:Description xmlns:d="{DIGIKAM}">{{}}</rdf:Description></rdf:RDF>'
    sidecar_of(picture).write_text(text.replace("</rdf:RDF>", described.format(listed.replace("Things/boat", "sky"))))
    assert read_back(picture).tags == ("sea", "sky")
    sidecar_of(picture).write_text(text.replace("</rdf:RDF>", described.format(listed)))
    assert read_back(picture).tags == ("sea", "Things", "boat")  # a person has put it below another keyword
    sidecar_of(picture).write_text(text)
    write_sidecar(picture, ["sea", "boat"])  # accepted
    assert read_back(picture).tags == ("sea", "boat")
    write_sidecar(picture, ["sea"], suggestions=["boat"])
    write_sidecar(picture, ["sea"])  # no longer suggested
    assert keywords(picture) == ["sea"]
    assert b"suggestions" not in sidecar_of(picture).read_bytes()


def test_only_suggestions_make_a_sidecar_too(picture: Path) -> None:
    write_sidecar(picture, [], suggestions=["boat"])
    assert keywords(picture) == ["boat"]
    assert not any(record.labels_something for record in xmp.read(picture.parent, Reading("", "xmp")))
    assert merged_sidecar(picture, [], suggestions=["boat"])[1] is None

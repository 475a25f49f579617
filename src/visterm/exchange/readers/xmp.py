"""XMP sidecars (``IMG.jpg.xmp`` or ``IMG.xmp``) and the XMP and IPTC inside pictures, as photo programs write them.

The tags of a picture are the union of ``dc:subject``, ``lr:hierarchicalSubject``, ``digiKam:TagsList`` and the IPTC
keywords in all these places. Items are never split, except in the two hierarchies, where every term becomes a tag (see
:func:`visterm.exchange.xmp_packet.read_packet`). If places disagree on class or caption, the sidecar counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from visterm.catalogue.records import Echo, Reading, Record
from visterm.errors import InputError
from visterm.exchange.embedded import read_embedded
from visterm.exchange.iptc import MAX_KEYWORD_BYTES, read_keywords
from visterm.exchange.readers._entries import make_record
from visterm.exchange.readers._files import is_picture, read_bounded, walk
from visterm.exchange.xmp_packet import MAX_BYTES, PacketLabels, read_packet

FORMAT = "xmp"

#: To detect the format, this many first pictures are read; of the rest, fewer and fewer.
_PROBED = 20


def detect(path: Path) -> bool:
    """Whether a picture in the folder has a sidecar, or one of a sample has labels inside.

    The sample is the first pictures and a few dozen of the rest, since often only some pictures are labelled.
    """
    position = due = 0
    for parent, names in walk(path):
        sidecars = _sidecars(names)
        for name in filter(is_picture, names):
            if next(sidecars(name), None):
                return True
            if position == due:
                if any(True for _ in _embedded_labels(parent / name, name, Reading(name, FORMAT))):
                    return True
                due += 1 if position < _PROBED else 1 + position // 10
            position += 1
    return False


def base(path: Path) -> Path:
    """Pictures are named relative to the folder itself."""
    return path


def read(path: Path, reading: Reading) -> Iterator[Record]:
    """A record for each picture with labels in its metadata; no pixels are decoded."""
    if not path.is_dir():
        raise InputError(f"{path} is not a folder: expected a folder with pictures")
    for parent, names in walk(path, reading):
        sidecars = _sidecars(names)
        for name in filter(is_picture, names):
            where = (parent / name).relative_to(path).as_posix()
            found = [
                labels
                for sidecar in sidecars(name)
                if (labels := _sidecar_labels(parent / sidecar, where, reading)) is not None
            ]
            found += _embedded_labels(parent / name, where, reading)
            if any(labels != PacketLabels() for labels in found):
                record = make_record(
                    reading,
                    where,
                    where,
                    class_name=next((labels.class_name for labels in found if labels.class_name), None),
                    tags=[tag for labels in found for tag in labels.tags],
                    caption=next((labels.caption for labels in found if labels.caption), None),
                )
                if record:
                    yield replace(record, echo=_echo(found))


def _echo(found: list[PacketLabels]) -> Echo | None:
    """What a catalogue of Visterm wrote itself, and no other place says."""
    ours = next((labels for labels in found if labels.catalogue is not None), None)
    if ours is None or ours.catalogue is None:
        return None
    others = {tag for labels in found if labels is not ours for tag in labels.tags}
    return Echo(ours.catalogue, ours.class_name, tuple(tag for tag in ours.own_tags if tag not in others))


def _sidecars(names: list[str]) -> Callable[[str], Iterator[str]]:
    """A function from a picture's name to its sidecars among the file names of a folder."""
    present = {name.lower(): name for name in names if name.lower().endswith(".xmp")}

    def of_picture(name: str) -> Iterator[str]:
        for stem in (name, PurePath(name).stem):
            if sidecar := present.get(f"{stem}.xmp".lower()):
                yield sidecar

    return of_picture


def _sidecar_labels(sidecar: Path, picture: str, reading: Reading) -> PacketLabels | None:
    where = f"{picture}, {sidecar.name}"
    try:
        if not sidecar.is_file():  # opening a pipe would wait for ever
            raise InputError("not a regular file")
        return read_packet(read_bounded(sidecar, MAX_BYTES))
    except InputError as error:
        reading.skip(where, str(error))
    except OSError as error:
        reading.skip(where, f"cannot be read: {error.strerror}")
    return None


def _embedded_labels(file: Path, where: str, reading: Reading) -> Iterator[PacketLabels]:
    """The labels in the picture's own XMP and IPTC, if any."""
    try:
        if not file.is_file():
            raise InputError("not a regular file")
        embedded = read_embedded(file)
    except InputError as error:
        reading.skip(where, str(error))
        return
    except OSError as error:
        reading.skip(where, f"cannot be read: {error.strerror}")
        return
    labels = PacketLabels()
    if embedded.xmp is not None:
        try:
            labels = read_packet(embedded.xmp)
        except InputError as error:
            reading.skip(where, f"its XMP: {error}")
    if labels != PacketLabels():
        yield labels
    if embedded.iptc is not None:
        keywords = [word for word in read_keywords(embedded.iptc) if not _is_cut(word, labels.tags)]
        if keywords:
            yield PacketLabels(tags=tuple(keywords))


def _is_cut(keyword: str, tags: tuple[str, ...]) -> bool:
    """Whether the keyword is a tag from XMP, cut to the length that IPTC allows."""
    n_bytes = len(keyword.encode())
    return MAX_KEYWORD_BYTES - 4 < n_bytes <= MAX_KEYWORD_BYTES and any(
        tag != keyword and tag.startswith(keyword) for tag in tags
    )

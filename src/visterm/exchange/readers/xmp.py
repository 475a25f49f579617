"""XMP sidecars (``IMG.jpg.xmp`` or ``IMG.xmp``) and the XMP, IPTC and EXIF inside pictures, as programs write them.

The tags of a picture are the union of ``dc:subject``, ``lr:hierarchicalSubject``, ``digiKam:TagsList``, the IPTC
keywords and those of Windows (``XPKeywords``) in all these places. Items are never split, except in the two
hierarchies, where every term becomes a tag (see :func:`visterm.exchange.xmp_packet.read_packet`). If places disagree on
class or caption, the first counts: sidecar, XMP, IPTC, EXIF. What a camera writes into every picture is no caption.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from visterm.catalogue.records import Echo, Reading, Record, Skipped
from visterm.errors import InputError
from visterm.exchange.embedded import read_embedded
from visterm.exchange.exif import is_stock_description
from visterm.exchange.facts import Facts, Problem, merged
from visterm.exchange.iptc import MAX_KEYWORD_BYTES, IptcTexts, read_iptc
from visterm.exchange.readers._entries import make_record
from visterm.exchange.readers._files import base as base
from visterm.exchange.readers._files import walk
from visterm.exchange.unlabelled import UnlabelledFiles
from visterm.exchange.xmp_packet import PacketLabels, read_packet
from visterm.exchange.xmp_tree import MAX_BYTES
from visterm.storage.opening import read_regular
from visterm.vision.decode import pictures_among

#: A continued packet without any of these has no labels: most hold the depth map of a telephone, megabytes of it.
_NAMES_LABELS = re.compile(rb"subject|hierarchicalSubject|TagsList|description|urn:visterm")
#: To detect the format, this many first pictures are read; of the rest, fewer and fewer.
_PROBED = 20


def detect(path: Path) -> bool:
    """Whether a picture in the folder has a sidecar, or one of a sample has labels inside.

    The sample is the first pictures and a few dozen of the rest, since often only some pictures are labelled.
    """
    position = due = 0
    for parent, names in walk(path):
        sidecars = _sidecars(names)
        for name in sorted(pictures_among(names)):
            if next(sidecars(name), None):
                return True
            if position == due:
                labels = _read_inside(parent / name, name, Reading(name, "xmp"), _Guesses())
                if any(found != PacketLabels() for found in labels):
                    return True
                due += 1 if position < _PROBED else 1 + position // 10
            position += 1
    return False


def read(path: Path, reading: Reading, unlabelled: UnlabelledFiles | None = None) -> Iterator[Record]:
    """A record for each picture: its labels and its other metadata; no pixels are decoded.

    Pictures in ``unlabelled`` are not opened; their sidecars are.
    """
    if not path.is_dir():
        raise InputError(f"{path} is not a folder: expected a folder with pictures")
    guesses = _Guesses()
    for parent, names in walk(path, reading):
        yield from _records(path, parent, names, sorted(pictures_among(names)), reading, guesses, unlabelled)
    guesses.report(reading)


def read_pictures(folder: Path, pictures: Sequence[str], reading: Reading) -> Iterator[Record]:
    """The records of the files called ``pictures`` in ``folder``, from their own metadata and their sidecars."""
    guesses = _Guesses()
    yield from _records(folder, folder, [file.name for file in folder.iterdir()], pictures, reading, guesses)
    guesses.report(reading)


def _records(
    base: Path,
    parent: Path,
    names: list[str],
    pictures: Iterable[str],
    reading: Reading,
    guesses: "_Guesses",
    unlabelled: UnlabelledFiles | None = None,
) -> Iterator[Record]:
    """The records of ``pictures`` in the folder ``parent``, whose files are called ``names``."""
    sidecars, folder = _sidecars(names), parent.relative_to(base)
    for name in pictures:
        file = folder / name
        where = file.as_posix()
        found = [
            labels
            for sidecar in sidecars(name)
            if (labels := _sidecar_labels(parent / sidecar, where, reading)) is not None
        ]
        beside = [labels.facts for labels in found]
        found += _embedded_labels(parent / name, where, reading, guesses, unlabelled)
        inside = [labels.facts for labels in found[len(beside) :]]
        for problem in (problem for facts in (*beside, *inside) for problem in facts.problems):
            guesses.leave_out(problem, where)
        # what was read before still counts where not all can be read
        metadata = None if where in reading.partly else merged(beside, inside)
        parts = next((facts.regions for facts in (*beside, *inside) if facts.regions), ())
        if any(labels != PacketLabels() for labels in found) or parts:
            captions = (  # none of a camera; what Visterm wrote came from a person
                labels.caption
                for labels in found
                if labels.caption and (labels.catalogue or not is_stock_description(labels.caption))
            )
            record = make_record(
                reading,
                where,
                file,
                class_name=next((labels.class_name for labels in found if labels.class_name), None),
                tags=[tag for labels in found for tag in labels.tags],
                caption=next(captions, None),
            )
            if record and (replace(record, path="") != Record("") or parts):
                yield replace(record, echo=_echo(found), metadata=metadata, parts=parts)
                continue
        if metadata is not None:
            yield Record(where, metadata=metadata)


class _Guesses:
    """The guessed character sets and the metadata left out of one source: counted, and told once with an example."""

    def __init__(self) -> None:
        self._numbers: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], tuple[str, str]] = {}
        self._left_out: Counter[str] = Counter()
        self._strange: dict[str, tuple[str, str]] = {}

    def note(self, block: str, guess: str, where: str, text: str) -> None:
        self._numbers[block, guess] += 1
        self._examples.setdefault((block, guess), (where, text))

    def leave_out(self, problem: Problem, where: str) -> None:
        self._left_out[problem.what] += 1
        self._strange.setdefault(problem.what, (where, problem.value))

    def report(self, reading: Reading) -> None:
        for (block, guess), number in self._numbers.items():
            where, text = self._examples[block, guess]
            others = f" (so in {number} pictures)" if number > 1 else ""
            remark = (
                f"its {block} text names no character set and was read as {guess}, such as {text:.60}{others}; "
                "if that is wrong, write the labels as XMP or UTF-8 and add it again"
            )
            reading.notes.append(Skipped(where, remark))
        for what, number in self._left_out.items():
            where, text = self._strange[what]
            others = f" (so in {number} pictures)" if number > 1 else ""
            reading.notes.append(Skipped(where, f"its {what} {text:.60} cannot be right, so it was left out{others}"))


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
    try:
        return read_packet(read_regular(sidecar, MAX_BYTES)[0])
    except InputError as error:
        reading.skip(f"{picture}, {sidecar.name}", str(error), picture=picture)
    return None


def _embedded_labels(
    file: Path, where: str, reading: Reading, guesses: _Guesses, unlabelled: UnlabelledFiles | None
) -> list[PacketLabels]:
    """What the picture's own XMP, IPTC and EXIF say; nothing of a file that is known to have none."""
    if unlabelled is None:
        return list(_read_inside(file, where, reading, guesses))
    state, n_skipped = unlabelled.state_of(file), reading.skipped
    if state in unlabelled:
        return []
    found = list(_read_inside(file, where, reading, guesses))
    says_nothing = all(labels == PacketLabels() and labels.facts == Facts() for labels in found)
    if says_nothing and reading.skipped == n_skipped:
        unlabelled.note(state)
    return found


def _read_inside(file: Path, where: str, reading: Reading, guesses: _Guesses) -> Iterator[PacketLabels]:
    try:
        embedded = read_embedded(file)
    except (InputError, OSError) as error:
        reason = str(error) if isinstance(error, InputError) else f"cannot be read: {error.strerror}"
        reading.skip(where, reason, picture=where)
        return
    if embedded.problem is not None:
        reading.skip(where, embedded.problem, picture=where)
    tags: tuple[str, ...] = ()
    for packet in (embedded.xmp, embedded.extended_xmp):
        if packet is None or (packet is embedded.extended_xmp and not _NAMES_LABELS.search(packet)):
            continue
        try:
            labels = read_packet(packet)
        except InputError as error:
            reading.skip(where, f"its XMP: {error}", picture=where)
            continue
        tags += labels.tags
        yield labels
    iptc = IptcTexts() if embedded.iptc is None else read_iptc(embedded.iptc)
    words = tuple(word for word in iptc.keywords if not _is_cut(word, tags))
    yield PacketLabels(words, caption=iptc.caption, facts=iptc.facts)
    exif = embedded.exif
    yield PacketLabels(exif.keywords, caption=exif.caption, facts=exif.facts)
    for block, texts in (("IPTC", iptc), ("EXIF", exif)):
        if texts.guess is not None:
            shown = " ".join(filter(None, [*texts.keywords, texts.caption]))
            guesses.note(block, texts.guess, where, shown)


def _is_cut(keyword: str, tags: tuple[str, ...]) -> bool:
    """Whether the keyword is a tag from XMP, cut to the length that IPTC allows."""
    n_bytes = len(keyword.encode())
    return MAX_KEYWORD_BYTES - 4 < n_bytes <= MAX_KEYWORD_BYTES and any(
        tag != keyword and tag.startswith(keyword) for tag in tags
    )

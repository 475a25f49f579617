"""XMP sidecars: labels in a file beside the picture, where photo programs look; the picture is never touched."""

import errno
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from visterm.errors import InputError
from visterm.exchange.xmp_merge import merge_packet
from visterm.exchange.xmp_packet import PacketLabels
from visterm.exchange.xmp_tree import MAX_BYTES
from visterm.storage import write_bytes_atomically
from visterm.storage.opening import read_regular

# Control characters, line breaks (a caption may have these and tabs), lone surrogates, and what XML does not allow.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_UNWRITABLE_IN_CAPTION = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def sidecar_of(picture_file: Path) -> Path:
    """The sidecar that Visterm writes for a picture, named as in darktable and digiKam.

    >>> sidecar_of(Path("IMG.jpg")).name
    'IMG.jpg.xmp'
    """
    return picture_file.with_name(picture_file.name + ".xmp")


def store_sidecar(sidecar: Path, contents: bytes) -> None:
    """Write a sidecar whole or not at all; one that exists keeps its mode and, where permitted, its owner."""
    write_bytes_atomically(sidecar, contents, keep_access=sidecar.exists())


def merged_sidecar(
    picture_file: Path,
    tags: Sequence[str],
    *,
    caption: str | None = None,
    own: Mapping[str, str] = MappingProxyType({}),
    class_name: str | None = None,
    hierarchy: str | None = None,
    suggestions: Sequence[str] = (),
    catalogue: str | None = None,
) -> tuple[Path, bytes | None]:
    """The sidecar of a picture, and the contents that it should have; None if it stays as it is.

    - Tags and the class go to ``dc:subject``, the class also to ``visterm:class``, the caption to ``dc:description``,
      a title to ``dc:title``.
    - With ``hierarchy``, such as "Class", the class "coast" also goes to ``lr:hierarchicalSubject`` as "Class|coast".
    - ``suggestions`` of models go to ``dc:subject``, too; Visterm does not read them back.
    - What other programs wrote stays: their tags, their caption (even if it differs), everything unknown to Visterm.
    - ``own`` has the ``caption`` and the ``title`` that a person wrote, which replace those of other programs.
    - What was written earlier and is not named now is removed. No sidecar is created without labels.
    - White space around a tag is dropped; a control character inside raises :class:`InputError`, and so does a sidecar
      that is not valid XMP.

    ``catalogue`` is the identity of the catalogue that writes: it does not read its own words back.
    """
    labels = PacketLabels(
        tags=_lines(tags),
        class_name=_line(class_name or "", "class") or None,
        caption=_caption(caption or "") or None,
        title=_line(own.get("title", ""), "title") or None,
        catalogue=catalogue,
    )
    sidecar = sidecar_of(picture_file)
    _refuse_unreachable(sidecar)
    if sidecar.is_symlink():  # write the target, so that the link survives
        if not os.path.exists(sidecar):  # noqa: PTH110 - Path.exists() fails at a link to itself
            raise InputError(f"{sidecar}: it is a link to a file that does not exist: remove the link")
        sidecar = Path(os.path.realpath(sidecar))
    suggested = _lines(suggestions)
    try:
        present = read_regular(sidecar, MAX_BYTES)[0] if os.path.lexists(sidecar) else None
        if present is None and labels == PacketLabels() and not suggested:
            return sidecar, None
        merged = merge_packet(
            present, labels, hierarchy=_line(hierarchy or "", "keyword"), suggestions=suggested, edited=own
        )
    except InputError as error:
        raise InputError(f"{sidecar}: left as it is, because it cannot be read: {error}") from error
    return sidecar, None if merged == present else merged


def _refuse_unreachable(sidecar: Path) -> None:
    """Refuse a sidecar whose name is too long, or whose folder cannot be entered."""
    try:
        sidecar.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                f"{sidecar.name[:40]}... is too long a name for a sidecar: shorten the name of the picture"
            ) from error
        raise InputError(f"{sidecar}: cannot be reached: {error.strerror}") from error


def _lines(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (_line(tag, "tag") for tag in tags))))


def _line(text: str, what: str) -> str:
    text = text.strip()
    if _UNWRITABLE.search(text):
        raise InputError(f"the {what} {text!r} contains a character that XMP does not allow: rename it")
    return text


def _caption(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if _UNWRITABLE_IN_CAPTION.search(text):
        raise InputError(f"the caption {text!r} contains a character that XMP does not allow: remove it")
    return text

"""Exports labels as XMP sidecars beside the pictures: which ones, what is new, what cannot be written."""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from visterm.catalogue.pictures import Picture
from visterm.catalogue.records import Skipped
from visterm.compute import progress
from visterm.errors import InputError, VistermError
from visterm.exchange.writers.exports import Exported, SidecarExample, SidecarFolder
from visterm.exchange.writers.xmp import merged_sidecar, store_sidecar
from visterm.storage import clear_leftovers

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class SidecarOptions:
    """What goes into sidecars besides tags, class and caption (see :func:`visterm.exchange.export`)."""

    hierarchy: str | None
    suggestions: bool
    catalogue: str | None


def export_sidecars(
    pictures: Iterable[Picture], root: Path, under: Path | None, options: SidecarOptions, *, dry_run: bool
) -> Exported:
    """Merge labels into a sidecar beside each existing file of ``pictures``, or only of files in the folder ``under``.

    Paths of pictures are relative to ``root``, or absolute. What cannot be read or written costs one line of the
    report, but a full disk ends the export. Unfinished files that a killed export left in these folders are deleted.
    """
    for folder in (root, under or root):
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder: sidecars are written to the folders of the pictures")
    scope = None if under is None else _Scope(under)
    counts: Counter[str] = Counter()
    written: list[Path] = []
    skipped: list[Skipped] = []
    example: SidecarExample | None = None
    visited: set[Path] = set()
    with progress.task("Comparing sidecars" if dry_run else "Writing sidecars") as bar:
        for picture in pictures:
            bar.advance()
            named = [path for path in picture.paths if scope is None or scope.holds(root / path)]
            if not named and (picture.paths or scope is not None):
                continue
            files, failed = _present_files(root / path for path in named)
            for file in files:
                if not dry_run and file.parent not in visited:
                    visited.add(file.parent)
                    clear_leftovers(file.parent)
                try:
                    sidecar, outcome = _export_sidecar(picture, file, options, dry_run=dry_run)
                except VistermError as error:
                    if isinstance(error.__cause__, OSError) and error.__cause__.errno in _DISK_FULL:
                        raise
                    failed.append(Skipped(str(file), str(error)))
                    continue
                counts[outcome] += 1
                if outcome in ("new", "merged"):
                    written.append(sidecar)
                    example = example or _example(picture, sidecar, new=outcome == "new")
            counts["pictures"] += bool(files)
            counts["failed"] += len(failed)
            missing = Skipped(next(iter(named), picture.sha256), "the file of the picture is missing")
            skipped += failed if files or failed else [missing]
    folders = Counter(file.parent for file in written).most_common()
    return Exported(
        "xmp",
        files=written,
        n_pictures=counts["pictures"],
        n_unchanged=counts["unchanged"],
        skipped=skipped,
        dry_run=dry_run,
        n_new=counts["new"],
        n_failed=counts["failed"],
        folders=[SidecarFolder(folder, number) for folder, number in folders],
        example=example,
        n_needless=counts["needless"],
    )


def _present_files(files: Iterable[Path]) -> tuple[list[Path], list[Skipped]]:
    """The files that exist, each once: two paths may lead to one file; and those that cannot be reached."""
    found: dict[tuple[str, str], Path] = {}
    failed = []
    for file in files:
        try:
            if _is_present(file):
                found.setdefault((os.path.realpath(file.parent), file.name), file)
        except OSError as error:
            failed.append(Skipped(str(file), f"cannot be reached: {error.strerror}"))
    return list(found.values()), failed


def pictures_within(pictures: Iterable[Picture], root: Path, under: Path | None) -> Iterator[Picture]:
    """The pictures that have a file in the folder ``under``, or anywhere if it is None."""
    scope = None if under is None else _Scope(under)
    return (picture for picture in pictures if scope is None or any(scope.holds(root / path) for path in picture.paths))


def _export_sidecar(
    picture: Picture, file: Path, options: SidecarOptions, *, dry_run: bool
) -> tuple[Path, Literal["new", "merged", "unchanged", "needless"]]:
    """Merge the labels of ``picture`` into the sidecar of ``file``: the sidecar, and what became of it."""
    sidecar, contents = merged_sidecar(
        file,
        _tags(picture),
        caption=picture.caption,
        own={kind: getattr(picture, kind) for kind in picture.own_texts},
        class_name=picture.class_label.name if picture.class_label else None,
        hierarchy=options.hierarchy,
        suggestions=_suggested_names(picture) if options.suggestions else (),
        catalogue=options.catalogue,
    )
    exists = sidecar.exists()
    if contents is None:
        return sidecar, "unchanged" if exists else "needless"
    if not os.access(sidecar.parent, os.W_OK | os.X_OK):
        raise InputError(f"{sidecar}: the folder is write-protected")
    if not dry_run:
        store_sidecar(sidecar, contents)
    return sidecar, "merged" if exists else "new"


def _example(picture: Picture, sidecar: Path, *, new: bool) -> SidecarExample:
    class_name = picture.class_label.name if picture.class_label else None
    return SidecarExample(sidecar, new, _tags(picture), class_name, picture.caption)


def _tags(picture: Picture) -> list[str]:
    return [label.name for label in picture.tags if label.state == "accepted"]


def _suggested_names(picture: Picture) -> list[str]:
    """What models suggest where people and imports have not decided."""
    best = picture.suggested_class if picture.class_label is None else None
    return [
        *(label.name for label in picture.tags if label.state == "suggested"),
        *(() if best is None else (best.name,)),
    ]


def _is_present(file: Path) -> bool:
    """Whether there is a regular file; raises :class:`OSError` where that cannot be found out."""
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except OSError as error:
        if error.errno in _ABSENT:
            return False
        raise


class _Scope:
    """The files in a folder, however both are named: a path may lead there through a symbolic link."""

    def __init__(self, folder: Path) -> None:
        self._prefixes = [_prefix(os.path.abspath(folder)), _prefix(os.path.realpath(folder))]  # noqa: PTH100
        self._inside: dict[str, bool] = {}

    def holds(self, file: Path) -> bool:
        parent = os.path.abspath(file.parent)  # noqa: PTH100 - '..' goes, links stay
        if parent not in self._inside:
            forms = (_prefix(parent), _prefix(os.path.realpath(parent)))
            self._inside[parent] = any(form.startswith(prefix) for form in forms for prefix in self._prefixes)
        return self._inside[parent]


def _prefix(folder: str) -> str:
    return folder.rstrip(os.sep) + os.sep

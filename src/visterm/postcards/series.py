"""A series of postcards on disk: pictures, labels as a person might give them, and the whole truth in another file."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from visterm.compute import Engine, Shard, map_shards, split
from visterm.errors import InputError
from visterm.postcards.studio import CLASSES, Postcard, class_of, paint
from visterm.storage import write_bytes_atomically, write_error

#: Changes whenever the same numbers would give another collection.
GENERATOR_VERSION: Final = 1
PICTURES, METADATA, TRUTH, README, MARK = "pictures", "metadata.jsonl", "truth.jsonl", "README.md", "postcards.json"

#: The roles of pictures: a fifth each; two fifths for training with all labels.
_ROLES: Final = ("train", "train", "test", "class only", "unlabelled")
_ROLE_STREAM: Final = 104_729  # separates the draw of roles from the draws of pictures
_SHARD_SIZE: Final = 20
_JPEG_QUALITY: Final = 90


@dataclass(frozen=True, slots=True)
class PostcardsReport:
    """The collection that :func:`make_postcards` made, or found complete (``painted`` is 0)."""

    folder: Path
    n_pictures: int
    painted: int

    @property
    def metadata(self) -> Path:
        """The label file, for ``visterm add``."""
        return self.folder / METADATA

    @property
    def truth(self) -> Path:
        """The truth of every picture, labelled or not."""
        return self.folder / TRUTH

    def __str__(self) -> str:
        if not self.painted:
            return f"{self.folder} already holds these {self.n_pictures} postcards"
        return f"{self.painted} postcards painted in {self.folder}"


def make_postcards(
    folder: Path, n_pictures: int = 400, *, seed: int = 0, engine: Engine | None = None
) -> PostcardsReport:
    """Write the first ``n_pictures`` postcards of series ``seed`` into ``folder``, unless they are already there.

    A fifth of the pictures has no label and a fifth only a class; another fifth is the test split. ``truth.jsonl`` has
    the full labels of every picture. Painting runs in Python, so it is distributed over processes unless ``engine``
    says otherwise; the files are the same byte for byte in any case.
    """
    if n_pictures < 1 or seed < 0:
        raise InputError(
            f"cannot make {n_pictures} postcards of series {seed}: give a positive number and a seed from 0"
        )
    mark = {"generator_version": GENERATOR_VERSION, "seed": seed, "n_pictures": n_pictures, "complete": True}
    found = _read_mark(folder)
    if found == mark and _is_whole(folder, n_pictures):
        return PostcardsReport(folder, n_pictures, painted=0)
    _make_room(folder, found, n_pictures)
    try:
        (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder / PICTURES, error) from error
    write_bytes_atomically(folder / MARK, _json(mark | {"complete": False}))
    # Processes that were started earlier may stand in another folder.
    shards = split(n_pictures, size=_SHARD_SIZE, source=str((folder / PICTURES).absolute()))
    engine = engine or Engine(backend="processes")
    parts = map_shards(partial(_paint_shard, seed), shards, engine=engine, description="Painting postcards")
    rows = [row for part in parts for row in part]
    roles = [role_of(index, seed) for index in range(n_pictures)]
    write_bytes_atomically(folder / TRUTH, _lines(_truth(row, role) for row, role in zip(rows, roles, strict=True)))
    write_bytes_atomically(folder / METADATA, _lines(_labels(row, role) for row, role in zip(rows, roles, strict=True)))
    write_bytes_atomically(folder / README, _readme(n_pictures, seed).encode())
    write_bytes_atomically(folder / MARK, _json(mark))
    return PostcardsReport(folder, n_pictures, painted=n_pictures)


def role_of(index: int, seed: int = 0) -> str:
    """The role of picture ``index``: of every five pictures of a class, each role occurs once (train twice).

    >>> sorted(role_of(index) for index in range(50) if class_of(index) == "coast")
    ['class only', 'test', 'train', 'train', 'unlabelled']
    """
    group, turn = divmod(index // len(CLASSES), len(_ROLES))
    stream = [seed, group, CLASSES.index(class_of(index, seed)), _ROLE_STREAM]
    return _ROLES[np.random.default_rng(stream).permutation(len(_ROLES))[turn]]


def _paint_shard(seed: int, shard: Shard) -> list[dict[str, Any]]:
    """Paint and write the pictures of ``shard``; return their truth."""
    from PIL import Image

    rows = []
    for index in range(shard.start, shard.stop):
        card = paint(index, seed=seed)
        buffer = io.BytesIO()
        Image.fromarray(card.pixels).save(buffer, "JPEG", quality=_JPEG_QUALITY)
        _write_picture(Path(shard.source) / card.name, buffer.getvalue())
        rows.append(_row(card))
    return rows


def _row(card: Postcard) -> dict[str, Any]:
    return {
        "file_name": f"{PICTURES}/{card.name}",
        "class": card.class_name,
        "tags": list(card.tags),
        "caption": card.caption,
        "regions": [
            {"name": region.name, "box": [region.left, region.top, region.right, region.bottom]}
            for region in card.regions
        ],
    }


def _truth(row: Mapping[str, Any], role: str) -> dict[str, Any]:
    return {**row, "split": "test" if role == "test" else "train"}


def _labels(row: Mapping[str, Any], role: str) -> dict[str, Any]:
    """The part of the truth that the label file contains."""
    told = _truth(row, role)
    if role in ("train", "test"):
        return told
    keys = ("file_name", "class", "split") if role == "class only" else ("file_name", "split")
    return {key: told[key] for key in keys}


# -- files -----------------------------------------------------------------------------------------------------------


def _write_picture(path: Path, data: bytes) -> None:
    """Write a picture whole or not at all.

    Unlike for the labels, this does not wait for the disk, which would take longer than painting: a lost picture is
    noticed and painted again.
    """
    unfinished = path.with_suffix(".tmp")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise write_error(path, error) from error


def _json(value: object) -> bytes:
    return (json.dumps(value) + "\n").encode()


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(_json(row) for row in rows)


def _read_mark(folder: Path) -> dict[str, Any] | None:
    """The series that the folder's mark names; None if it holds no postcards."""
    path = folder / MARK
    try:
        mark = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot read {path} ({error}): choose another folder for the postcards") from error
    if not isinstance(mark, dict) or "generator_version" not in mark:
        raise InputError(f"{path} is not the mark of a postcard collection: choose another folder for the postcards")
    return mark


def _is_whole(folder: Path, n_pictures: int) -> bool:
    names = (METADATA, TRUTH, README, *(f"{PICTURES}/{index:04d}.jpg" for index in range(n_pictures)))
    try:
        return all((folder / name).stat().st_size for name in names)
    except FileNotFoundError:
        return False


def _make_room(folder: Path, mark: Mapping[str, Any] | None, n_pictures: int) -> None:
    """Raise an error if files would be overwritten that are not postcards; delete pictures left by a longer series."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: give a folder for the postcards")
    if mark is None:
        taken = [name for name in (PICTURES, METADATA, TRUTH, README) if (folder / name).exists()]
        if taken:
            raise InputError(
                f"{folder} already has other files called {', '.join(taken)}: choose another folder for the postcards"
            )
        return
    for path in (folder / PICTURES).glob("[0-9]*.jpg"):
        if path.stem.isdecimal() and int(path.stem) >= n_pictures:
            path.unlink()


def _readme(n_pictures: int, seed: int) -> str:
    return f"""# Postcards

{n_pictures} synthetic pictures, painted by Visterm's procedural generator (version {GENERATOR_VERSION}, seed {seed}).
They show no real place, person or thing. Free of rights: CC0 1.0.

- `{PICTURES}/`: the pictures, 256 x 192 JPEG, of {len(CLASSES)} classes: {", ".join(CLASSES)}.
- `{METADATA}`: the labels, one JSON object per line: `file_name`, `class`, `tags`, `caption`, `split` and `regions`
  (`box` is left, top, right, bottom in pixels). A fifth of the pictures is listed without labels, a fifth with its
  class only; a fifth is the `test` split.
- `{TRUTH}`: the same for every picture, with nothing left out; for measuring, not for training.
- `{MARK}`: which series this is, so that making it again does nothing.
"""

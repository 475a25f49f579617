"""What a feature store holds: the shape of its rows, what made them, and how many of the bytes on disk count."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from visterm.errors import InputError
from visterm.storage.atomic import write_text_atomically
from visterm.storage.spec import FeatureSpec

_FORMAT, _VERSION = "visterm features", 1
_MAX_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of a store, replaced as a whole by every change: the change happens when this file does.

    ``generation`` begins the names of the files in use; of these, ``n_rows`` keys and rows, ``n_values`` entries of
    sparse rows and ``n_removed`` tombstones count.
    """

    spec: FeatureSpec
    recipe: str
    generation: str
    n_rows: int = 0
    n_values: int = 0
    n_removed: int = 0
    keys_crc32: int = 0

    @staticmethod
    def path(folder: Path) -> Path:
        """Where the manifest of the store in ``folder`` is."""
        return folder / "manifest.json"

    def write(self, folder: Path) -> None:
        """Make this the state of the store in ``folder``."""
        text = json.dumps({"format": _FORMAT, "version": _VERSION} | asdict(self), indent=2)
        write_text_atomically(self.path(folder), text + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The state of the store in ``folder``."""
        path = cls.path(folder)
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
                raise ValueError("not a small plain file")
            return cls._from_json(json.loads(path.read_bytes()))
        except FileNotFoundError as error:
            raise InputError(f"there are no features in {folder}: it has no {path.name}") from error
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError(
                f"{path} is damaged ({error}): delete its folder to have the features computed again"
            ) from error

    @classmethod
    def _from_json(cls, found: Any) -> Manifest:
        if not isinstance(found, dict) or found.get("format") != _FORMAT:
            raise ValueError("not the manifest of a feature store")
        if found.get("version") != _VERSION:
            raise ValueError(f"format version {found.get('version')!r}, while this program reads {_VERSION}")
        manifest = cls(FeatureSpec(**found["spec"]), *(found[field.name] for field in fields(cls)[1:]))
        if not isinstance(manifest.recipe, str):
            raise ValueError("the recipe is not a text")
        if not isinstance(manifest.generation, str) or not re.fullmatch("[0-9a-f]{8}", manifest.generation):
            raise ValueError("the generation is not eight hex digits")
        for name in ("n_rows", "n_values", "n_removed", "keys_crc32"):
            value = getattr(manifest, name)
            if type(value) is not int or not 0 <= value < 2**48:
                raise ValueError(f"{name} is {value!r}")
        return manifest

"""The image-text pairs of this user: each is a folder of checked files, used by all collections."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from visterm.errors import InputError, UsageError
from visterm.pairs.parts import CONFIG, PICTURES, PREPARATION, TEXTS, TOKENIZER, Parts
from visterm.storage import WriteLock, creating_folder, is_there, user_folder, write_error
from visterm.storage.opening import read_regular

#: The recipe and the text encoder of a pair are called by this and its name.
PREFIX = "pair:"
_MANIFEST, _FORMAT = "pair.json", 1
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_MAX_MANIFEST = 2**20


@dataclass(frozen=True, slots=True)
class Trial:
    """What running both halves once has shown.

    ``padded``: texts must be padded to ``text_length`` tokens; otherwise padding makes no difference and is left out.
    ``seconds_per_picture`` is the time of one picture of the right size.
    """

    n_dims: int
    text_length: int
    padded: bool
    seconds_per_picture: float


@dataclass(frozen=True, slots=True)
class Pair:
    """An installed pair: its files with their SHA-256, where it came from, and what its trial has shown."""

    name: str
    folder: Path
    source: str
    installed: str
    sha256: Mapping[str, str]
    trial: Trial = Trial(n_dims=0, text_length=0, padded=True, seconds_per_picture=0.0)  # before it was tried

    @property
    def full_name(self) -> str:
        """What its recipe and its text encoder are called."""
        return PREFIX + self.name

    def fingerprint(self, *names: str) -> str:
        """Sixteen hexadecimal digits of what these files contain; a file that is not there counts as empty."""
        text = json.dumps([self.sha256.get(name, "") for name in names])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def read(self, name: str) -> bytes:
        """A file, exactly as it was installed."""
        try:
            data, _ = read_regular(self.folder / name, 2**31)
        except InputError as error:
            raise InputError(f"{name} of the pair {self.name!r} cannot be read ({error}): {self._again}") from error
        if hashlib.sha256(data).hexdigest() != self.sha256.get(name):
            raise InputError(f"{name} of the pair {self.name!r} is damaged: {self._again}")
        return data

    def settings(self, name: str) -> dict[str, Any]:
        """A JSON object; empty if the pair has no file called ``name``."""
        if name not in self.sha256:
            return {}
        try:
            found = json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{name} of the pair {self.name!r} is not valid JSON: export the pair again") from error
        if not isinstance(found, dict):
            raise InputError(f"{name} of the pair {self.name!r} is not a JSON object: export the pair again")
        return found

    @property
    def n_bytes(self) -> int:
        """What it takes on disk."""
        return sum((self.folder / name).stat().st_size for name in self.sha256)

    @property
    def _again(self) -> str:
        return f"remove it with 'visterm encoder remove {self.name}' and install it again"


def pairs_folder() -> Path:
    """Where all pairs of this user are."""
    return user_folder() / "encoders"


def installed_pairs() -> list[Pair]:
    """The pairs of this user that can be used, the newest first."""
    found = []
    for folder in _folders():
        with suppress(InputError):
            found.append(_read_manifest(folder))
    return sorted(found, key=lambda pair: pair.installed, reverse=True)


def damaged_pairs() -> list[str]:
    """The names of pairs that cannot be used."""
    return sorted({folder.name for folder in _folders()} - {pair.name for pair in installed_pairs()})


def pair_in_use() -> Pair | None:
    """The pair that was installed last, if any: the one that search by any words uses."""
    return next(iter(installed_pairs()), None)


def pair_named(full_name: str) -> Pair:
    """The pair whose recipe and encoder are called ``full_name``."""
    name = full_name.removeprefix(PREFIX)
    if not _NAME.fullmatch(name):
        raise UsageError(f"{full_name!r} is not the name of an image-text pair: see 'visterm encoder list'")
    folder = pairs_folder() / name
    if not is_there(folder):
        known = ", ".join(pair.name for pair in installed_pairs()) or "none"
        raise UsageError(
            f"there is no image-text pair {name!r} on this computer (installed: {known}): "
            "install it with 'visterm encoder install'"
        )
    return _read_manifest(folder)


def add_pair(parts: Parts, name: str, try_out: Callable[[Pair], Trial]) -> Pair:
    """Copy a pair into this user's folder; ``try_out`` runs the copy. Nothing stays if that or anything else fails."""
    folder = pairs_folder() / _checked_name(name)
    try:
        pairs_folder().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(pairs_folder(), error) from error
    with WriteLock(pairs_folder()).held():
        for leftover in pairs_folder().glob(".*.unfinished"):  # of a process that was killed, as the lock is ours
            shutil.rmtree(leftover, ignore_errors=True)
        if is_there(folder):
            raise InputError(
                f"there is already a pair called {name!r}: give this one another name with --name, "
                f"or remove the other first with 'visterm encoder remove {name}'"
            )
        with creating_folder(folder) as unfinished:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            copied = Pair(name, unfinished, str(parts.source.absolute()), now, parts.copy_to(unfinished))
            tried = replace(copied, trial=try_out(copied))
            manifest = {"format": _FORMAT, "source": tried.source, "installed": now, "sha256": dict(tried.sha256)}
            text = json.dumps(manifest | {"trial": asdict(tried.trial)}, indent=1)
            (unfinished / _MANIFEST).write_text(text, encoding="utf-8")
    return replace(tried, folder=folder)


def name_for(source: Path) -> str:
    """A name for the pair in ``source``: that of the folder or zip, in small letters, digits, dots and dashes."""
    plain = re.sub(r"[^a-z0-9._]+", "-", source.absolute().name.lower().removesuffix(".zip")).strip("-._")
    return plain[:64] or "pair"


def remove_pair(name: str) -> bool:
    """Delete the pair called ``name``; returns whether there was one."""
    folder = pairs_folder() / _checked_name(name.removeprefix(PREFIX))
    if not is_there(folder):
        return False
    try:
        (folder / _MANIFEST).unlink(missing_ok=True)  # from now on nobody takes it for a pair
        shutil.rmtree(folder)
    except OSError as error:
        raise write_error(folder, error) from error
    return True


def _folders() -> list[Path]:
    """A folder for each pair, damaged or not."""
    if not is_there(pairs_folder()):
        return []
    return [folder for folder in pairs_folder().glob("*") if _NAME.fullmatch(folder.name) and folder.is_dir()]


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a pair: use up to 64 small letters, digits, dots, dashes and underscores"
        )
    return name


def _read_manifest(folder: Path) -> Pair:
    """The pair in ``folder``; whether its files are whole is seen when they are read."""
    try:
        data, _ = read_regular(folder / _MANIFEST, _MAX_MANIFEST)
        found = json.loads(data)
        trial = Trial(**found["trial"])
        pair = Pair(folder.name, folder, str(found["source"]), str(found["installed"]), dict(found["sha256"]), trial)
        is_whole = (
            found["format"] == _FORMAT
            and all(isinstance(text, str) for text in (*pair.sha256, *pair.sha256.values()))
            and pair.sha256.keys() >= {PICTURES, TEXTS, TOKENIZER, PREPARATION, CONFIG}
            and all((folder / name).is_file() for name in pair.sha256)
            and all(type(getattr(trial, each.name)).__name__ == each.type for each in fields(Trial))
        )
        pair.settings(PREPARATION)  # the recipes of all pairs are made whenever recipes are listed
    except (InputError, ValueError, TypeError, KeyError, RecursionError):
        is_whole = False
    if not is_whole:
        raise InputError(
            f"the image-text pair in {folder} is damaged: "
            f"remove it with 'visterm encoder remove {folder.name}' and install it again"
        )
    return pair

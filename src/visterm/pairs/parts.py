"""The files of an image-text pair, found in a folder or a zip and copied within limits.

A name inside a zip is only compared with the names that are looked for. It never becomes a path.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from visterm.errors import InputError
from visterm.pairs.halves import HELP, cut
from visterm.storage import is_there
from visterm.storage.opening import open_regular

TOKENIZER, PREPARATION, CONFIG = "tokenizer.json", "preprocessor_config.json", "config.json"
TOKENIZER_CONFIG, SPECIAL_TOKENS = "tokenizer_config.json", "special_tokens_map.json"
PICTURES, TEXTS, BOTH = "vision_model.onnx", "text_model.onnx", "model.onnx"
#: The outputs that exporters give the vectors of pictures and texts.
PICTURE_VECTORS, TEXT_VECTORS = "image_embeds", "text_embeds"
_NEEDED = (TOKENIZER, PREPARATION, CONFIG)
_WELCOME = (TOKENIZER_CONFIG, SPECIAL_TOKENS)
#: Exporters write a model in several precisions; the first of these that is there is taken.
_PRECISIONS = ("", "_fp16", "_quantized", "_int8", "_uint8", "_q4f16", "_q4", "_bnb4")
#: An ONNX file is one protocol buffer message, which has at most 2 GiB.
_MAX_MODEL, _MAX_TOKENIZER, _MAX_SETTINGS = 2**31, 2**27, 2**22
_BLOCK = 2**20
#: Opens a file to read its bytes.
Opener = Callable[[], IO[bytes]]


@dataclass(frozen=True, slots=True)
class Parts:
    """The files of a pair that were found: the names they get, and how each is opened."""

    source: Path
    openers: Mapping[str, Opener]

    def copy_to(self, folder: Path) -> dict[str, str]:
        """Copy them into ``folder``, a model with both halves as two; returns their SHA-256 by name."""
        copied = {name: self._copy(name, opener, folder / name) for name, opener in self.openers.items()}
        if copied.pop(BOTH, None) is not None:
            for half, output in ((PICTURES, PICTURE_VECTORS), (TEXTS, TEXT_VECTORS)):
                cut(folder / BOTH, output, folder / half)
                with (folder / half).open("rb") as opened:
                    copied[half] = hashlib.file_digest(opened, "sha256").hexdigest()
            (folder / BOTH).unlink()
        return copied

    def _copy(self, name: str, opener: Opener, target: Path) -> str:
        digest, n_bytes, most = hashlib.sha256(), 0, _most_bytes(name)
        with target.open("xb") as written:
            for block in self._blocks(name, opener):
                n_bytes += len(block)
                if n_bytes > most:
                    raise InputError(f"{name} in {self.source} is larger than {most >> 20} MiB: {HELP}")
                digest.update(block)
                written.write(block)
        return digest.hexdigest()

    def _blocks(self, name: str, opener: Opener) -> Iterator[bytes]:
        try:
            with opener() as stream:
                while block := stream.read(_BLOCK):
                    yield block
        except (InputError, MemoryError):
            raise
        except Exception as error:  # the errors of a disk, of zip and of its decompressors have no common class
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{name} in {self.source} cannot be read: {reason}") from error


@contextmanager
def opened_parts(source: Path) -> Iterator[Parts]:
    """The files of the pair in ``source``, a folder or a zip; it stays open meanwhile."""
    found: dict[str, Opener]
    with ExitStack() as stack:
        try:
            if source.is_dir():
                found = {name: partial(open_regular, source / name) for name in _NAMES if is_there(source / name)}
            else:
                stream = stack.enter_context(open_regular(source))
                found = _zipped(stack.enter_context(zipfile.ZipFile(stream)))
        except FileNotFoundError as error:
            raise InputError(f"there is no {source}: name the folder or zip of a pair") from error
        except OSError as error:
            raise InputError(f"{source} cannot be read: {error.strerror or error}") from error
        except InputError as error:
            raise InputError(f"{source}: {error}") from error
        except (ValueError, NotImplementedError, zipfile.BadZipFile) as error:
            raise InputError(f"{source} is neither a folder nor a zip: {HELP}") from error
        yield _chosen(source, found)


def _most_bytes(name: str) -> int:
    if name.endswith(".onnx"):
        return _MAX_MODEL
    return _MAX_TOKENIZER if name == TOKENIZER else _MAX_SETTINGS


def _zipped(archive: zipfile.ZipFile) -> dict[str, Opener]:
    """What a zip holds beside its only tokenizer.json."""
    entries = [entry for entry in archive.infolist() if entry.filename.endswith(tuple(_NAMES))]
    roots = [entry.filename.removesuffix(TOKENIZER) for entry in entries if _last(entry) == TOKENIZER]
    if len(roots) > 1:
        raise InputError(f"it holds {len(roots)} files called {TOKENIZER}: pack one pair alone")
    found: dict[str, Opener] = {}
    for entry in entries:
        name = entry.filename.removeprefix(roots[0]) if roots else _last(entry)
        if name in found:
            raise InputError(f"it holds two files called {entry.filename}: pack it again")
        if name in _NAMES:
            found[name] = partial(archive.open, entry)
    return found


def _last(entry: zipfile.ZipInfo) -> str:
    return entry.filename.rpartition("/")[2]


def _chosen(source: Path, found: Mapping[str, Opener]) -> Parts:
    """The files that are used; raises an error that names all that are missing."""
    models = {name: opener for name in (PICTURES, TEXTS) if (opener := _first(found, name)) is not None}
    both = _first(found, BOTH)
    if len(models) < 2 and both is not None:
        models = {BOTH: both}
    missing = [name for name in _NEEDED if name not in found]
    if not models:
        missing = [f"{PICTURES} and {TEXTS} (or {BOTH} with both)", *missing]
    elif BOTH not in models:
        missing = [*(name for name in (PICTURES, TEXTS) if name not in models), *missing]
    if missing:
        raise InputError(f"{source} lacks {', '.join(missing)}: {HELP}")
    return Parts(source, models | {name: found[name] for name in (*_NEEDED, *_WELCOME) if name in found})


def _first(found: Mapping[str, Opener], name: str) -> Opener | None:
    """The model called ``name`` in the best precision that is there."""
    return next((found[each] for each in _precisions(name) if each in found), None)


def _precisions(name: str) -> list[str]:
    """The names of a model in several precisions, beside the settings or in the folder ``onnx``, the best first."""
    return [folder + name.replace(".onnx", f"{each}.onnx") for each in _PRECISIONS for folder in ("", "onnx/")]


#: All names that are looked for.
_NAMES = frozenset((*_NEEDED, *_WELCOME, *(each for name in (PICTURES, TEXTS, BOTH) for each in _precisions(name))))

"""A disk to which system calls are replayed: what programs see, what is certain, what a power cut may leave."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512


@dataclass(frozen=True)
class Call:
    """A system call: its name, the paths and data it was given, its result."""

    name: str
    arguments: tuple[str | bytes, ...]
    result: int


@dataclass(frozen=True)
class Write:
    """A write of data at a place, or (``data`` None) a change of the length to ``place``."""

    place: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        if self.data is None:
            content[self.place :] = bytes(max(self.place - len(content), 0))
            return
        if len(content) < self.place:
            content.extend(bytes(self.place - len(content)))
        content[self.place : self.place + len(self.data)] = self.data


@dataclass
class File:
    """A file: what is on the disk for certain, and what was written since."""

    flushed: bytearray = field(default_factory=bytearray)
    pending: list[Write] = field(default_factory=list)

    @property
    def content(self) -> bytes:
        """What a program reads now."""
        content = bytearray(self.flushed)
        for write in self.pending:
            write.apply(content)
        return bytes(content)

    def flush(self) -> None:
        self.flushed, self.pending = bytearray(self.content), []

    def after_a_cut(self, dice: random.Random) -> bytes:
        """What may be there after a power cut."""
        content = bytearray(self.flushed)
        likely = dice.choice((0.0, 0.5, 0.9, 1.0))
        for write in self.pending:
            if dice.random() < likely:
                _torn(write, dice).apply(content)
            elif write.data and dice.random() < 0.3:  # the length is there, the data are not
                end = write.place + len(write.data)
                content.extend(bytes(max(end - len(content), 0)))
        return bytes(content)


def _torn(write: Write, dice: random.Random) -> Write:
    if not write.data or len(write.data) <= SECTOR or dice.random() < 0.7:
        return write
    n_sectors = -(-len(write.data) // SECTOR)
    first, last = sorted(dice.sample(range(n_sectors + 1), 2))
    return Write(write.place + first * SECTOR, write.data[first * SECTOR : last * SECTOR])


@dataclass(frozen=True)
class Entry:
    """A change of a folder: a name that goes, or comes (with its file, None for a folder), or becomes another name."""

    old: str | None
    new: str | None = None
    file: File | None = None

    def apply(self, names: dict[str, File | None]) -> None:
        if self.old is None:
            names[str(self.new)] = self.file
            return
        below = [name for name in names if name == self.old or name.startswith(self.old + "/")]
        moved = {name: names.pop(name) for name in below}
        if self.new is not None and moved:
            names.update({self.new + name.removeprefix(self.old): file for name, file in moved.items()})


class Disk:
    """The files below ``root`` as programs see them, and what of that is on the disk for certain."""

    def __init__(self, root: Path) -> None:
        self.root = str(root.resolve())
        self.names: dict[str, File | None] = {}
        for path in sorted(root.resolve().rglob("*")):
            self.names[str(path)] = None if path.is_dir() else File(bytearray(path.read_bytes()))
        self.flushed_names = dict(self.names)
        self.pending: dict[str, list[Entry]] = {}
        self._places: dict[str, int] = {}

    def take(self, call: Call) -> None:
        """Replay one call."""
        name, arguments = call.name, call.arguments
        if name in ("openat", "open", "creat"):
            self._open(call)
        elif name in ("write", "pwrite64", "ftruncate", "lseek", "fsync", "fdatasync", "sendfile", "copy_file_range"):
            self._on_file(call)
        elif name in ("rename", "renameat", "renameat2"):
            paths = self._paths(call)
            self._rename(*paths)
        elif name in ("unlink", "unlinkat", "rmdir"):
            self._change(Entry(self._paths(call)[0]))
        elif name in ("mkdir", "mkdirat"):
            self._change(Entry(None, self._paths(call)[0]))
        elif name == "close":
            return
        elif any(self._is_below(path) for path in self._paths(call)):
            raise NotImplementedError(f"{name} {arguments[:2]!r}")

    def _is_below(self, path: str) -> bool:
        return (path == self.root or path.startswith(self.root + "/")) and not path.endswith("-shm")

    def _paths(self, call: Call) -> list[str]:
        """The full paths that a call names; a name may follow the folder that it is relative to."""
        paths, folder = [], self.root
        for argument in call.arguments[:-1]:
            if isinstance(argument, bytes):
                paths.append(str(Path(folder, argument.decode(errors="replace"))))
                folder = self.root
            elif argument.startswith("/"):
                folder = argument
        return paths

    def _open(self, call: Call) -> None:
        path, flags = call.arguments[-1], next(a for a in call.arguments if isinstance(a, str) and "O_" in a)
        if not isinstance(path, str) or not self._is_below(path):
            return
        file = self.names.get(path)
        if path not in self.names and "O_CREAT" in flags:
            file = File()
            self._change(Entry(None, path, file))
        if file is None:
            return
        if "O_TRUNC" in flags and file.content:
            file.pending.append(Write(0, None))
        self._places[path] = len(file.content) if "O_APPEND" in flags else 0

    def _on_file(self, call: Call) -> None:
        path = call.arguments[0]
        if not isinstance(path, str) or not self._is_below(path):
            return
        if call.name in ("fsync", "fdatasync"):
            self._flush(path)
            return
        file = self.names.get(path)
        if file is None:  # a folder that is listed, or a file that has no name any more
            return
        if call.name == "lseek":
            self._places[path] = call.result
        elif call.name == "ftruncate":
            file.pending.append(Write(int(call.arguments[1]), None))
        elif call.name == "pwrite64":
            file.pending.append(Write(int(call.arguments[3]), call.arguments[1][: call.result]))
        else:
            place = self._places.get(path, 0)
            data = call.arguments[1][: call.result] if call.name == "write" else self._copied(call)
            if data:
                file.pending.append(Write(place, data))
            self._places[path] = place + len(data)

    def _copied(self, call: Call) -> bytes:
        """What ``sendfile`` or ``copy_file_range`` took from another file, read from its beginning on."""
        path = str(call.arguments[1])
        place = self._places.setdefault(f"read {path}", 0)
        self._places[f"read {path}"] = place + call.result if call.result else 0
        file = self.names.get(path)
        content = file.content if file is not None else Path(path).read_bytes()
        return content[place : place + call.result]

    def _flush(self, path: str) -> None:
        file = self.names.get(path)
        if file is not None:
            file.flush()
            return
        for entry in self.pending.pop(path, []):
            entry.apply(self.flushed_names)

    def _rename(self, old: str, new: str) -> None:
        self._change(Entry(old, new))
        for folder in [name for name in self.pending if name == old or name.startswith(old + "/")]:
            entries = self.pending.pop(folder)
            self.pending[new + folder.removeprefix(old)] = [_moved(entry, old, new) for entry in entries]

    def _change(self, entry: Entry) -> None:
        path = str(entry.new or entry.old)
        if self._is_below(path):
            entry.apply(self.names)
            self.pending.setdefault(str(Path(path).parent), []).append(entry)

    def write_out(self, folder: Path, dice: random.Random | None = None) -> None:
        """Build the folder: as programs see it, or as it may be after a power cut."""
        names = self.names if dice is None else self._names_after_a_cut(dice)
        for name, file in sorted(names.items()):
            path = folder / name.removeprefix(self.root + "/")
            if file is None:
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content if dice is None else file.after_a_cut(dice))

    def _names_after_a_cut(self, dice: random.Random) -> dict[str, File | None]:
        names = dict(self.flushed_names)
        for _, entries in sorted(self.pending.items()):
            for entry in entries[: dice.choice((0, len(entries), dice.randint(0, len(entries))))]:
                entry.apply(names)
        return {name: file for name, file in names.items() if _has_parents(name, names, self.root)}

    @property
    def contents(self) -> dict[str, bytes]:
        """What programs see outside ``.visterm``."""
        below = {name.removeprefix(self.root + "/"): file for name, file in self.names.items()}
        return {name: file.content for name, file in below.items() if file and not _is_own(name)}


def _moved(entry: Entry, old: str, new: str) -> Entry:
    """The same change below a folder that has another name now."""
    names = [name and new + name.removeprefix(old) for name in (entry.old, entry.new)]
    return Entry(*names, entry.file)


def _has_parents(name: str, names: dict[str, File | None], root: str) -> bool:
    parent = str(Path(name).parent)
    return parent == root or (parent in names and _has_parents(parent, names, root))


def _is_own(name: str) -> bool:
    return name.startswith(".visterm/") or Path(name).name.startswith(".visterm-")

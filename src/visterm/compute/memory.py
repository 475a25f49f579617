"""How much memory work may take: what a person allows, else half of what is free.

Work that grows with the collection asks :func:`left` before it starts. It learns from less and says so, or ends with
:class:`TooLittleMemoryError`. What is allowed holds for this process and those that it starts: it is in the
environment, as ``VISTERM_MEMORY``.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

from visterm.errors import UsageError, VistermError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
#: Where the system does not say what is free.
_UNKNOWN = 4 * 10**9
#: What every work takes for its blocks and threads, however large the collection is; and the least to be allowed.
_FIXED, _LEAST = 3 * 10**8, 5 * 10**8
#: Address space that libraries and threads reserve besides, and mostly never use.
_RESERVED = 2 * 10**8
_VARIABLE = "VISTERM_MEMORY"


class TooLittleMemoryError(VistermError):
    """Work would need more memory than it may take; nothing was begun."""

    def __init__(self, what: str, needed: float, allowed: float) -> None:
        super().__init__(
            f"{what} would need about {in_words(needed)} of memory, and {in_words(allowed)} may be used: allow more"
            " with --memory, or close other programs"
        )


def allow(size: str | float | None) -> None:
    """Say how much memory this process may take, such as ``"2GB"``; None: half of what is free."""
    if size is None:
        os.environ.pop(_VARIABLE, None)
    else:
        os.environ[_VARIABLE] = str(n_bytes(size))


def n_bytes(size: str | float) -> int:
    """A size that a person wrote, in bytes.

    >>> n_bytes("1.5 GB")
    1500000000
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(size))
    unit = found and _UNITS.get(found[2].upper() + ("B" if found[2].upper() in ("K", "M", "G", "T") else ""))
    if not found or unit is None:
        raise UsageError(f"{size!r} is no size of memory: write one such as 2GB or 800MB")
    if (number := round(float(found[1]) * unit)) < _LEAST:
        raise UsageError(f"{size!r} is too little memory to work with: allow at least {in_words(_LEAST)}")
    return number


def in_words(number: float) -> str:
    """A number of bytes for people.

    >>> in_words(1_234_567_890), in_words(45_600_000)
    ('1.2 GB', '46 MB')
    """
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{max(0, number) / 1e6:.0f} MB"


def left() -> int:
    """How many bytes work that grows with the collection may still take now."""
    own, free = _status(), _free() // 2
    if own is not None and (limit := _address_space()) is not None:
        free = min(free, limit - own["VmSize"] - _FIXED - _RESERVED)
    allowed = os.environ.get(_VARIABLE)
    if allowed:
        free = min(2 * free, n_bytes(allowed) - _FIXED - (0 if own is None else own["RssAnon"]))
    return max(0, free)


def _free() -> int:
    """What the system, and the group of processes that this one belongs to, has left."""
    free = [_UNKNOWN]
    with suppress(AttributeError, ValueError, OSError):  # not on every system
        free = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    available = _numbers(Path("/proc/meminfo")).get("MemAvailable")
    if available is not None:
        free = [available]
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text(encoding="ascii"))
        files = dict(line.split() for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        free.append(most - int((group / "memory.current").read_text(encoding="ascii")) + int(files["inactive_file"]))
    return max(0, min(free))


def _address_space() -> int | None:
    """The limit of ``ulimit -v``, if there is one."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # on Windows
        return None
    limit = getrlimit(RLIMIT_AS)[0]
    return None if limit == RLIM_INFINITY else limit


def _status() -> dict[str, int] | None:
    """What this process has, where the system tells."""
    found = _numbers(Path("/proc/self/status"))
    return found if {"VmSize", "RssAnon"} <= found.keys() else None


def _numbers(file: Path) -> dict[str, int]:
    """The sizes in a file of the system, in bytes."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = (re.fullmatch(r"(\w+):\s+(\d+) kB", line) for line in lines)
    return {each[1]: 1024 * int(each[2]) for each in found if each}

"""The directories of a TIFF structure, as EXIF and most raw files have them; values stay bytes until they are asked."""

import math
import struct
from collections.abc import Container
from dataclasses import dataclass
from typing import BinaryIO

#: Longer values are not read.
_MAX_BYTES = 16 * 2**20
#: The bytes of one value, by its type.
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_CODES = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I"}
_RATIONALS = {5: "II", 10: "ii"}
_TEXT_KINDS = (1, 2, 6, 7)
#: How a TIFF structure begins; some makers of cameras have heads of their own.
HEADS = (b"II*\0", b"MM\0*", b"IIRO", b"IIRS", b"MMOR", b"IIU\0")


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a field: its type, its bytes, and their order (``<`` or ``>``)."""

    kind: int
    data: bytes
    order: str

    @property
    def text(self) -> bytes | None:
        """The bytes up to the end mark, if this is a text; None for numbers."""
        return self.data.partition(b"\0")[0] if self.kind in _TEXT_KINDS else None

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are whole and count something."""
        return self.kind in (1, 3, 4, 13)

    @property
    def numbers(self) -> list[float]:
        """The numbers; 0/0 is not a number, and another fraction of 0 is infinite. A text has none."""
        size = _SIZES[self.kind]
        data = self.data[: len(self.data) // size * size]
        if self.kind in _RATIONALS:
            pairs = struct.iter_unpack(f"{self.order}{_RATIONALS[self.kind]}", data)
            return [_quotient(above, below) for above, below in pairs]
        code = _CODES.get(self.kind)
        return [] if code is None else [float(number) for (number,) in struct.iter_unpack(f"{self.order}{code}", data)]

    @property
    def number(self) -> float | None:
        """The first number; None if there is none, or it is 0/0."""
        first = next(iter(self.numbers), math.nan)
        return None if math.isnan(first) else first


def _quotient(above: int, below: int) -> float:
    return above / below if below else math.copysign(math.inf, above) if above else math.nan


class Tiff:
    """A TIFF structure in a stream; ``first`` is where its first directory begins, None if it is no TIFF."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.seek(0)
        head = stream.read(8)
        self.order = "<" if head.startswith(b"II") else ">"
        is_tiff = len(head) == 8 and head[:4] in HEADS
        self.first: int | None = struct.unpack(f"{self.order}I", head[4:])[0] if is_tiff else None

    def directory(self, at: int | None, wanted: Container[int]) -> tuple[dict[int, Value], int]:
        """The ``wanted`` fields of the directory at ``at``, where intact, and where the next one is (0: nowhere)."""
        if at is None:
            return {}, 0
        try:
            self._stream.seek(at)
            n_entries = struct.unpack(f"{self.order}H", self._stream.read(2))[0]
            entries = list(struct.iter_unpack(f"{self.order}HHI4s", self._stream.read(12 * n_entries)))
            after = self._stream.read(4)
        except struct.error:
            return {}, 0
        values: dict[int, Value] = {}
        for tag, kind, count, value in entries:
            size = count * _SIZES.get(kind, 0)
            if tag not in wanted or not 0 < size <= _MAX_BYTES:
                continue
            if size <= len(value):  # so short that it stands in place of its offset
                values[tag] = Value(kind, value[:size], self.order)
            else:
                self._stream.seek(struct.unpack(f"{self.order}I", value)[0])
                data = self._stream.read(size)
                if len(data) == size:
                    values[tag] = Value(kind, data, self.order)
        return values, struct.unpack(f"{self.order}I", after)[0] if len(after) == 4 else 0

    def below(self, values: dict[int, Value], pointer: int, wanted: Container[int]) -> dict[int, Value]:
        """The ``wanted`` fields of the directory that the field ``pointer`` points to."""
        number = values[pointer].number if pointer in values else None
        return {} if number is None or not 0 < number < math.inf else self.directory(int(number), wanted)[0]

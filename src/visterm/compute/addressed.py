"""Features at an address, such as a bucket: of a ``.npy`` file, only the rows that somebody asks for are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import InputError, MissingExtraError

#: Rows that lie this many bytes apart, or less, are read together: a request takes longer than these bytes.
_GAP_BYTES = 2**20


class AddressedRows:
    """The features in the ``.npy`` file at an address that fsspec knows, such as ``s3://bucket/features.npy``.

    Methods that learn by sums take it instead of an array. Workers elsewhere get the address and read their own rows.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> np.save(Path(folder.name) / "X.npy", np.eye(3, dtype=np.float32))
    >>> X = AddressedRows(f"file://{folder.name}/X.npy")
    >>> X.shape, X[np.array([2, 0])].tolist()
    ((3, 3), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    >>> folder.cleanup()
    """

    ndim = 2

    def __init__(self, address: str) -> None:
        self.address = address
        with self._open() as file:
            try:
                version = np.lib.format.read_magic(file)
                header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                self.shape, in_columns, self.dtype = header[version](file)
            except (KeyError, ValueError) as error:
                raise InputError(f"{address} is not a .npy file: {error}") from error
            self._start = file.tell()
        if len(self.shape) != 2 or in_columns or self.dtype.kind != "f":
            raise InputError(f"{address} must hold rows of floating-point numbers, not {self.shape} of {self.dtype}")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice | NDArray[Any]) -> NDArray[Any]:
        """A copy of some rows; an error if a number is not finite."""
        wanted = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else np.asarray(rows)
        found = np.empty((len(wanted), self.shape[1]), self.dtype)
        order = np.argsort(wanted, kind="stable")
        row_bytes = max(1, self.shape[1] * self.dtype.itemsize)
        apart = np.flatnonzero(np.diff(wanted[order]) * row_bytes > _GAP_BYTES) + 1
        with self._open() as file:
            for places in np.split(order, apart) if len(order) else ():
                first, last = int(wanted[places[0]]), int(wanted[places[-1]])
                file.seek(self._start + first * row_bytes)
                read = np.frombuffer(file.read((last + 1 - first) * row_bytes), self.dtype)
                found[places] = read.reshape(-1, self.shape[1])[wanted[places] - first]
        if not np.isfinite(found).all():
            raise InputError(f"{self.address} contains NaN or infinity")
        return found

    def _open(self) -> Any:
        try:
            import fsspec
        except ImportError as error:
            raise MissingExtraError("fsspec", "s3", f"reading {self.address}") from error
        try:
            return fsspec.open(self.address, "rb", cache_type="none").open()
        except ImportError as error:  # the package for this kind of address
            raise MissingExtraError("s3fs", "s3", f"reading {self.address}") from error
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read {self.address}: {error}") from error

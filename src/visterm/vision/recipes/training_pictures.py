"""The pictures a recipe learns from: decoded in parallel on each pass, never all in memory."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute import Engine, map_shards, split
from visterm.errors import InputError, PictureError
from visterm.vision.decode import decode_rgb

R = TypeVar("R")
_PICTURES_PER_TASK = 8


class TrainingPictures:
    """A sample of a collection; several passes over it are possible."""

    def __init__(self, files: Sequence[Path], *, pixel_budget: int) -> None:
        self.files = list(files)
        self.pixel_budget = pixel_budget

    def __len__(self) -> int:
        return len(self.files)

    def map(self, function: Callable[[NDArray[np.uint8]], R], description: str) -> Iterator[R]:
        """``function`` of every picture that can be decoded, in order, computed in parallel."""

        def of_shard(rows: slice) -> list[R]:
            return [function(rgb) for file in self.files[rows] if (rgb := self._decoded(file)) is not None]

        shards = split(len(self.files), size=_PICTURES_PER_TASK)
        engine = Engine.from_environment()  # workers read the pictures by themselves
        for results in map_shards(lambda shard: of_shard(shard.rows), shards, engine=engine, description=description):
            yield from results

    def sample_rows(
        self,
        describe: Callable[[NDArray[np.uint8]], NDArray[np.float32]],
        max_rows: int,
        *,
        seed: int,
        description: str,
    ) -> NDArray[np.float32]:
        """About ``max_rows`` of the rows that ``describe`` returns, drawn at random, equally many per picture.

        The draw depends only on the picture's pixels and ``seed``, however the work is distributed.
        """
        per_picture = max(1, -(-max_rows // max(1, len(self.files))))

        def drawn(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
            rows = describe(rgb)
            if len(rows) <= per_picture:
                return rows
            rng = np.random.default_rng([seed, len(rows), int(rgb[:: max(1, len(rgb) // 16)].sum())])
            return rows[np.sort(rng.choice(len(rows), per_picture, replace=False))]

        parts = [part for part in self.map(drawn, description) if len(part)]
        if not parts:
            raise InputError("there is nothing to learn from: no picture of the sample has a descriptor")
        return np.concatenate(parts)

    def _decoded(self, file: Path) -> NDArray[np.uint8] | None:
        try:
            return decode_rgb(file, pixel_budget=self.pixel_budget)
        except (OSError, PictureError):
            return None

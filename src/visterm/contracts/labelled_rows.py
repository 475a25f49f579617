"""Shards of labelled pictures: which rows of the features they are, and their labels; never the features."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from visterm.compute.parallel import Shard, split


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LabelledRows(Shard):
    """Pictures ``taken`` (rows of features that a task opens by itself), and their ``labels``, sparse or dense."""

    taken: NDArray[Any]
    labels: Any


def labelled_shards(rows: NDArray[Any], labels: Any, *, size: int) -> list[LabelledRows]:
    """The pictures at ``rows``, whose labels are those of ``labels`` (len(rows), n_labels), in shards.

    >>> import numpy as np
    >>> from scipy import sparse
    >>> shards = labelled_shards(np.array([4, 7, 9]), sparse.csr_array(np.eye(3)), size=2)
    >>> [(shard.taken.tolist(), shard.labels.indices.tolist()) for shard in shards]
    [([4, 7], [0, 1]), ([9], [2])]
    """
    return [
        LabelledRows(start=part.start, stop=part.stop, taken=rows[part.rows], labels=labels[part.rows])
        for part in split(len(rows), size=size)
    ]

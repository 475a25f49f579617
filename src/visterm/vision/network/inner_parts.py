"""What the inner stages of a network know of a picture: textures, colours and layouts that the last layer forgets.

A network's last vector names objects. Before it, each of seven stages has maps of its own. Three kinds of numbers are
taken of them:

- the means of the channels of stages 3 to 7;
- the deviations of the channels of stages 3 to 5, whose maps have enough places;
- which channels of stage 5 occur together: the mean products of 32 directions, their signed roots. The directions are
  those in which the first weights of stage 6 are longest, that is, what the network itself looks at most.

A backend computes only means of maps and of their products, side by side as one vector of "moments"
(:class:`InnerParts` knows the places); the rest is done here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from visterm.vision.network.blocks import Block

#: The stages, counted from 1, whose means and whose deviations are taken, and the one whose products are.
MEANS, DEVIATIONS, PRODUCTS = (3, 4, 5, 6, 7), (3, 4, 5), 5
#: The number of directions whose products are taken.
N_DIRECTIONS = 32


@dataclass(frozen=True, slots=True, eq=False)
class InnerParts:
    """Where the inner parts of a network are: ``ends``, the places of the last blocks of its stages.

    The moments are the last vector (``n_head`` numbers), the means of stages :data:`MEANS`, the mean squares of stages
    :data:`DEVIATIONS`, and the mean products of the ``directions`` (n_directions, n_channels) of stage 5 in full.
    """

    ends: tuple[int, ...]
    widths: tuple[int, ...]
    n_head: int
    directions: NDArray[np.float32]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> Self:
        """The inner parts of these blocks: a stem, seven stages and the last layer."""
        ends = tuple(i - 1 for i in range(2, len(blocks)) if not blocks[i].adds_input)
        widths = tuple(len(blocks[end].convolutions[-1].weights) for end in ends)
        looks = blocks[ends[PRODUCTS - 1] + 1].convolutions[0].weights[:, :, 0, 0]
        return cls(ends, widths, len(blocks[-1].convolutions[-1].weights), _main_directions(looks))

    @property
    def n_stages(self) -> int:
        """How many means and deviations there are."""
        return sum(self._widths(MEANS)) + sum(self._widths(DEVIATIONS))

    @property
    def n_moments(self) -> int:
        """The length of the moments."""
        return self.n_head + self.n_stages + len(self.directions) ** 2

    def split(self, moments: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        """The last vector, the means and deviations, and the signed roots of products, from (n, n_moments) moments."""
        means_end = self.n_head + sum(self._widths(MEANS))
        squares_end = self.n_head + self.n_stages
        vectors, means, squares, products = np.split(moments, [self.n_head, means_end, squares_end], axis=1)
        # Stages 3 to 5 come first among the means.
        own = means[:, : squares.shape[1]]
        deviations = np.sqrt(np.maximum(squares - own * own, 0))
        k = len(self.directions)
        above = products.reshape(-1, k, k)[(slice(None), *np.triu_indices(k))]
        return vectors, np.hstack([means, deviations]), np.sign(above) * np.sqrt(np.abs(above))

    def _widths(self, stages: Sequence[int]) -> list[int]:
        return [self.widths[stage - 1] for stage in stages]


def n_products(n_directions: int = N_DIRECTIONS) -> int:
    """How many products of two directions there are.

    >>> n_products(2)
    3
    """
    return n_directions * (n_directions + 1) // 2


def _main_directions(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n_directions, n_channels): orthogonal directions in which the rows of ``weights`` are longest.

    Their signs are such that the largest number of each is positive, so that they are the same on every machine.
    """
    directions = np.linalg.svd(weights.astype(np.float64), full_matrices=False)[2][:N_DIRECTIONS]
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    return np.asarray(directions * np.sign(largest)[:, None], np.float32)

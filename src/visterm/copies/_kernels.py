"""Compiled loops that lay one small picture over another and measure how well they agree."""

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled

#: How much a picture may be stretched, shifted (from -1 to 1 is a whole side) and changed in contrast by a copy.
_LEAST_STRETCH, _MOST_STRETCH, _MOST_SHIFT, _MOST_GAIN = 0.84, 1.2, 0.2, 3.0
#: Pictures that agree less when seen at a quarter, or at half the size, are not looked at more closely.
_HOPELESS_AT_A_QUARTER, _HOPELESS_AT_HALF = 0.6, 0.7
#: Pictures that agree so well as they are need no stretching.
_CLEAR = 0.9
#: Variance of grey levels that is noise, and the deviation from which a window counts no more.
_NOISE, _STRONG = 4.0, 12.0
#: The share of windows that must lie in both pictures.
_COVERED = 0.6


@compiled
def likest_turns(
    one: NDArray[np.float32], other: NDArray[np.float32], turns: NDArray[np.int8], likeness: NDArray[np.float32]
) -> None:
    """In which of eight positions the hashes ``other`` are likest to ``one``, row by row, and how like: a cosine.

    A position is transposed (4), upside down (2), mirrored (1), or several of these; in a hash, odd waves change sign.
    """
    n_rows, n_waves, _ = one.shape
    for row in range(n_rows):
        likeness[row] = -2.0
        for turn in range(8):
            total = np.float32(0.0)
            for i in range(n_waves):
                for j in range(n_waves):
                    k, m = (j, i) if turn & 4 else (i, j)
                    is_odd = ((turn & 2) >> 1 & k & 1) ^ (turn & 1 & m & 1)
                    value = one[row, i, j] * other[row, k, m]
                    total += -value if is_odd else value
            if total > likeness[row]:
                likeness[row], turns[row] = total, turn


@compiled
def agreements(
    fixed: NDArray[np.float32], moving: NDArray[np.float32], turns: NDArray[np.int8], found: NDArray[np.float32]
) -> None:
    """How well the small pictures ``moving``, turned and laid over ``fixed``, agree: 1 is as well as possible.

    Each is stretched and shifted until it fits best, coarsely first. What fits only when distorted does not agree: 0.
    """
    n_pairs, side, _ = fixed.shape
    turned = np.empty((side, side), np.float32)
    p = np.empty(6)
    for pair in range(n_pairs):
        _turn(moving[pair], turns[pair], turned)
        p[:] = 0.0
        p[0] = p[2] = p[4] = 1.0
        found[pair] = _agreement(fixed[pair], turned, p, False)
        if found[pair] > _CLEAR:
            continue
        for factor in (4, 2, 1):
            one, other = _pooled(fixed[pair], factor), _pooled(turned, factor)
            one_fitted, other_fitted = _standardised(one), _standardised(other)
            for _ in range(8 if factor == 4 else 5):
                if _fit_step(one_fitted, other_fitted, p) < 1e-7:
                    break
            found[pair] = _agreement(one, other, p, factor > 1)
            least = _HOPELESS_AT_A_QUARTER if factor == 4 else _HOPELESS_AT_HALF
            if found[pair] < least or _is_distorted(p):
                found[pair] = 0.0
                break


@compiled
def _turn(picture: NDArray[np.float32], turn: int, out: NDArray[np.float32]) -> None:
    side = len(picture)
    for y in range(side):
        for x in range(side):
            row, column = (x, y) if turn & 4 else (y, x)
            row = side - 1 - row if turn & 2 else row
            column = side - 1 - column if turn & 1 else column
            out[y, x] = picture[row, column]


@compiled
def _pooled(picture: NDArray[np.float32], factor: int) -> NDArray[np.float32]:
    """Means of ``factor`` x ``factor`` pixels."""
    side = len(picture) // factor
    out = np.zeros((side, side), np.float32)
    for y in range(side * factor):
        for x in range(side * factor):
            out[y // factor, x // factor] += picture[y, x]
    return out / np.float32(factor * factor)


@compiled
def _standardised(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    return (picture - picture.mean()) / np.float32(max(picture.std(), 1e-3))


@compiled
def _is_distorted(p: NDArray[np.float64]) -> bool:
    for axis in (0, 2):
        if not (_LEAST_STRETCH < p[axis] < _MOST_STRETCH and abs(p[axis + 1]) < _MOST_SHIFT):
            return True
    return not 1 / _MOST_GAIN < p[4] < _MOST_GAIN


@compiled
def _fit_step(fixed: NDArray[np.float32], moving: NDArray[np.float32], p: NDArray[np.float64]) -> float:
    """One step of Gauss and Newton: ``fixed`` becomes gain x ``moving``, stretched and shifted, + offset.

    ``p`` is stretch and shift in x, the same in y, gain, offset. Coordinates run from -1 to 1. Pixels that do not fit,
    such as those of a watermark, count less. Returns the squared length of the step.
    """
    side = len(fixed)
    middle = (side - 1) / 2.0
    system, slope = np.zeros((6, 7)), np.zeros(6)
    for row in range(side):
        y = (row - middle) / middle
        v = (p[2] * y + p[3]) * middle + middle
        top = int(np.floor(v))
        if top < 0 or top + 1 >= side:
            continue
        for column in range(side):
            x = (column - middle) / middle
            u = (p[0] * x + p[1]) * middle + middle
            left = int(np.floor(u))
            if left < 0 or left + 1 >= side:
                continue
            a, b = u - left, v - top
            upper, lower = moving[top], moving[top + 1]
            dx = ((1 - b) * (upper[left + 1] - upper[left]) + b * (lower[left + 1] - lower[left])) * middle
            dy = ((1 - a) * (lower[left] - upper[left]) + a * (lower[left + 1] - upper[left + 1])) * middle
            value = _between(moving, top, left, a, b)
            residual = fixed[row, column] - p[4] * value - p[5]
            weight = 1.0 / (1.0 + 4.0 * residual * residual)
            slope[0], slope[1], slope[2], slope[3] = p[4] * dx * x, p[4] * dx, p[4] * dy * y, p[4] * dy
            slope[4], slope[5] = value, 1.0
            for i in range(6):
                for j in range(i, 6):
                    system[i, j] += weight * slope[i] * slope[j]
                system[i, 6] += weight * slope[i] * residual
    _solve(system, 1e-6 * side * side)
    length = 0.0
    for i in range(6):
        p[i] += system[i, 6]
        length += system[i, 6] ** 2
    return length


@compiled
def _between(picture: NDArray[np.float32], top: int, left: int, a: float, b: float) -> float:
    upper = (1 - a) * picture[top, left] + a * picture[top, left + 1]
    return (1 - b) * upper + b * ((1 - a) * picture[top + 1, left] + a * picture[top + 1, left + 1])


@compiled
def _solve(system: NDArray[np.float64], ridge: float) -> None:
    """Solve a positive definite system, given by its upper half; its last column becomes the answer."""
    n = len(system)
    for i in range(n):
        for j in range(i):
            system[i, j] = system[j, i]
    for i in range(n):
        system[i, i] = 1.001 * system[i, i] + ridge
    for k in range(n):
        for i in range(k + 1, n):
            factor = system[i, k] / system[k, k]
            for j in range(k, n + 1):
                system[i, j] -= factor * system[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            system[k, n] -= system[k, j] * system[j, n]
        system[k, n] /= system[k, k]


@compiled
def _agreement(fixed: NDArray[np.float32], moving: NDArray[np.float32], p: NDArray[np.float64], coarse: bool) -> float:
    """The mean correlation in windows, each weighted by how much there is to see in it.

    Pictures of which a ``coarse`` view shows too little in both are not judged yet. Seen closely, the windows at the
    edge count once with the others, and are once left out: dark frames and corners agree in pictures of plain skies.
    """
    window = 6 if coarse else 8
    side = len(fixed)
    n_windows, n_covered = side // window, 0
    total, weights, inner, inner_weights = 0.0, 1e-9, 0.0, 1e-9
    for down in range(n_windows):
        for across in range(n_windows):
            n, one, other, both = _window(fixed, moving, p, down * window, across * window, window)
            if n < _COVERED * window * window:
                continue
            n_covered += 1
            weight = min(np.sqrt(np.sqrt(one * other)), _STRONG)
            total += weight * both / np.sqrt((one + _NOISE) * (other + _NOISE))
            weights += weight
            if min(down, across) > 0 and max(down, across) < n_windows - 1:
                inner += weight * both / np.sqrt((one + _NOISE) * (other + _NOISE))
                inner_weights += weight
    if coarse:
        return total / weights
    return min(total / weights, inner / inner_weights) if n_covered > _COVERED * n_windows**2 else 0.0


@compiled
def _window(
    fixed: NDArray[np.float32], moving: NDArray[np.float32], p: NDArray[np.float64], first: int, begin: int, window: int
) -> tuple[int, float, float, float]:
    """The number of pixels in both pictures, the variance in each, and the covariance."""
    side = len(fixed)
    middle = (side - 1) / 2.0
    n, f, m, ff, mm, fm = 0, 0.0, 0.0, 0.0, 0.0, 0.0
    for row in range(first, first + window):
        v = (p[2] * (row - middle) / middle + p[3]) * middle + middle
        top = int(np.floor(v))
        if top < 0 or top + 1 >= side:
            continue
        for column in range(begin, begin + window):
            u = (p[0] * (column - middle) / middle + p[1]) * middle + middle
            left = int(np.floor(u))
            if left < 0 or left + 1 >= side:
                continue
            one, other = fixed[row, column], _between(moving, top, left, u - left, v - top)
            n += 1
            f += one
            m += other
            ff += one * one
            mm += other * other
            fm += one * other
    if n == 0:
        return 0, 0.0, 0.0, 0.0
    return n, max(ff / n - (f / n) ** 2, 0.0), max(mm / n - (m / n) ** 2, 0.0), fm / n - f * m / n / n

"""Compiled inner loops of the dual solvers. Each names its NumPy equivalent, and the tests compare both.

Everywhere ``f`` are scores and ``at`` are the coordinates: ``b`` dual variables, ``y`` labels of -1 and 1, ``C``
weights (0: the coordinate is absent). ``theta = C b y`` are the coefficients of the expansion, so that ``f = theta G``.
"""

from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.compute.compiled import compiled
from visterm.margin.solver.arrays import Block, Coordinates, LossCode

Array = NDArray[Any]

#: The largest number of refining rounds.
_REFINE_ROUNDS = 100
_NEWTON_STEPS = 100  # halving alone needs about fifty; Newton needs only a few
#: A step this small beside the value ends Newton's method.
_NEWTON_TOLERANCE = 1e-12
#: A step of Newton's method longer than this share of the one before is replaced by halving the interval.
_SHORTER = 0.5
#: The sigmoid of less than this is zero; ``exp`` would overflow.
_LEAST_LOGIT = -700.0
_CG_STEPS = 20
_CG_REDUCTION = 0.1
_STATE = np.uint64(88172645463325252)  # of the random generator, changed by a seed


@compiled
def best_dual(b: float, m: float, q: float, loss: LossCode) -> float:
    """The maximiser of ``-conjugate(b') - (b' - b) m - (b' - b)^2 q / 2``, see ``losses``."""
    is_logistic, gamma, low, high = loss
    if not is_logistic:
        curvature = q + gamma
        if curvature <= 0.0:  # a picture without features: only the loss matters
            # mutants: < -> <=: without curvature and at a margin of exactly 1, every value is a maximiser
            return high if m < 1.0 else b
        return min(max(b + (1.0 - m - gamma * b) / curvature, low), high)
    # With b' = sigmoid(s) the maximiser is the root of s + m + q (sigmoid(s) - b), which increases in s.
    # mutants: 1.0 -> 2.0, - -> + (2): a longer interval also contains the root; halving it only takes a step more
    left, right = -m - q * (1.0 - b), -m + q * b
    s = 0.5 * (left + right)
    if 0.0 < b < 1.0:
        s = min(max(log(b / (1.0 - b)), left), right)
    before = right - left
    for _ in range(_NEWTON_STEPS):
        p = 1.0 / (1.0 + exp(-s)) if s > _LEAST_LOGIT else 0.0
        h = s + m + q * (p - b)
        # mutants: > -> >=: at the root itself the change is 0 and the loop ends
        if h > 0.0:
            right = s
        else:
            left = s
        change = -h / (1.0 + q * p * (1.0 - p))
        # mutants: * -> /, 1.0 -> 2.0: Newton's last step is a rounding error beside any of these tolerances
        if abs(change) <= _NEWTON_TOLERANCE * (1.0 + abs(s)):
            break
        # Far from the root Newton's steps can go to and fro: only steps that become shorter are taken.
        if not left < s + change < right or abs(change) > _SHORTER * before:
            change = 0.5 * (left + right) - s
        before = abs(change)
        s += change
    return 1.0 / (1.0 + exp(-s)) if s > _LEAST_LOGIT else 0.0


@compiled
def coordinate_gap(b: float, m: float, loss: LossCode) -> float:
    """``value(m) + conjugate(b) + b m``: never negative, and its weighted sum over coordinates is the duality gap."""
    return loss_value(m, loss) + conjugate(b, loss) + b * m


@compiled
def loss_value(m: float, loss: LossCode) -> float:
    """``Loss.value`` of one margin."""
    is_logistic, gamma, low, high = loss
    if is_logistic:
        # mutants: > -> >=, 0.0 -> 1.0: both forms are the same function; only for very large margins one of them would
        #   overflow
        return log(1.0 + exp(-m)) if m > 0.0 else -m + log(1.0 + exp(m))
    slack = 1.0 - m
    # mutants: > -> >=: a slack of 0 is multiplied by the bound
    bound = high if slack > 0.0 else low
    b = min(max(slack / gamma, low), high) if gamma > 0.0 else bound
    return b * slack - 0.5 * gamma * b * b


@compiled
def conjugate(b: float, loss: LossCode) -> float:
    """``Loss.conjugate`` of one dual variable within its range."""
    is_logistic, gamma, _, _ = loss
    if is_logistic:
        return (b * log(b) if b > 0.0 else 0.0) + ((1.0 - b) * log(1.0 - b) if b < 1.0 else 0.0)
    return -b + 0.5 * gamma * b * b


@compiled
def task_values(f: Array, at: Coordinates, loss: LossCode, out: Array) -> None:
    """``out[t] = (sum(theta f), sum(C value(y f)), sum(C conjugate(b)))`` of every task, summed in double precision."""
    b, y, C = at
    for t in range(f.shape[0]):
        norm, losses, conjugates = 0.0, 0.0, 0.0
        for i in range(f.shape[1]):
            weight = C[t, i]
            # mutants: > -> >=: a weight of 0 adds 0 to every sum
            if weight > 0.0:
                m = float(y[t, i]) * f[t, i]
                norm += weight * b[t, i] * m
                losses += weight * loss_value(m, loss)
                conjugates += weight * conjugate(b[t, i], loss)
        out[t, 0], out[t, 1], out[t, 2] = norm, losses, conjugates


@compiled
def ascend_block(block: Block, at: Coordinates, loss: LossCode) -> None:
    """One exact coordinate step for each picture of a block in turn, task by task.

    In NumPy, for each t and i with ``row = rows[i]``, ``b = at.b[t, row]`` and so on: ``db = best_dual(b, y f[t, i],
    C G[i, i]) - b``, then ``at.b[t, row] += db``, ``delta[t, i] += C y db`` and ``f[t] += C y db G[i]``.
    """
    G, rows, f, delta = block
    b, y, C = at
    n_tasks, size = f.shape
    for t in range(n_tasks):
        for i in range(size):
            row = rows[i]
            weight = C[t, row]
            if weight <= 0.0:
                continue
            old = b[t, row]
            b[t, row] = best_dual(old, y[t, row] * f[t, i], weight * G[i, i], loss)
            if b[t, row] != old:
                # mutants: * -> /: y is 1 or -1
                change = weight * y[t, row] * (b[t, row] - old)
                delta[t, i] += change
                for j in range(size):
                    f[t, j] += change * G[i, j]


@compiled
def ascend_coupled(block: Block, M: Array, at: Coordinates, loss: LossCode) -> None:
    """:func:`ascend_block` for the coordinates (t, i) of the kernel ``M[t, t'] G[i, j]``: the paper's U step.

    All tasks of a picture take their step before the change, ``M delta[:, i]``, is added to the rest of the block.
    """
    G, rows, f, delta = block
    b, y, C = at
    n_tasks, size = f.shape
    passed_on = np.empty(n_tasks, f.dtype)
    for i in range(size):
        row = rows[i]
        passed_on[:] = 0.0
        # mutants: False -> True: if nothing changed, zeros are added to the scores
        changed = False
        for t in range(n_tasks):
            weight = C[t, row]
            if weight <= 0.0:
                continue
            old = b[t, row]
            m = y[t, row] * (f[t, i] + passed_on[t] * G[i, i])
            b[t, row] = best_dual(old, m, weight * M[t, t] * G[i, i], loss)
            if b[t, row] != old:
                changed = True
                # mutants: * -> /: y is 1 or -1
                change = weight * y[t, row] * (b[t, row] - old)
                delta[t, i] += change
                for u in range(n_tasks):
                    passed_on[u] += change * M[t, u]
        if changed:
            for u in range(n_tasks):
                for j in range(size):
                    f[u, j] += passed_on[u] * G[i, j]


@compiled
def gather(G: Array, rows: Array, shift: float) -> Array:
    """``G[ix_(rows, rows)] + shift``, four rows at a time, so that memory reads overlap."""
    size = len(rows)
    block = np.empty((size, size), G.dtype)
    whole = size - size % 4
    for i in range(0, whole, 4):
        first, second, third, fourth = G[rows[i]], G[rows[i + 1]], G[rows[i + 2]], G[rows[i + 3]]
        for j in range(size):
            column = rows[j]
            block[i, j] = first[column] + shift
            block[i + 1, j] = second[column] + shift
            block[i + 2, j] = third[column] + shift
            block[i + 3, j] = fourth[column] + shift
    for i in range(whole, size):
        for j in range(size):
            block[i, j] = G[rows[i], rows[j]] + shift
    return block


@compiled
def add_rows(theta: Array, G: Array, start: int, stop: int, out: Array) -> None:
    """``out[:, start:stop] += theta @ G[:, start:stop]``, for a ``theta`` that is mostly zero."""
    n_tasks, n_rows = theta.shape
    for i in range(n_rows):
        row = G[i, start:stop]
        for t in range(n_tasks):
            weight = theta[t, i]
            if weight != 0.0:
                scores = out[t, start:stop]
                for j in range(len(scores)):
                    scores[j] += weight * row[j]


@compiled
def unsettled(f: Array, at: Coordinates, loss: LossCode) -> tuple[Array, Array]:
    """The coordinates of one task that are not settled at a bound, in order, and the gap of each.

    A coordinate is settled if its dual gradient, ``1 - m - gamma b``, points out of its range. In NumPy, for quadratic
    conjugates: ``flatnonzero((C > 0) & ~((b <= low) & (gradient < 0) | (b >= high) & (gradient > 0)))``.
    """
    b, y, C = at
    is_logistic, gamma, low, high = loss
    n = len(f)
    chosen = np.empty(n, np.int64)
    gaps = np.empty(n, np.float64)
    count = 0
    for i in range(n):
        if C[i] > 0.0:
            m = y[i] * f[i]
            gradient = 1.0 - m - gamma * b[i]
            settled = (b[i] <= low and gradient < 0.0) or (b[i] >= high and gradient > 0.0)
            if is_logistic or not settled:
                chosen[count] = i
                gaps[count] = C[i] * coordinate_gap(b[i], m, loss)
                count += 1
    return chosen[:count], gaps[:count]


@compiled
def refine(G: Array, f: Array, at: Coordinates, loss: LossCode, target: float, seed: int) -> None:
    """Solve the subproblem of a few coordinates of one task until their share of the gap is below ``target``.

    A round is one pass of coordinate steps in random order. When a pass moves no coordinate to or from a bound, and the
    conjugate is quadratic, only a linear system is left, and :func:`solve_inside` takes a long step towards its
    solution. Both always raise the dual. ``G`` is the coordinates' Gram matrix; ``f`` and ``at.b`` are changed in
    place.
    """
    b, y, C = at
    is_logistic, _, low, high = loss
    size = len(f)
    order = np.arange(size)
    curvature = np.empty(size)
    for j in range(size):
        curvature[j] = C[j] * G[j, j]
    state = np.uint64(seed) ^ _STATE
    for _ in range(_REFINE_ROUNDS):
        bounds_settled = True
        state = shuffle(order, state)
        for i in order:
            old = b[i]
            b[i] = best_dual(old, y[i] * f[i], curvature[i], loss)
            if b[i] != old:
                # mutants: (low<old<high)==(low<b[i]<high) -> low<old<high!=low<b[i]<high: it differs only if a variable
                #   jumps from one bound to the other, and then the long step comes a round later
                bounds_settled = bounds_settled and (low < old < high) == (low < b[i] < high)
                # mutants: * -> /: y is 1 or -1
                change = f.dtype.type(C[i] * y[i] * (b[i] - old))
                for j in range(size):
                    f[j] += change * G[i, j]
        gap = 0.0
        for j in range(size):
            gap += C[j] * coordinate_gap(b[j], y[j] * f[j], loss)
        # mutants: <= -> <: the target is a tolerance, and a gap that equals it to the last bit is a tie
        if gap <= target:
            break
        if bounds_settled and not is_logistic:
            solve_inside(G, f, at, loss)


@compiled
def shuffle(order: Array, state: Any) -> Any:
    """Shuffle ``order`` with a xorshift generator, in a tenth of NumPy's time, and return the generator's state."""
    for i in range(len(order) - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        place = np.int64(((state >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[place] = order[place], order[i]
    return state


@compiled
def _towards_solution(G: Array, f: Array, at: Coordinates, loss: LossCode) -> Array:
    """The step of theta after some conjugate gradients for the coordinates inside their range; 0 for all others."""
    b, y, C = at
    _, gamma, low, high = loss
    size = len(f)
    inside = np.zeros(size, f.dtype)
    for i in range(size):
        if low < b[i] < high:
            inside[i] = 1.0
    residual = inside * (y * (1.0 - gamma * b) - f)
    direction = residual.astype(f.dtype)
    step = np.zeros(size, f.dtype)
    squared = float((residual * residual).sum())
    enough = _CG_REDUCTION * _CG_REDUCTION * squared
    for _ in range(_CG_STEPS):
        # mutants: <= -> <: a tie of real numbers, or a residual of 0, which has no curvature and ends the loop as well
        if squared <= enough:
            break
        image = np.dot(G, direction) + gamma * direction / C
        curvature = float((direction * image).sum())
        if curvature <= 0.0:
            break
        length = squared / curvature
        step = (step + length * direction).astype(f.dtype)
        residual = residual - length * inside * image
        following = float((residual * residual).sum())
        direction = (residual + (following / squared) * direction).astype(f.dtype)
        squared = following
    return step


@compiled
def solve_inside(G: Array, f: Array, at: Coordinates, loss: LossCode) -> None:
    """Move the coordinates inside their range towards the solution of their linear system, as far as the dual rises.

    With theta = C b y the dual's gradient is ``y (1 - gamma b) - f`` and its Hessian ``-(G + diag(gamma / C))``.
    """
    b, y, C = at
    _, gamma, low, high = loss
    size = len(f)
    step = _towards_solution(G, f, at, loss)
    # First try the whole step, with each coordinate clipped to its range. If that lowers the dual, take the longest
    # step along the line that stays in range. This cannot lower the dual: it is concave, and the line leads to its
    # maximum.
    longest = 1.0
    # mutants: 2 -> 3: a third attempt would be the second one again
    for attempt in range(2):
        clipped = np.zeros(size, f.dtype)
        for i in range(size):
            # mutants: * -> / (2): y is 1 or -1
            change = longest * step[i] * y[i] / C[i]
            # mutants: * -> /: y is 1 or -1
            clipped[i] = C[i] * y[i] * (min(max(b[i] + change, low), high) - b[i])
        image = np.dot(G, clipped)
        rise = 0.0
        for i in range(size):
            # mutants: * -> /: y is 1 or -1
            db = clipped[i] * y[i] / C[i]
            rise += C[i] * (db - gamma * db * (b[i] + 0.5 * db)) - clipped[i] * (f[i] + 0.5 * image[i])
        # mutants: > -> >=: a step without any rise is no step, or a tie
        if rise > 0.0:
            for i in range(size):
                # mutants: * -> /: y is 1 or -1
                b[i] = min(max(b[i] + clipped[i] * y[i] / C[i], low), high)
                f[i] += image[i]
            return
        if attempt == 0:
            for i in range(size):
                # mutants: * -> /: y is 1 or -1
                change = step[i] * y[i] / C[i]
                # mutants: > -> >=: a step that ends at the bound may have its whole length
                if b[i] + change > high:
                    longest = min(longest, (high - b[i]) / change)
                elif b[i] + change < low:
                    longest = min(longest, (low - b[i]) / change)

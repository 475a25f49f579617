"""Dual ascent on a device: all tasks at once, to the same duality gap as coordinate ascent.

Coordinate steps are small, so a GPU would mostly wait. The alternating direction method of multipliers (Boyd et al.
2011) takes large ones. With coefficients ``theta`` and the Gram matrix G, the dual of separate tasks (M = I) and of
coupled ones is

    minimise   <theta, M theta G> / 2 + sum_ti C_ti l*(-b_ti),     theta_ti = C_ti b_ti y_ti

It alternates between the quadratic part, solved exactly in the eigenvectors of M and G, and the losses, solved one
coordinate at a time; ``penalty`` pulls both answers together. What it returns satisfies the bounds of the dual
variables, and its gap is computed from new scores, so it is as certain as that of coordinate ascent.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any
from weakref import ref

import numpy as np

from visterm.compute.device import Device, Tensor, choose_device, padded
from visterm.compute.rows import slices
from visterm.margin.solver.inner_products import GramInnerProducts, InnerProducts

#: Smaller problems are solved sooner by coordinate ascent.
LEAST_PICTURES = 2048
#: Rounds at most: problems that need more go on by coordinate ascent. The gap is computed every few rounds.
MAX_ROUNDS, CHECKED = 1000, 5
#: Rounds at most after the gap is reached, if the objective is still above what the caller wants.
FINISHING = 50
#: Steps go this much further than the exact solution.
_FURTHER = 1.6
#: The penalty changes by at most this factor, not for less than that one, and less and less after this many rounds.
_LARGEST_CHANGE, _LEAST_CHANGE, _SETTLING = 5.0, 1.3, 50
#: Bytes for each entry of a Gram matrix: itself, its eigenvectors, both in halves, and work.
_BYTES = 32
#: Columns of the Gram matrix are widened to double precision this many at a time.
_COLUMNS = 4096
#: Eigenvalues below this share of the largest are rounding errors.
_RANK = 1e-12


def device_for(objective: Any) -> Device | None:
    """The chosen device, if it can raise this objective and has the memory."""
    if not objective.has_tasks or objective.products.n_pictures < LEAST_PICTURES or objective.loss.code.is_logistic:
        return None
    device = choose_device()
    if not device.uses_torch:
        return None
    products = objective.products
    width = products.n_pictures if isinstance(products, GramInnerProducts) else products.X.shape[1]
    needed = _BYTES * products.n_pictures * width + 160 * objective.y.size
    return device if needed * products.dtype.itemsize / 4 < device.room() else None


class SpectrumOnDevice:
    """The Gram matrix and its eigenvectors, there; of features, the eigenvectors with an eigenvalue above zero.

    It is wider by pictures that are zero: ``width`` is a width that a GPU multiplies fast. Scores are in double
    precision, since rounding errors of all pictures add up in the losses; eigenvectors in that of the products.
    """

    def __init__(self, products: InnerProducts, device: Device) -> None:
        import torch

        self._device, self._gram = device, None
        self.n, self.width = products.n_pictures, padded(products.n_pictures)
        if isinstance(products, GramInnerProducts):
            given = device.array(products.G)
            G = given.new_zeros((self.width, self.width))
            G[: self.n, : self.n] = given
            self.values, vectors = torch.linalg.eigh(G)
            self._gram, self._shift = G, products.shift
            # The constant feature is kept apart: with its eigenvalue, the others would be less exact.
            self._constant = self._shift**0.5 * vectors[: self.n].sum(0).double()
        else:
            X = device.array(products.X).double()
            self._features = X.new_zeros((self.width, X.shape[1] + 1))
            self._features[: self.n, :-1], self._features[: self.n, -1] = X, products.shift**0.5
            self.values, rotation = torch.linalg.eigh(device.gram(self._features))
            kept = self.values > _RANK * self.values[-1]
            self.values = self.values[kept]
            vectors = device.product(self._features, rotation[:, kept] / self.values.sqrt())
        self.values = self.values.clamp_min(0.0).double()
        self._kind, self._vectors = vectors.dtype, device.constant(vectors)

    def scores(self, theta: Tensor) -> Tensor:
        """``theta G`` of all tasks (n_tasks, width)."""
        import torch

        if self._gram is not None:
            found = torch.empty_like(theta)
            for part in slices(self.width, _COLUMNS):
                found[:, part] = theta @ self._gram[:, part].double()
            found[:, : self.n] += self._shift * theta[:, : self.n].sum(1, keepdim=True)
            return found
        return self._device.product(self._device.product(theta, self._features), self._features.T)

    def inverse(self, q: Tensor, strength: Tensor, penalty: Tensor) -> Tensor:
        """About ``q (strength G + penalty)^-1``; each row of q (n_tasks, width) has its own strength."""
        rotated = self._by_vectors(q, self._vectors)
        if self._gram is None:
            values = strength * self.values
            rotated *= values / (values + penalty)
            return (q - self._by_vectors(rotated, self._vectors.T)) / penalty
        weights = 1 / (strength * self.values + penalty)
        rotated *= weights
        weights *= self._constant
        share = strength * (rotated @ self._constant)[:, None] / (1 + strength * (weights @ self._constant)[:, None])
        return self._by_vectors(rotated - share * weights, self._vectors.T)

    def _by_vectors(self, values: Tensor, vectors: Any) -> Tensor:
        return self._device.product(values.to(self._kind), vectors).double()


#: The spectrum of the last Gram matrix and the last features, while these exist: rounds use the same.
_kept: dict[type, tuple[Any, float, str, SpectrumOnDevice]] = {}


def _spectrum(products: InnerProducts, device: Device) -> SpectrumOnDevice:
    kind, array = type(products), products.G if isinstance(products, GramInnerProducts) else products.X
    kept = _kept.get(kind)
    if kept is None or kept[0]() is not array or kept[1:3] != (products.shift, device.name):

        def forget(dead: Any) -> None:
            if kind in _kept and _kept[kind][0] is dead:
                del _kept[kind]

        _kept.pop(kind, None)  # before the next one takes its memory
        kept = ref(array, forget), products.shift, device.name, SpectrumOnDevice(products, device)
        _kept[kind] = kept
    return kept[3]


@dataclass(slots=True, eq=False)
class _Checked:
    """Coefficients and what they are worth: scores, and by task the quadratic form, losses and conjugates."""

    theta: Tensor
    base: Tensor
    scores: Tensor
    sums: Tensor


class _Tasks:
    """The losses of all tasks, and how tasks are coupled."""

    def __init__(self, objective: Any, device: Device) -> None:
        import torch

        self.device, self.spectrum = device, _spectrum(objective.products, device)
        self.y, self.C = (self.widened(given) for given in (objective.y, objective.C))
        _, self._gamma, low, high = objective.loss.code
        self._low, self._high = low, high
        # Bounds of y theta; a picture that takes no part has none but 0.
        self._least, self._most = (self.C * b if abs(b) < inf else torch.where(self.C > 0, b, 0.0) for b in (low, high))
        self._linear = torch.where(self.C > 0, self.y, 0.0)
        M: Any = getattr(objective, "M", None)
        self.M: Tensor = None if M is None else device.array(M.astype(np.float64))
        self.rotation: Tensor = None
        self.strength = self.y.new_ones((1, 1))
        if self.M is not None:
            strength, self.rotation = torch.linalg.eigh(self.M)
            self.strength = strength.clamp_min(0.0)[:, None]

    def widened(self, values: Any) -> Tensor:
        """The numbers of pictures (n_tasks, n_pictures), and zeros for those that take no part."""
        given = self.device.array(values).double()
        wide = given.new_zeros((len(given), self.spectrum.width))
        wide[:, : self.spectrum.n] = given
        return wide

    def first_penalty(self) -> Tensor:
        """One for each separate task, or one for all: the mean eigenvalue."""
        mean = self.spectrum.values.sum() / self.spectrum.n * self.strength.mean()
        return mean * self.y.new_ones((len(self.y) if self.M is None else 1, 1))

    def nearest(self, theta: Tensor, penalty: Tensor) -> Tensor:
        """The losses' answer near ``theta``."""
        if self._gamma > 0:
            theta = theta * (penalty * self.C / (penalty * self.C + self._gamma))
        return self.y * (self.y * theta).clamp(self._least, self._most)

    def quadratic(self, theta: Tensor, penalty: Tensor, x: Tensor) -> Tensor:
        """The quadratic part's answer near ``theta``, from its last answer ``x``.

        Eigenvectors are inexact, so they correct what is left of the equation at ``x`` by exact products.
        """
        left = penalty * (theta - x) + self._linear - self.coupled(self.spectrum.scores(x))
        if self.rotation is None:
            return x + self.spectrum.inverse(left, self.strength, penalty)
        return x + self.rotation @ self.spectrum.inverse(self.rotation.T @ left, self.strength, penalty)

    def coupled(self, base: Tensor) -> Tensor:
        """The scores of all tasks from those of their own coefficients."""
        return base if self.M is None else self.M @ base

    def multipliers(self, at: _Checked, penalty: Tensor) -> Tensor:
        """Those at which ``at`` would stay as it is, if it were the optimum."""
        return (self._linear - at.scores) / penalty

    def check(self, theta: Tensor) -> _Checked:
        """New scores and sums."""
        import torch

        base = self.spectrum.scores(theta)
        scores = self.coupled(base)
        b = self.dual(theta)
        slack = 1 - self.y * scores
        if self._gamma > 0:
            best = (slack / self._gamma).clamp(self._low, self._high)
        else:
            best = torch.where(slack > 0, self._high, self._low)
        losses = self.C * (best * slack - 0.5 * self._gamma * best.square())
        conjugates = self.C * (0.5 * self._gamma * b.square() - b)
        sums = [part.sum(1, dtype=torch.float64) for part in (theta * scores, losses, conjugates)]
        return _Checked(theta, base, scores, torch.stack(sums, 1))

    def dual(self, theta: Tensor) -> Tensor:
        """The dual variables of coefficients that keep the bounds."""
        b = (self.y * theta / self.C).nan_to_num_(nan=0.0)  # 0 / 0 where a picture takes no part
        return b.clamp_(self._low, self._high)


def ascend(objective: Any, start: Any, tol: float, device: Device) -> Any:
    """The solution with the smallest gap that was found; each separate task's own.

    ``objective`` is a ``Problem`` or a ``CoupledProblem``.
    """
    tasks = _Tasks(objective, device)
    z = tasks.y * tasks.C * tasks.widened(objective.start(start))
    penalty = tasks.first_penalty()
    best, x = tasks.check(z), z
    u, trace = tasks.multipliers(best, penalty), [_totals(best)]
    n_finished = 0
    for number in range(1, MAX_ROUNDS + 1):
        x = tasks.quadratic(z - u, penalty, x)
        further = _FURTHER * x + (1 - _FURTHER) * z
        before, z = z, tasks.nearest(further + u, penalty)
        u += further
        u -= z
        if number % CHECKED:
            continue
        now = tasks.check(z)
        _keep_better(objective, best, now, device)
        trace.append(_totals(best))
        worth = _worth(objective, best)
        n_finished = n_finished + CHECKED if worth.gap <= tol else 0
        if n_finished > FINISHING or not objective.unfinished(worth, tol).any():
            break
        if number % (2 * CHECKED) == 0:
            change = _change(x, z, before, u, coupled=tasks.M is not None)
            change = change ** (_SETTLING / (_SETTLING + number))
            change[(change < _LEAST_CHANGE) & (change > 1 / _LEAST_CHANGE)] = 1.0
            u /= change
            penalty = penalty * change
    solution = _solution(objective, tasks, best)
    solution.trace = trace
    return solution


def _keep_better(objective: Any, best: _Checked, now: _Checked, device: Device) -> None:
    """Replace separate tasks whose gap fell, or all coupled ones."""
    fell = _worth(objective, now).gaps < _worth(objective, best).gaps
    rows = device.array(np.flatnonzero(np.broadcast_to(fell, len(best.theta))))
    for name in ("theta", "base", "scores", "sums"):
        # Not in place: coefficients may be those of the round before.
        setattr(best, name, getattr(best, name).index_copy(0, rows, getattr(now, name)[rows]))


def _totals(at: _Checked) -> tuple[float, float]:
    norm, losses, conjugates = at.sums.sum(0).tolist()
    return 0.5 * norm + losses, -conjugates - 0.5 * norm


def _change(x: Tensor, z: Tensor, before: Tensor, u: Tensor, *, coupled: bool) -> Tensor:
    """How the penalty should change so that both answers come together as fast as they settle."""
    import torch

    def length(values: Tensor) -> Tensor:
        return values.norm().reshape(1, 1) if coupled else values.norm(dim=1, keepdim=True)

    apart = length(x - z) / torch.maximum(length(x), length(z)).clamp_min(1e-30)
    moving = length(z - before) / length(u).clamp_min(1e-30)
    change = (apart.clamp_min(1e-12) / moving.clamp_min(1e-12)).sqrt()
    return change.clamp(1 / _LARGEST_CHANGE, _LARGEST_CHANGE)


def _worth(objective: Any, at: _Checked) -> Any:
    """The objectives, without the arrays that stay there."""
    nothing = np.empty(0)
    return objective.solution(nothing, nothing, nothing, nothing, at.sums.cpu().numpy())


def _as_kept(values: Any, objective: Any) -> Any:
    return np.ascontiguousarray(values, dtype=objective.y.dtype)


def _solution(objective: Any, tasks: _Tasks, at: _Checked) -> Any:
    host = tasks.device.host
    given = (tasks.dual(at.theta), at.theta, at.base, at.scores)
    b, theta, base, scores = (_as_kept(host(values[:, : tasks.spectrum.n]), objective) for values in given)
    return objective.solution(b, theta, base, scores, host(at.sums))

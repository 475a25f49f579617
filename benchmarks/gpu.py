"""Learning on a GPU: seconds, TFLOP/s and the share of a plain matrix product, and the same numbers as NumPy.

Run: python benchmarks/gpu.py [--small] [--device cuda] [STAGE ...]

It needs torch, NumPy and SciPy; scikit-learn for the whole multitask algorithm. Every stage first compares a small
problem with NumPy on this machine, then measures a large one that is made up on the device, block by block. ``--small``
makes it small as well, for a machine without a GPU (``--device cpu``). Operations are those of the products as they are
computed: a product of singles is three products of halves on a GPU (see ``visterm.compute.device``). Shares are of the
best plain product of halves in the same run.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from scipy import sparse

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))


def _attach_stub(package: str, filename: str) -> tuple[Any, Any, list[str]]:
    """What lazy_loader does, for a machine that has no other packages than torch's."""
    from importlib import import_module

    names: dict[str, str | None] = {}
    for line in ast.parse(Path(filename).with_suffix(".pyi").read_text()).body:
        if isinstance(line, ast.ImportFrom):
            names |= {name.asname or name.name: line.module for name in line.names}

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(name)
        module = names[name]
        return getattr(import_module(f"{package}.{module}"), name) if module else import_module(f"{package}.{name}")

    return get, lambda: list(names), list(names)


try:
    import lazy_loader  # noqa: F401
except ImportError:
    stand_in = ModuleType("lazy_loader")
    stand_in.attach_stub = _attach_stub  # type: ignore[attr-defined]
    sys.modules["lazy_loader"] = stand_in

from visterm.compute.device import Device, padded  # noqa: E402
from visterm.margin.functions.compared import Compared, ComparedOnDevice, Similarity  # noqa: E402
from visterm.margin.functions.landmarks import FeatureMap, Lesson  # noqa: E402
from visterm.margin.functions.on_device import (  # noqa: E402
    LeftOutOnDevice,
    MapOnDevice,
    SumsOnDevice,
    Targets,
    shard_rows,
)
from visterm.margin.functions.on_device import scores as of_landmarks  # noqa: E402
from visterm.margin.solver import on_device  # noqa: E402
from visterm.margin.solver.ascent import relative_gap, solve  # noqa: E402
from visterm.margin.solver.coupled import CoupledProblem  # noqa: E402
from visterm.margin.solver.inner_products import GramInnerProducts  # noqa: E402
from visterm.margin.solver.losses import loss_named  # noqa: E402
from visterm.margin.solver.sums import LeftOut, Solved, Sums  # noqa: E402
from visterm.margin.solver.tasks import Problem  # noqa: E402

N_DIMS, N_TAGS, TAGS_EACH = 1280, 1000, 5
#: The kernel of the landmarks: exp(-4 (1 - cosine)).
RATE = 4.0
#: The relative duality gap of multitask learning.
TOL = 1e-3
#: Numbers of a stage may differ by this share from NumPy's.
NEAR = 1e-4


class Run:
    """The device, the best plain product measured on it, and whether sizes are small."""

    def __init__(self, device: Device, *, small: bool) -> None:
        self.device, self.small = device, small
        self.failed = False
        n = 512 if small else 8192
        kind = torch.float16 if self.on_gpu else torch.float32
        a, b = (torch.randn(n, n, device=device.name).to(kind) for _ in range(2))
        seconds = min(self.seconds(lambda: a @ b) for _ in range(5 if small else 20))
        self.peak = 2 * n**3 / seconds / 1e12
        print(f"peak: {self.peak:.1f} TFLOP/s, a product of {kind} matrices of {n:,} rows", flush=True)

    @property
    def on_gpu(self) -> bool:
        """Whether there is a GPU; else operations are those of single precision."""
        return self.device.name.startswith("cuda")

    def passes(self, of_halves: int) -> int:
        """How many products of halves are computed; in single precision, one."""
        return of_halves if self.on_gpu else 1

    def seconds(self, work: Callable[[], Any]) -> float:
        """Wall time of some work, until the device has finished."""
        self._wait()
        began = time.perf_counter()
        work()
        self._wait()
        return time.perf_counter() - began

    def _wait(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()

    def line(self, what: str, seconds: float, operations: float) -> None:
        """Print a stage."""
        speed = operations / seconds / 1e12
        print(f"  {what:58} {seconds:8.2f} s {speed:8.1f} TFLOP/s {speed / self.peak:6.0%} of peak", flush=True)

    def check(self, what: str, found: Any, expected: Any, near: float = NEAR) -> None:
        """Print how far the numbers are from NumPy's."""
        error = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
        verdict = "ok" if error <= near else "WRONG"
        self.failed = self.failed or verdict != "ok"
        print(f"  check {what:52} {error:.1e} from NumPy, at most {near:.0e}: {verdict}", flush=True)


def pictures(device: str, n: int, seed: int) -> torch.Tensor:
    """Made-up features in half precision: some themes and noise, not negative."""
    random = torch.Generator(device).manual_seed(seed)
    themes = torch.randn((64, N_DIMS), device=device, generator=torch.Generator(device).manual_seed(0)) / 8
    own = torch.randn((n, 64), device=device, generator=random)
    noise = torch.randn((n, N_DIMS), device=device, generator=random)
    return (own @ themes + 0.3 * noise).clamp_min_(0).half()


def tags_of(n: int, seed: int) -> sparse.csr_array:
    """Five tags of each picture, some much more frequent than others."""
    rng = np.random.default_rng(seed)
    columns = np.sort((N_TAGS * rng.random((n, TAGS_EACH)) ** 3).astype(np.int64), axis=1)
    entries = (np.ones(n * TAGS_EACH, np.float32), columns.ravel(), np.arange(0, n * TAGS_EACH + 1, TAGS_EACH))
    found = sparse.csr_array(entries, shape=(n, N_TAGS))
    found.sum_duplicates()
    return found


def cosines(landmarks: np.ndarray) -> FeatureMap:
    """The features by landmarks, as one feature's product kernel has them."""
    compared = Compared({"x": Similarity("cosine", landmarks, RATE)}, is_exponential=True)

    def raw(X: Any) -> np.ndarray:
        units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, landmarks)]
        return np.exp(RATE * (units[0] @ units[1].T - 1))

    return FeatureMap.of_landmarks(raw, raw(landmarks), 1.0, np.float32, compared)


def landmarks(run: Run) -> None:
    """Ridge regression by landmarks: sums of all pictures, then all pictures without themselves."""
    print("landmark ridge: kernel exp(-4 (1 - cosine)), whitening, Gram, 1,000 tags", flush=True)
    device = run.device
    chosen = pictures(device.name, 4096, 1).cpu().numpy()
    compare_landmarks(run, cosines(chosen[:300].astype(np.float32)), "cosine")
    compare_landmarks(run, by_chi2(run, chosen[:300].astype(np.float32)), "chi2")
    sizes = [(3000, 200)] if run.small else [(1_000_000, 2000), (1_000_000, 4096), (10_000_000, 2000)]
    sizes += [] if run.small else [(10_000_000, 4096)]
    for n, m in sizes:
        measure_landmarks(run, n, cosines(chosen[:m].astype(np.float32)))
    few = chosen[: 200 if run.small else 2000].astype(np.float32)
    measure_chi2(run, 3000 if run.small else 100_000, by_chi2(run, few))
    measure_stream(run, 3000 if run.small else 1_000_000, cosines(few))


def by_chi2(run: Run, chosen: np.ndarray) -> FeatureMap:
    """The features by landmarks that ``ridge-tags`` has for one feature."""
    compared = Compared({"x": Similarity("chi2", chosen, 2.0)}, is_exponential=True)

    def raw(X: Any) -> np.ndarray:
        shares = [rows / rows.sum(axis=1, keepdims=True, dtype=np.float32) for rows in (X.astype(np.float32), chosen)]
        found = np.empty((len(X), len(chosen)), np.float32)
        for i, row in enumerate(shares[0]):
            found[i] = (2 * row * shares[1] / (row + shares[1] + np.float32(1e-30))).sum(axis=1)
        return np.exp(2 * (found - 1))

    gram = ComparedOnDevice(compared, run.device)({"x": run.device.array(chosen)}).cpu().numpy()
    return FeatureMap.of_landmarks(raw, (gram + gram.T) / 2, 1.0, np.float32, compared)


def compare_landmarks(run: Run, features: FeatureMap, kernel: str) -> None:
    """The same problem in NumPy and on the device."""
    device, X, targets = run.device, pictures(run.device.name, 3000, 2), tags_of(3000, 2)
    there, here = Targets.of(targets, device), X.cpu().numpy().astype(np.float32)
    total, of_numpy = SumsOnDevice(features.width, N_TAGS, device), Sums.nothing(features.width, N_TAGS, np.float32)
    mapped = MapOnDevice(features, device)
    total.add(mapped({"x": X}), there)
    of_numpy += Sums.of(features(here), targets)
    run.check(f"{kernel}: Gram of 300 landmarks", total.sums().gram, of_numpy.gram)
    run.check(f"{kernel}: cross-products with tags", total.sums().cross, of_numpy.cross)
    solved, theirs = Solved.of(total.sums(), 1.0), Solved.of(of_numpy, 1.0)
    rotated, of_theirs = features.rotated(solved.root), features.rotated(theirs.root)
    left_out = LeftOutOnDevice(solved.weights, device)
    left_out.add(MapOnDevice(rotated, device)({"x": X}), there)
    found = left_out.left_out(targets)
    expected = LeftOut.of(of_theirs(here), targets, theirs.weights)
    run.check(f"{kernel}: leverages", found.leverages, expected.leverages)
    run.check(f"{kernel}: scores of pictures left out", found.own, expected.own)


def measure_landmarks(run: Run, n: int, features: FeatureMap) -> None:
    """Both passes over ``n`` pictures that are made up on the device, block by block, within the time."""
    device, width, m = run.device, features.width, features.n_raw
    rows = min(n, shard_rows(width))
    there, n_blocks = Targets.of(tags_of(rows, 3), device), -(-n // rows)  # the same tags for every block
    total = SumsOnDevice(width, N_TAGS, device)

    def add(mapped: MapOnDevice, sums: SumsOnDevice | LeftOutOnDevice, count: int) -> None:
        for number in range(count):
            sums.add(mapped({"x": pictures(device.name, rows, 10 + number)}), there)

    mapped = MapOnDevice(features, device)
    add(mapped, SumsOnDevice(width, N_TAGS, device), 2)
    making = run.seconds(lambda: sum(len(pictures(device.name, rows, 10 + number)) for number in range(n_blocks)))
    first = run.seconds(lambda: add(mapped, total, n_blocks))
    n_done = n_blocks * rows
    per_picture = 2 * (run.passes(2) * N_DIMS * m + (run.passes(3) + run.passes(2)) * padded(width) ** 2)
    run.line(f"{n_done:,} pictures, {m:,} landmarks: sums", first, n_done * per_picture)
    began = time.perf_counter()
    solved = Solved.of(total.sums(), 1.0)
    rotated = features.rotated(solved.root)
    solving = time.perf_counter() - began
    print(f"  {'':28} solving for 1,000 tags (on the CPU) {solving:15.2f} s", flush=True)
    mapped, left_out = MapOnDevice(rotated, device), LeftOutOnDevice(solved.weights, device)
    second = run.seconds(lambda: add(mapped, left_out, n_blocks))
    run.line(f"{'':20} pictures without themselves", second, n_done * per_picture)
    print(
        f"  {'':20} in all, of which making pictures up 2 x {making:.2f} s: {first + solving + second:9.2f} s",
        flush=True,
    )


def measure_stream(run: Run, n: int, features: FeatureMap) -> None:
    """Half-precision features in memory, brought to the device block by block: what an estimator does."""
    blocks = [pictures(run.device.name, min(20_000, n), number).cpu().numpy() for number in range(max(1, n // 20_000))]
    lesson = Lesson(np.concatenate(blocks), np.arange(n), tags_of(n, 4))
    seconds = run.seconds(lambda: lesson.sums(features))
    what, speed = f"{n:,} pictures in memory, {features.n_raw:,} landmarks: sums", 2 * N_DIMS * n / seconds / 1e9
    print(f"  {what:58} {seconds:8.2f} s {speed:8.1f} GB/s", flush=True)


def measure_chi2(run: Run, n: int, features: FeatureMap) -> None:
    """The chi2 kernel is no product: operations are counted as four for each pair and dimension."""
    rows = min(n, shard_rows(features.width))
    X, mapped = pictures(run.device.name, rows, 5), MapOnDevice(features, run.device)
    mapped({"x": X[:100]})
    seconds = run.seconds(lambda: [mapped({"x": X}) for _ in range(-(-n // rows))])
    done = rows * -(-n // rows)
    run.line(
        f"{done:,} pictures, {features.n_raw:,} landmarks by chi2: features",
        seconds,
        4.0 * done * N_DIMS * features.n_raw,
    )


def multitask(run: Run) -> None:
    """Multitask learning at the size of SUN397: the Gram matrix of half-precision features, then all tasks at once."""
    n, n_dims, n_classes = (300, 2000, 12) if run.small else (19_850, 262_144, 397)
    print(
        f"multitask: {n:,} pictures of {n_dims:,} numbers in half precision, {n_classes} classes, gap {TOL}", flush=True
    )
    codes = np.arange(n) % n_classes
    products, seconds = gram_of(run, codes, n_dims)
    y = np.where(codes == np.arange(n_classes)[:, None], np.float32(1), np.float32(-1))
    C, hinge = np.full_like(y, 10.0), loss_named("hinge")
    spectra: list[Any] = []
    of_spectrum = run.seconds(lambda: spectra.append(on_device._spectrum(products, run.device)))
    run.line("its eigenvectors (operations: 9 n^3)", of_spectrum, 9.0 * n**3)
    problem, alone = Problem(products, y, C, hinge), []
    of_alone = run.seconds(lambda: alone.append(solve(problem, tol=TOL, rng=np.random.default_rng(0))))
    report(run, "all classes alone", of_alone, alone[0], problem)
    M = alone[0].theta @ alone[0].scores.T
    coupled, learned = CoupledProblem(products, y, C, hinge, (M / np.diag(M).mean()).astype(np.float32)), []
    of_coupled = run.seconds(lambda: learned.append(solve(coupled, tol=TOL, rng=np.random.default_rng(0))))
    report(run, "all classes with a shared map", of_coupled, learned[0], coupled)
    whole_algorithm(run, products, codes, seconds)


def gram_of(run: Run, codes: np.ndarray, n_dims: int) -> tuple[GramInnerProducts, float]:
    """The inner products of made-up pictures, and the seconds without making them up."""
    X, found = class_pictures(run.device.name, codes, n_dims), []
    exact = X[:64].cpu().numpy().astype(np.float64)
    run.check("Gram matrix of 64 pictures", run.device.product(X[:64], X[:64].T).cpu().numpy(), exact @ exact.T)
    seconds = run.seconds(lambda: found.append(run.device.product(X, X.T)))
    run.line("Gram matrix", seconds, 2.0 * len(codes) ** 2 * n_dims)
    back = run.seconds(lambda: found.append(found[0].cpu().numpy()))
    print(f"  {'Gram matrix to memory':58} {back:8.2f} s", flush=True)
    return GramInnerProducts(found[1], 1.0), seconds + back


def whole_algorithm(run: Run, products: GramInnerProducts, codes: np.ndarray, before: float) -> None:
    """The estimator itself, from the Gram matrix; eigenvectors are computed again."""
    from visterm.margin import MultitaskSDCA

    G, models = products.G.copy(), []
    model = MultitaskSDCA(C=10.0, kernel="precomputed", calibration_folds=0, tol=TOL, random_state=0)
    seconds = run.seconds(lambda: models.append(model.fit(G, codes)))
    objectives = ", ".join(f"{value:.4g}" for value in model.objective_[[0, -1]])
    print(f"  {'MultitaskSDCA.fit(Gram matrix)':58} {seconds:8.2f} s, {model.n_iter_} rounds, objective {objectives}")
    print(f"  {'with the Gram matrix':58} {before + seconds:8.2f} s", flush=True)


def class_pictures(device: str, codes: np.ndarray, n_dims: int) -> torch.Tensor:
    """Pictures of unit length near the centres of their classes, in half precision."""
    random = torch.Generator(device).manual_seed(0)
    centres = 0.12 * torch.randn((codes.max() + 1, n_dims), device=device, generator=random)
    X = torch.empty((len(codes), n_dims), dtype=torch.float16, device=device)
    for start in range(0, len(codes), 1024):
        own = torch.from_numpy(codes[start : start + 1024]).to(device)
        made = centres[own] + torch.randn((len(own), n_dims), device=device, generator=random)
        X[start : start + 1024] = made / made.norm(dim=1, keepdim=True)
    return X


def report(run: Run, what: str, seconds: float, solution: Any, problem: Any) -> None:
    """Print a solution, and check its gap in NumPy, in double precision."""
    rounds = 5 * (len(solution.trace) - 1)
    n, n_tasks = problem.products.n_pictures, len(problem.y)
    products_each = 2 * run.passes(3) + 1 + 1 / 5  # by eigenvectors; by the Gram matrix, in double precision; to check
    operations = rounds * products_each * 2.0 * n_tasks * n**2
    run.line(f"{what}: {rounds} rounds, gap {solution.gap:.1e}", seconds, operations)
    theta = (problem.C * solution.b * problem.y).astype(np.float64)
    base = np.empty_like(theta)
    for start in range(0, n, 2000):
        base[:, start : start + 2000] = theta @ problem.products.G[:, start : start + 2000].astype(np.float64)
    base += problem.products.shift * theta.sum(axis=1, keepdims=True)
    coupling = getattr(problem, "M", None)
    scores = base if coupling is None else coupling.astype(np.float64) @ base
    norms = (theta * scores).sum(axis=1)
    primal = 0.5 * norms + (problem.C * problem.loss.value(problem.y * scores)).sum(axis=1)
    dual = -(problem.C * problem.loss.conjugate(solution.b)).sum(axis=1) - 0.5 * norms
    if coupling is not None:
        primal, dual = primal.sum(keepdims=True), dual.sum(keepdims=True)
    run.check(f"{what}: objectives", solution.primal, primal)
    gap = float(relative_gap(primal, dual).max())
    verdict = "ok" if gap <= 1.05 * TOL else "WRONG"
    run.failed = run.failed or verdict != "ok"
    print(f"  check {what + ': gap in NumPy':52} {gap:.1e}, at most {TOL:.0e}: {verdict}", flush=True)


def scoring(run: Run) -> None:
    """Scores of all pictures for all tags, from landmarks: features in memory, scores back to memory."""
    n, m = (3000, 200) if run.small else (200_000, 2000)
    print(f"scores of {n:,} pictures for {N_TAGS:,} tags, {m:,} landmarks", flush=True)
    chosen = pictures(run.device.name, m, 1).cpu().numpy().astype(np.float32)
    weights = np.random.default_rng(0).standard_normal((N_TAGS, m)).astype(np.float32)
    X = np.concatenate(
        [pictures(run.device.name, min(20_000, n), seed).cpu().numpy() for seed in range(max(1, n // 20_000))]
    )
    features, found = cosines(chosen), []
    compared = features.compared
    of_landmarks(compared, X[:2000], weights, run.device)
    seconds = run.seconds(lambda: found.append(of_landmarks(compared, X, weights, run.device)))
    run.check("scores of 2,000 pictures", found[0][:2000], features.raw(X[:2000].astype(np.float32)) @ weights.T)
    run.line("scores, to and from memory", seconds, 2.0 * n * (run.passes(2) * N_DIMS * m + run.passes(3) * m * N_TAGS))


STAGES = {"landmarks": landmarks, "multitask": multitask, "scoring": scoring}


def main() -> None:
    """Print the stages; fails if numbers differ from NumPy's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", default=list(STAGES), help=", ".join(STAGES))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    os.environ["VISTERM_DEVICE"] = options.device
    if options.small:
        on_device.LEAST_PICTURES = 0
    run = Run(Device(options.device), small=options.small)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if run.on_gpu else 'CPU'}", flush=True)
    for name in options.stages:
        try:
            STAGES[name](run)
        except ImportError as error:
            print(f"  the rest of this stage is not measured: {error}", flush=True)
        except Exception:  # the other stages are still measured
            traceback.print_exc()
            run.failed = True
    if run.failed:
        sys.exit("a stage failed, or its numbers differ from NumPy's")


if __name__ == "__main__":
    main()

"""Simulated review with measuring questions: does the shown figure cover the truth, and what does it cost?

Each run begins with some labels, asks questions as Teach does, and answers all by the truth. Of the first 150 questions
15 are measuring questions, more of them later; then one in ten is. After every ten answers the head learns
again; its leave-one-out answers on the measuring sample are the shown figure. The truth is the share of right answers
over all pictures: without its own label for a picture that has one. What was shown before this change, the
leave-one-out answers on all labelled pictures, is compared.

Starts: "few" labels at random; a "third" at random; a "biased" third: whole classes, or the pictures most like one.
"mean error" is that of the shown figure, less the luck of the draw: how much easier the pictures of the sample are than
all pictures for a head that knows all labels, which is 0 on average; "±" is its standard error over runs. As
in the program, the queue chooses as if it knew no measuring answers; with --seeing it knows them.

"labels" is the number of labels at which the mean accuracy over all pictures first reaches that which the queue before
has after 50 and after 150 answers, divided by its own. That queue had no measuring questions and did not care which
pictures were answered last.

Run: python experiments/review/measured_review.py --features FOLDER [--collection scenes8] [--runs 20]
FOLDER has scenes_deep.npz, corel_deep.npz, postcards_deep.npz, flickr_deep.npz: the array "deep" and the "files".
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from visterm.collection.measuring import answered_start, stands_for_all
from visterm.documents.figure import interval
from visterm.review.asking import is_measuring_next
from visterm.review.head import choose_questions, class_doubt, fit_classes, fit_tags, tag_doubt
from visterm.subspace import reduced

BATCH, ANSWERS = 10, 300
#: So many answers count as asked just now.
RECENT = 24
#: Of larger collections, so many pictures are drawn.
MOST = 1500
STARTS = ("few", "third", "biased")


@dataclass(frozen=True)
class Point:
    """What was shown and true after some answers; ``shown`` is None before the sample has enough pictures."""

    answers: int
    before: float
    shown: float | None
    low: float
    high: float
    truth: float
    luck: float
    pictures: int

    @property
    def error(self) -> float:
        """How much too high the shown figure is, without the luck of the draw."""
        return (self.shown or 0.0) - self.truth - self.luck

    @property
    def covers(self) -> bool:
        """Whether the truth is in the interval."""
        return self.low <= self.truth <= self.high


class Classes:
    """Learning and asking for classes."""

    def __init__(self, Z: np.ndarray, y: np.ndarray) -> None:
        self.Z, self.y, self.n = Z, y, len(y)
        self.ease = self.learn(np.arange(self.n))[0]  # with all labels

    def learn(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether each picture's class is right, without its own label; and the doubt."""
        known, given = np.unique(self.y[rows], return_inverse=True)
        head = fit_classes(self.Z, rows, given, len(known))
        right = (known[head.p.argmax(axis=1)] == self.y).astype(float)
        right[rows] = head.left_out.argmax(axis=1) == given
        return right, class_doubt(head.p)

    def few(self, rng: np.random.Generator) -> np.ndarray:
        """A few pictures of at least two classes."""
        n = max(8, 2 * min(25, len(np.unique(self.y))))
        while True:
            rows = rng.permutation(self.n)[:n]
            if len(np.unique(self.y[rows])) > 1:
                return rows

    def biased(self, rng: np.random.Generator) -> np.ndarray:
        """All pictures of some classes, up to a third of all."""
        rows: list[int] = []
        for label in rng.permutation(np.unique(self.y)):
            rows += np.flatnonzero(self.y == label).tolist()
            if len(rows) >= self.n / 3:
                break
        return np.array(rows)


class Tags:
    """Learning and asking for complete tags."""

    def __init__(self, Z: np.ndarray, tags: np.ndarray) -> None:
        self.Z, self.tags, self.n = Z, sparse.csr_array(tags.astype(np.float32)), len(tags)
        self.ease = self.learn(np.arange(self.n))[0]

    def learn(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tag accuracy of each picture, without its own tags; and the doubt."""
        rows = np.sort(rows)
        used = np.flatnonzero(np.bincount(self.tags[rows].indices, minlength=self.tags.shape[1]) >= 2)
        head = fit_tags(self.Z, rows, self.tags[rows][:, used], 0.8)
        p = head.p.copy()
        p[rows] = head.left_out
        likely = np.full(self.tags.shape, -1.0, np.float32)
        likely[:, used] = p
        n_tags = np.diff(self.tags.indptr)
        order = np.argsort(-likely, axis=1, kind="stable")[:, : n_tags.max()]
        hits = np.take_along_axis(self.tags.toarray(), order, axis=1) * (np.arange(order.shape[1]) < n_tags[:, None])
        right = hits.sum(axis=1) / n_tags
        return right, tag_doubt(head.p)

    def few(self, rng: np.random.Generator) -> np.ndarray:
        """Thirty pictures."""
        return rng.permutation(self.n)[:30]

    def biased(self, rng: np.random.Generator) -> np.ndarray:
        """The third of all pictures that look most like one."""
        return np.argsort(-(self.Z[:, :-1] @ self.Z[rng.integers(self.n), :-1]), kind="stable")[: self.n // 3]


def run(task: Classes | Tags, start: str, seed: int, *, measuring: bool, blind: bool = True) -> list[Point]:
    """One review of 300 answers; a point for each ten. A ``blind`` queue chooses without knowing measuring answers."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(task.n)  # what the content's hash does in a workspace
    first = {"few": task.few, "biased": task.biased, "third": lambda r: r.permutation(task.n)[: task.n // 3]}[start](
        rng
    )
    answered, asked = np.zeros(task.n, bool), np.zeros(task.n, bool)
    answered[first] = True
    points, taught = [], list[int]()
    ease = task.ease
    for answers in range(0, min(ANSWERS, task.n - len(first) - BATCH) + 1, BATCH):
        right, doubt = task.learn(np.flatnonzero(answered))
        if blind and asked.any():
            doubt = task.learn(np.flatnonzero(answered & ~asked))[1]
        drawn = answered_start(order, answered)
        shown, low, high = None, 0.0, 1.0
        if stands_for_all(drawn, task.n, asked):
            shown = float(right[drawn].mean())
            low, high = interval(float(right[drawn].sum()), len(drawn))
        luck = float(ease[drawn].mean() - ease.mean()) if len(drawn) else 0.0
        points.append(Point(answers, right[answered].mean(), shown, low, high, right.mean(), luck, len(drawn)))
        open_ = np.flatnonzero(~answered)
        settled = taught[-RECENT:] if measuring else []
        chosen = choose_questions(task.Z, open_, doubt[open_], BATCH, settled=settled, random_state=answers)
        waiting = iter(chosen.tolist())
        for _ in range(BATCH):
            drawn = answered_start(order, answered)
            if measuring and is_measuring_next(int(asked.sum()), answers + _):
                row = int(order[len(drawn)])
                asked[row] = True
            else:
                row = next((each for each in waiting if not answered[each]), None)
                if row is None:
                    row = int(np.flatnonzero(~answered)[0])
                taught.append(row)
            answered[row] = True
    return points


def labels_needed(now: np.ndarray, then: np.ndarray, at: int) -> str:
    """The answers after which accuracy is that of ``then`` after ``at`` portions, in per cent of these."""
    reached = np.interp(then[at], np.maximum.accumulate(now), np.arange(len(now)))
    return f"{100 * reached / at:.0f}" if now.max() >= then[at] else "not reached"


def table(name: str, task: Classes | Tags, start: str, runs: int, *, blind: bool) -> str:
    """A line of the table."""
    ours = [run(task, start, seed, measuring=True, blind=blind) for seed in range(runs)]
    plain = [run(task, start, seed, measuring=False) for seed in range(runs)]
    shown = [point for one in ours for point in one if point.shown is not None]
    last = [one[-1] for one in ours]
    covered = 100 * np.mean([point.covers for point in shown])
    at_end = 100 * np.mean([point.covers for point in last if point.shown is not None])
    of_runs = [[100 * (point.error) for point in one if point.shown is not None] for one in ours]
    error, noise = np.mean(np.concatenate(of_runs)), np.std([np.mean(one) for one in of_runs]) / np.sqrt(runs)
    before = 100 * np.mean([point.before - point.truth for one in plain for point in one])
    width = 100 * np.mean([point.high - point.low for point in last])
    now, then = (100 * np.mean([[point.truth for point in one] for one in each], axis=0) for each in (ours, plain))
    half = min(15, len(then) - 1)
    needs = " / ".join(labels_needed(now, then, at) for at in (5, half))
    n = np.mean([point.pictures for point in last])
    figures = f"{covered:.0f} | {at_end:.0f} | {error:+.1f} ± {noise:.1f} | {before:+.1f} | {n:.0f} | {width:.0f}"
    accuracy = " | ".join(f"{now[at]:.1f} ({then[at]:.1f})" for at in (half, -1))
    return f"| {name}, {start} | {figures} | {needs} | {accuracy} |"


def load(name: str, folder: Path) -> Classes | Tags:
    """A collection of the folder."""
    file, what = name.split("-") if "-" in name else (name, "classes")
    stored = np.load(folder / f"{file.removesuffix('8').removesuffix('5k')}_deep.npz", allow_pickle=False)
    some = np.sort(np.random.default_rng(0).permutation(len(stored["deep"]))[:MOST])
    Z = reduced(stored["deep"][some])
    if what == "tags":
        return Tags(Z, stored["tags"][some])
    files = [Path(each) for each in stored["files"][some]]
    names = [f.stem[:-3] or "0" if name == "corel5k" else f.parent.name for f in files]
    if "classes" in stored.files:
        names = stored["classes"][some].tolist()
    return Classes(Z, np.unique(names, return_inverse=True)[1])


def main() -> None:
    """Print a line for each collection and start."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--collection", default="scenes8")
    parser.add_argument("--starts", nargs="*", choices=STARTS, default=STARTS)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seeing", action="store_true")
    options = parser.parse_args()
    heads = "covered | at the end | mean error | before | sample | interval | labels | after 150 | after 300"
    print(f"| | {heads} |", "|---" * 10 + "|", sep="\n", flush=True)
    task = load(options.collection, options.features)
    for start in options.starts:
        print(table(options.collection, task, start, options.runs, blind=not options.seeing), flush=True)


if __name__ == "__main__":
    main()

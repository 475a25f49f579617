"""Simulated review by the clock: what does each kind of question bring per second of a person's time?

A run begins with a few completely described pictures (twice the number of classes, at least 16 and at most 50). A
person then answers one kind of question, or a mixture, for ten minutes, always by the truth. What was answered is
learned every 30 seconds of the person's time. Measured are the share of right classes and the
mean average precision of tags on a third of the pictures, which is never asked about.

class       the class of a picture: what Teach asked before, where a collection has classes
both        class and tags of a picture, and "that is all"; tags that are not offered are typed: what Teach asks now
both-tags   the same; pictures are chosen by the doubt about tags, not about classes
both-some   class, and those of nine likely tags that fit; nothing is said of others
both-shown  the same, and the likely tags that were not chosen do not fit ("none of the others")
yes-no      whether a picture has a tag
six         which of six pictures have a tag; doubtful pictures of a tag that has much doubt and few answers
six-likely  the same; the six likeliest pictures of the tag
estimate    class, or class and tags where an estimate says that this gains more per second
both-six    both and six in turn

How long a person takes is assumed; nobody was timed. By the keystroke-level model (Card, Moran and Newell, Comm. ACM
23, 1980) a decision takes 1.35 s and a key 0.2 s. To choose a further tag, to look at a further picture, to mark it and
to type a name are assumptions of ours.

"gain" is how much classes and tags together are better than at the start, the mean over the ten minutes. "labels" is
the number of classes that are given until the mean accuracy first is that of "class" after two minutes, in per cent of
those that "class" gives in this time.

Run: python experiments/review/gain_per_second.py --data FOLDER --cache FOLDER [--collection scenes8] [--runs 10]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import runpy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import sparse

from visterm.features import FeatureLibrary
from visterm.postcards import make_postcards
from visterm.research import load_pictures
from visterm.review.head import choose_questions, class_doubt, fit_classes, fit_tags, tag_doubt
from visterm.subspace import reduced

#: Seconds to see a picture and give its class, to turn to its tags and to end, to choose one tag.
CLASS_SECONDS, TAGS_SECONDS, CHOSEN_SECONDS = 1.55, 1.55, 0.5
#: Seconds to type a name that is not offered, and for a yes or no.
TYPED, YES_NO = 3.0, 1.55
#: Seconds for six pictures: to read the tag, to look at each, to mark one, to end.
READ, LOOK, MARK, END = 1.35, 0.25, 0.4, 0.2
LEARNED_EVERY, MINUTES, OPTIONS, SIX = 30.0, 10, 9, 6
HELD_OUT, RECENT = 1 / 3, 24
#: Of larger collections, so many pictures are drawn; tags that fewer of them have are left out.
MOST, FEWEST = 1500, 10
N_POSTCARDS = 600
SHOWN = (0, 1, 3, 5, 10)
#: "labels" refers to what is learned from one class after two minutes.
COMPARED_AT = 2


@dataclass(eq=False)
class World:
    """The truth of a collection."""

    Z: np.ndarray
    y: np.ndarray
    T: np.ndarray


@dataclass(eq=False)
class Review:
    """What is known during one review, and what was learned from it last.

    ``cells`` (n_pictures, n_tags) are 1 where a tag is known to be present and -1 where it is known to be absent;
    ``whole`` pictures are described completely.
    """

    world: World
    held_out: np.ndarray
    known_class: np.ndarray
    whole: np.ndarray
    cells: np.ndarray
    seconds: float = 0.0
    answers: int = 0
    waiting: dict[str, list] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)

    @classmethod
    def begun(cls, world: World, seed: int) -> Review:
        """A review in which a few pictures are described."""
        order = np.random.default_rng(seed).permutation(len(world.y))
        held_out, pool = np.split(order, [round(HELD_OUT * len(order))])
        away, known = np.zeros((2, len(order)), bool)
        away[held_out] = True
        known[pool[: int(np.clip(2 * len(np.unique(world.y)), 16, 50))]] = True
        cells = np.where(known[:, None], np.where(world.T > 0, 1, -1), 0).astype(np.int8)
        return cls(world, away, known.copy(), known.copy(), cells)

    def learn(self) -> None:
        """Fit the heads to what is known. Questions that were chosen before are asked first, as the page does."""
        Z, rows = self.world.Z, np.flatnonzero(self.known_class)
        self.class_names, given = np.unique(self.world.y[rows], return_inverse=True)
        self.classes = fit_classes(Z, rows, given, len(self.class_names))
        rows, yes = np.flatnonzero(self.whole), self.cells > 0
        self.used = np.flatnonzero(yes.sum(axis=0) >= 2)
        answers = np.where(self.whole[:, None], 0, self.cells)[:, self.used].astype(np.float32)
        tags = sparse.csr_array(yes[rows][:, self.used].astype(np.float32))
        self.tags = fit_tags(Z, rows, tags, 0.8, sparse.csr_array(answers))

    def measure(self) -> tuple[float, float]:
        """The share of right classes and the mean average precision on pictures that are never asked about."""
        out = self.held_out
        right = self.class_names[self.classes.p[out].argmax(axis=1)] == self.world.y[out]
        p = np.zeros(self.world.T.shape)
        p[:, self.used] = self.tags.p
        precisions = []
        for column in np.flatnonzero(self.world.T[out].sum(axis=0) >= 3):
            hits = self.world.T[out][np.argsort(-p[out, column], kind="stable"), column]
            precisions.append((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits > 0].mean())
        return 100 * float(right.mean()), 100 * float(np.mean(precisions))

    # Questions: each takes time and leaves something known; it is False if there is nothing left to ask

    def _next(self, key: str, choose: Callable[[], list]) -> object | None:
        if not self.waiting.get(key):
            self.waiting[key] = choose()
        return self.waiting[key].pop(0) if self.waiting[key] else None

    def _picture(self, by: str, *, before: bool = False) -> int | None:
        """The next picture, chosen twelve at a time as in Teach: without a class first, then without tags.

        The queue ``before`` did not ask for tags and did not care which pictures were asked about last.
        """
        head, of = (self.tags, tag_doubt) if by == "tags" else (self.classes, class_doubt)

        def choose() -> list[int]:
            no_class = ~self.known_class & ~self.held_out
            no_tags = self.known_class & ~self.held_out & ~(self.cells != 0).any(axis=1)
            rows = np.flatnonzero(no_class if no_class.any() or before else no_tags)
            doubt, settled = of(head.without_own)[rows], [] if before else self.asked[-RECENT:]
            found = choose_questions(self.world.Z, rows, doubt, 12, settled=settled, random_state=self.answers)
            self.asked += found.tolist()
            return found.tolist()

        return self._next(by, choose)

    def ask_class(self) -> bool:
        """The class of a picture."""
        row = self._picture("class", before=True)
        return row is not None and self._say_class(row)

    def _say_class(self, row: int) -> bool:
        likely = self.class_names[np.argsort(-self.classes.p[row])[:OPTIONS]]
        self.seconds += CLASS_SECONDS + (0 if self.world.y[row] in likely else TYPED)
        self.known_class[row] = True
        return True

    def ask_both(self, end: str = "all", by: str = "class") -> bool:
        """Class and tags of a picture."""
        row = self._picture(by)
        return row is not None and self._say_both(row, end)

    def _say_both(self, row: int, end: str = "all") -> bool:
        if not self.known_class[row]:
            self._say_class(row)
        shown = self.used[np.argsort(-self.tags.p[row], kind="stable")[:OPTIONS]]
        own = self.world.T[row] > 0
        chosen = shown[own[shown]]
        self.seconds += TAGS_SECONDS + CHOSEN_SECONDS * len(chosen)
        self.cells[row, chosen] = 1
        if end == "shown":
            self.cells[row, shown[~own[shown]]] = -1
        if end == "all":
            self.seconds += TYPED * (own.sum() - len(chosen))
            self.cells[row], self.whole[row] = np.where(own, 1, -1), True
        return True

    def ask_estimate(self) -> bool:
        """The class of a picture, or class and tags.

        The error falls as a power of the number of pictures n, so one more picture brings about error / n.
        """
        row = self._picture("class")
        if row is None:
            return False
        of_class = (1 - self.classes.accuracy) / len(self.classes.rows) / CLASS_SECONDS
        seconds = TAGS_SECONDS + CHOSEN_SECONDS * (self.cells[self.whole] > 0).sum(axis=1).mean()
        too = self.known_class[row] or (1 - self.tags.accuracy) / len(self.tags.rows) / seconds >= of_class
        return self._say_both(row) if too else self._say_class(row)

    def ask_yes_no(self) -> bool:
        """Whether a picture has a tag."""
        found = self._next("yes-no", lambda: self._about_tags(1, "doubt"))
        if found is None:
            return False
        self.seconds += YES_NO
        self._say_tag(*found)
        return True

    def ask_six(self, of: str = "doubt") -> bool:
        """Which of six pictures have a tag."""
        found = self._next(f"six {of}", lambda: self._about_tags(SIX, of))
        if found is None:
            return False
        self.seconds += READ + LOOK * len(found[1]) + MARK * self._say_tag(*found) + END
        return True

    def _say_tag(self, tag: int, rows: np.ndarray) -> int:
        has = self.world.T[rows, tag] > 0
        self.cells[rows, tag] = np.where(has, 1, -1)
        return int(has.sum())

    def _about_tags(self, size: int, of: str) -> list[tuple[int, np.ndarray]]:
        """Questions about one tag of ``size`` pictures; no tag and no picture twice."""
        open_ = (self.cells[:, self.used] == 0) & ~self.whole[:, None] & ~self.held_out[:, None]
        p = self.tags.p
        doubt = np.where(open_, 4 * p * (1 - p), 0)
        asked = ((self.cells[:, self.used] != 0) & ~self.whole[:, None]).sum(axis=0)
        taken, found = np.zeros(len(p), bool), []
        for tag in np.argsort(-doubt.sum(axis=0) / (SIX + asked), kind="stable")[:6]:
            rows = np.flatnonzero(open_[:, tag] & ~taken)
            if len(rows) < size:
                continue
            likely = rows[np.argsort(-p[rows, tag], kind="stable")[:size]]
            some = likely if of == "likely" else choose_questions(self.world.Z, rows, doubt[rows, tag], size)
            taken[some] = True
            found.append((int(self.used[tag]), some))
        return found


POLICIES: dict[str, list[Callable[[Review], bool]]] = {
    "class": [Review.ask_class],
    "both": [Review.ask_both],
    "both-tags": [lambda review: review.ask_both(by="tags")],
    "both-some": [lambda review: review.ask_both("some")],
    "both-shown": [lambda review: review.ask_both("shown")],
    "yes-no": [Review.ask_yes_no],
    "six": [Review.ask_six],
    "six-likely": [lambda review: review.ask_six("likely")],
    "estimate": [Review.ask_estimate],
    "both-six": [Review.ask_both, Review.ask_six],
}


def run(world: World, policy: str, seed: int) -> np.ndarray:
    """Classes and tags that are right, and the classes given, after each half of a minute of one review."""
    review, points, turns = Review.begun(world, seed), [], POLICIES[policy]
    given = int(review.known_class.sum())
    while len(points) <= MINUTES * 60 / LEARNED_EVERY:
        if review.seconds >= LEARNED_EVERY * len(points):
            review.learn()
            points.append((*review.measure(), int(review.known_class.sum()) - given))
        elif not turns[review.answers % len(turns)](review) and len(turns) == 1:
            review.seconds += LEARNED_EVERY  # nothing is left to ask
        else:
            review.answers += 1
    return np.array(points)


def by_labels(points: np.ndarray) -> np.ndarray:
    """The mean share of right classes for each number of classes given."""
    counts = np.arange(points[:, -1, 2].min() + 1)
    return np.mean([np.interp(counts, one[:, 2], one[:, 0]) for one in points], axis=0)


def load(name: str, data: Path, cache: Path) -> World:
    """A collection with classes and tags."""
    if name == "postcards":
        return _postcards(cache)
    pictures = load_pictures(name, data, "deep", cache=cache)
    if name == "scenes8":
        labels = runpy.run_path(str(Path(__file__).parents[1] / "partial" / "people_label.py"))
        pictures = labels["with_own_tags"](pictures, data)
    rows = np.flatnonzero(~pictures.is_test)
    rows = rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST])]
    T = pictures.tags[rows].toarray()
    X = np.asarray(pictures.X["deep"], np.float32)[rows]
    return World(reduced(X), np.asarray(pictures.y)[rows], T[:, T.sum(axis=0) >= FEWEST])


def _postcards(cache: Path) -> World:
    report = make_postcards(cache / "postcards-600", N_POSTCARDS)
    truth = [json.loads(line) for line in report.truth.read_text().splitlines()]
    files = [report.folder / row["file_name"] for row in truth]
    keys = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    library = FeatureLibrary(cache / "postcards")
    recipe = library.recipe("deep", dict(zip(keys, files, strict=True)))
    library.describe(dict(zip(keys, files, strict=True)), recipe)
    X = np.asarray(library.features(recipe, keys)["deep"], np.float32)
    names = sorted({tag for row in truth for tag in row["tags"]})
    T = np.array([[name in row["tags"] for name in names] for row in truth], np.float32)
    y = np.unique([row["class"] for row in truth], return_inverse=True)[1]
    return World(reduced(X), y, T[:, T.sum(axis=0) >= FEWEST])


def main() -> None:
    """Print a line for each kind of question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--collection", choices=["scenes8", "corel5k", "postcards"], default="scenes8")
    parser.add_argument("--questions", nargs="*", choices=list(POLICIES), default=list(POLICIES))
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    world = load(options.collection, options.data, options.cache)
    n_classes, (n, n_tags) = len(np.unique(world.y)), world.T.shape
    print(f"{n} pictures, {n_classes} classes, {n_tags} tags, {world.T.sum(axis=1).mean():.1f} a picture\n")
    minutes = " | ".join(f"{what} {m}" for what in ("classes", "tags") for m in SHOWN)
    print(f"| | {minutes} | gain | labels |", "|---" * (2 * len(SHOWN) + 3) + "|", sep="\n", flush=True)
    every = round(60 / LEARNED_EVERY)
    target, now = 0.0, 0
    for policy in ["class", *(each for each in options.questions if each != "class")]:
        points = np.array([run(world, policy, seed) for seed in range(options.runs)])
        gains = (points[:, 1:, :2] - points[:, :1, :2]).sum(axis=2).mean(axis=1)
        mean, noise = points.mean(axis=0), gains.std() / np.sqrt(options.runs)
        accuracy = by_labels(points)
        if policy == "class":
            now = round(mean[COMPARED_AT * every, 2])
            target = accuracy[now]
        reached = np.flatnonzero(accuracy >= target)
        labels = f"{100 * reached[0] / now:.0f}" if len(reached) else ""
        shown = " | ".join(f"{mean[m * every, what]:.1f}" for what in (0, 1) for m in SHOWN)
        print(f"| {policy} | {shown} | {gains.mean():.1f} ± {noise:.1f} | {labels} |", flush=True)


if __name__ == "__main__":
    main()

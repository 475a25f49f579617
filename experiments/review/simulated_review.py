"""Simulated review: how many labels a queue needs for the same accuracy, when every question is answered by the truth.

Each run starts with a few pictures chosen at random, asks for ten labels at a time, learns again, and measures on
held-out pictures. The queues: pictures at random; the most doubtful ones; ours, doubtful ones that stand for many other
doubtful ones (``visterm.review.head.choose_questions``); and now, ours, for which pictures like the last 24 answered
ones count as settled, as on the page, which asks for twelve at a time (``--portion 12``). Only training pictures are
used, also of Corel5K, whose classes are the folders of the original CDs. "needs" is the number of labels with which the
mean accuracy of a queue first reaches that of the first queue with all its labels, divided by that number.

Run: python experiments/review/simulated_review.py --data FOLDER [--collection corel5k] [--draws 5]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from visterm.research import load_pictures
from visterm.review.head import choose_questions, class_doubt, fit_classes
from visterm.subspace import reduced

BATCH = 10
#: For each collection: labels at the start, labels at the end, and the share of pictures held out.
SETTINGS = {"scenes8": (8, 108, 0.3), "corel5k": (50, 1250, 0.25)}
QUEUES = ("random", "doubt", "ours", "now")
#: So many answers count as asked just now.
RECENT = 24


def run(
    Z: np.ndarray, y: np.ndarray, queue: str, collection: str, seed: int, *, batch: int, last: int
) -> list[tuple[int, float]]:
    """Accuracy on held-out pictures after each batch of labels."""
    first, _, share = SETTINGS[collection]
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    held_out, pool = order[: round(share * len(y))], order[round(share * len(y)) :]
    labelled = list(pool[:first])
    curve = []
    while True:
        rows = np.array(labelled)
        known, given = np.unique(y[rows], return_inverse=True)
        head = fit_classes(Z, rows, given, len(known))
        curve.append((len(rows), float((known[head.p[held_out].argmax(axis=1)] == y[held_out]).mean())))
        if len(labelled) >= last:
            return curve
        left = np.setdiff1d(pool, rows)
        if queue == "random":
            labelled += list(rng.choice(left, batch, replace=False))
        elif queue == "doubt":
            labelled += list(left[np.argsort(-class_doubt(head.p[left]), kind="stable")[:batch]])
        else:
            settled = labelled[first:][-RECENT:] if queue == "now" else []
            doubt = class_doubt(head.p[left])
            labelled += list(choose_questions(Z, left, doubt, batch, settled=settled, random_state=len(rows)))


def main() -> None:
    """Print the curves and what each queue needs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--collection", choices=list(SETTINGS), default="scenes8")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--queues", nargs="*", choices=QUEUES, default=QUEUES)
    parser.add_argument("--portion", type=int, help="Labels at a time (default: 10, for corel5k 50).")
    parser.add_argument("--labels", type=int, help="Labels at the end.")
    options = parser.parse_args()
    pictures = load_pictures(options.collection, options.data, "deep", cache=options.cache)
    keep = np.flatnonzero(~pictures.is_test)
    X, y = np.asarray(pictures.X["deep"], np.float32)[keep], np.asarray(pictures.y)[keep]
    Z = reduced(X)
    batch = options.portion or (BATCH if options.collection == "scenes8" else 5 * BATCH)
    last = options.labels or SETTINGS[options.collection][1]
    curves = {
        queue: np.array(
            [run(Z, y, queue, options.collection, seed, batch=batch, last=last) for seed in range(options.draws)]
        )
        for queue in options.queues
    }
    reference, *others = options.queues
    sizes = curves[reference][0, :, 0].astype(int)
    means = {queue: 100 * values[:, :, 1].mean(axis=0) for queue, values in curves.items()}
    print(f"| labels | {' | '.join(options.queues)} |", f"|---|{'---|' * len(options.queues)}", sep="\n")
    for place in np.unique(np.linspace(0, len(sizes) - 1, 11).astype(int)):
        print(f"| {sizes[place]} | {' | '.join(f'{means[queue][place]:.1f}' for queue in options.queues)} |")
    for place in (len(sizes) // 4, len(sizes) // 2, len(sizes) - 1):
        wanted = means[reference][place]
        for queue in others:
            reached = np.flatnonzero(means[queue] >= wanted)
            share = f"{100 * sizes[reached[0]] / sizes[place]:.0f} %" if len(reached) else "more than all"
            print(f"{queue}: for the {wanted:.1f} % of {sizes[place]} {reference} labels, {share} of them")


if __name__ == "__main__":
    main()

"""A person teaches a word that a collection does not know: how good is the tag after twenty answers?

    python experiments/review/new_word.py --features FOLDER --data FOLDER [--collections flickr corel]

Thirty words of 25 pictures to a quarter of them are left out of all labels; of captions, only words that name a thing.
A third of the pictures has its other words; with --without-labels none has any. Half of the pictures is
asked about, the other half tests. Average precision on the test half, means over words and draws of the halves:

- text: the text view alone
- random: twenty answers about pictures at random, with the text view as the prior
- random, no text: the same without the text view
- text order: the twenty that the text view ranks first
- queue: pictures as the queue asks, five at a time, each five chosen after the answers before

"likely" are the pictures of the asked half without an answer whose probability is at least 0.3 after twenty answers:
how many of them show the word, what probability was stated, and of all that show it how many are among them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from visterm.calibration import Asked, TextRelevance
from visterm.review.prior_head import corrected, next_questions, probabilities

sys.path.insert(0, str(Path(__file__).parents[1] / "search"))
from picture_words import average_precision, read, text_view

#: Words of captions that name what can be seen in a place of a picture.
_THINGS = """
    ball basketball beach bench bicycle bike boat bridge building car cliff crowd fence field guitar hat helmet hill
    horse lake motorcycle mountain ocean pool race river road rock rope sand sidewalk skateboard ski snow soccer stage
    street sunset surfboard swing tennis toy tree umbrella water waterfall wave wheel
"""
THINGS = frozenset(_THINGS.split())
N_WORDS, N_ANSWERS, EACH, N_DRAWS, LABELLED = 30, 20, 5, 3, 1 / 3
WAYS = ("text", "random", "random, no text", "text order", "queue")


def answers(way: str, Z: np.ndarray, prior: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The pictures of the asked half that are asked about, in order."""
    if way.startswith("random"):
        return rng.permutation(len(Z))[:N_ANSWERS]
    if way == "text order":
        return np.argsort(-prior, kind="stable")[:N_ANSWERS]
    rows = np.empty(0, np.intp)
    while len(rows) < N_ANSWERS:
        log_odds = corrected(Z, prior, rows, truth[rows]).log_odds
        open_ = ~np.isin(np.arange(len(Z)), rows)
        rows = np.concatenate([rows, next_questions(Z, log_odds, open_, rows, EACH)]).astype(np.intp)
    return rows


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--collections", nargs="*", default=("flickr", "corel"))
    parser.add_argument("--without-labels", action="store_true")
    options = parser.parse_args()
    for name in options.collections:
        pictures = read(name, options.features, options.data)
        n, rng = len(pictures.Z), np.random.default_rng(0)
        counts = pictures.truth.sum(axis=1)
        asked = (counts >= 25) & (counts <= n / 4)
        if name == "flickr":
            asked &= np.isin(pictures.names, list(THINGS))
        words = np.sort(rng.permutation(np.flatnonzero(asked))[:N_WORDS])
        labelled = (rng.random(n) < LABELLED) & (not options.without_labels)
        others = np.setdiff1d(np.arange(len(counts)), words)
        said = [
            ", ".join(pictures.names[word] for word in others[pictures.truth[others, row]]) if labelled[row] else ""
            for row in range(n)
        ]
        model, codes = text_view(pictures.X, said)
        scores = model.score(codes, [pictures.names[word] for word in words])
        relevance = TextRelevance().fit([])
        precisions: dict[str, list[float]] = {way: [] for way in WAYS}
        right, stated, found, yes = [], [], [], []
        for word, near, seen in zip(words, scores.near, scores.seen, strict=True):
            prior, truth = relevance.by_look(Asked.UNKNOWN, near, seen), pictures.truth[word]
            for _ in range(N_DRAWS):
                order = rng.permutation(n)
                half, test = order[: n // 2], order[n // 2 :]
                for way in WAYS:
                    if way == "text":
                        precisions[way].append(average_precision(truth[test], prior[test]))
                        continue
                    own = np.full(n, prior.mean()) if way == "random, no text" else prior
                    rows = half[answers(way, pictures.Z[half], own[half], truth[half], rng)]
                    learned = corrected(pictures.Z, own, rows, truth[rows])
                    precisions[way].append(average_precision(truth[test], learned.log_odds[test]))
                p = probabilities(learned, truth[rows])
                likely = np.setdiff1d(half[p[half] >= 0.3], rows)
                stated += p[likely].tolist()
                right += truth[likely].tolist()
                found.append(truth[likely].sum() / max(1, truth[np.setdiff1d(half, rows)].sum()))
                yes.append(truth[rows].sum())
        print(f"{name}: " + ", ".join(pictures.names[word] for word in words))
        print("  " + ", ".join(f"{way} {np.mean(of):.3f}" for way, of in precisions.items()))
        print(
            f"  queue: {np.mean(yes):.1f} of {N_ANSWERS} answers yes; likely: {len(right) / len(yes):.1f} a word",
            end="",
        )
        print(
            f", {np.mean(right or [0]):.2f} right ({np.mean(stated or [0]):.2f} stated), {np.mean(found):.2f} of all",
            flush=True,
        )


if __name__ == "__main__":
    main()

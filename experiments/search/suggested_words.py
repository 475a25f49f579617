"""Words suggested for pictures without labels: how many agree with the truth, and what models learn from them.

    python experiments/search/suggested_words.py --features FOLDER --data FOLDER

Half of a collection is without labels (the other half tests what is learned). A word agrees if at least 60 % of its
pictures have a true word that is the same, in any form, or whose vector has a cosine of at least 0.8 with that of the
word. "by look of the person": a person who sees the first six pictures accepts a word if it agrees in four of them.

- words, agree, pictures: the suggested words, those that agree, and the share of pictures that get one
- precision: the mean share of a word's pictures that have the true word, over words with one
- AP: mean average precision over the true words, on the test half: of ridge regression learned from accepting all
  words as they are; of that learned from what the person accepts; of the text view alone; of all true labels
- classes (scenes8, postcards): the person renames every word to the class of most of its first six pictures; accuracy
  on the test half, and with all true classes
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from picture_words import COLLECTIONS, Pictures, average_precision, read, text_view

from visterm.language import folded, text_encoder, word_key
from visterm.review.head import fit_classes, fit_head
from visterm.review.naming import fits, named_groups
from visterm.review.new_words import look_alikes
from visterm.vision.network.everyday_words import everyday_words

AGREES, SAME, SEEN, OF_SEEN = 0.6, 0.8, 6, 4
#: Collections whose pictures have one class each.
N_CLASSES = {"scenes8": 8}


@dataclass(frozen=True)
class Suggestion:
    """A word, its pictures, and the true word that it agrees best with (-1 if there is none) in what share of them."""

    word: str
    rows: np.ndarray
    true: int
    precision: float
    first: float


def suggestions(pictures: Pictures, half: np.ndarray) -> list[Suggestion]:
    """What is suggested for the pictures of a half, as in the program."""
    model, codes = text_view({name: values[half] for name, values in pictures.X.items()})
    words = everyday_words()
    fit = fits(model.score(codes, list(words)).near, model.share_seen(codes, list(words.values())))
    named = named_groups(fit, look_alikes(pictures.Z[half], np.arange(len(half))))
    names = list(words)
    like = text_encoder().encode(names) @ text_encoder().encode(pictures.names).T
    forms = [folded(word_key(name), "en") for name in pictures.names]
    found = []
    for each in named:
        same = like[each.word] >= SAME
        same |= np.array([form == folded(word_key(names[each.word]), "en") for form in forms])
        rows = half[each.rows]
        shares = np.where(same, pictures.truth[:, rows].mean(axis=1), -1.0)
        best = int(shares.argmax()) if same.any() else -1
        first = float(pictures.truth[best, rows[:SEEN]].sum()) if same.any() else 0.0
        found.append(Suggestion(names[each.word], rows, best, float(shares.max()), first))
    return found


def learned(pictures: Pictures, found: list[Suggestion], test: np.ndarray) -> dict[int, float]:
    """Average precision on the test half by true word, of a head that learned from the suggestions."""
    rows = np.unique(np.concatenate([each.rows for each in found]))
    true = sorted({each.true for each in found if each.true >= 0})
    targets = np.zeros((len(rows), len(true)))
    for each in found:
        if each.true >= 0:
            targets[np.searchsorted(rows, each.rows), true.index(each.true)] = 1
    scores = fit_head(pictures.Z, rows, targets).scores
    return {name: average_precision(pictures.truth[name, test], scores[test, at]) for at, name in enumerate(true)}


def accuracy(pictures: Pictures, found: list[Suggestion], half: np.ndarray, test: np.ndarray) -> str:
    """Right classes on the test half, after words were renamed to the class of most of their first pictures."""
    classes = pictures.truth.argmax(axis=0)
    given = np.full(len(classes), -1)
    for each in found:
        values, counts = np.unique(classes[each.rows[:SEEN]], return_counts=True)
        given[each.rows] = values[counts.argmax()]

    def right(rows: np.ndarray, y: np.ndarray) -> float:
        known, numbers = np.unique(y, return_inverse=True)
        return float(
            (known[fit_classes(pictures.Z, rows, numbers, len(known)).p[test].argmax(1)] == classes[test]).mean()
        )

    rows = np.flatnonzero(given >= 0)
    n_named = len(np.unique(given[rows]))
    return (
        f"classes: {len(rows)} labels of {n_named} classes, {np.mean(given[rows] == classes[rows]):.2f} right; "
        f"accuracy {right(rows, given[rows]):.3f}, with all {len(half)} true classes {right(half, classes[half]):.3f}"
    )


def main() -> None:
    """Print the figures of every collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--collections", nargs="*", default=COLLECTIONS)
    options = parser.parse_args()
    for name in options.collections:
        pictures = read(name, options.features, options.data)
        order = np.random.default_rng(0).permutation(len(pictures.Z))
        half, test = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        found = suggestions(pictures, half)
        for each in found:
            true = pictures.names[each.true] if each.true >= 0 else "-"
            print(f"  {each.word}: {len(each.rows)} pictures, {true} {max(each.precision, 0):.2f}")
        agree = sum(each.precision >= AGREES for each in found)
        known = [each.precision for each in found if each.true >= 0]
        covered = sum(len(each.rows) for each in found) / len(half)
        print(f"{name}: {len(found)} words, {agree} agree, {covered:.2f} of {len(half)} pictures", end="; ")
        print(f"precision {np.mean(known or [0]):.2f} of {len(known)}")
        if name in N_CLASSES:
            print(f"  {accuracy(pictures, found, half, test)}")
            continue
        accepted = [each for each in found if each.first >= OF_SEEN]
        model, codes = text_view(pictures.X)
        everything, chosen = learned(pictures, found, test), learned(pictures, accepted, test)
        true = sorted(everything)
        by_text = model.score(codes[test], [pictures.names[at] for at in true]).near
        best = fit_head(pictures.Z, half, pictures.truth[true][:, half].T.astype(float)).scores[test]
        text = {at: average_precision(pictures.truth[at, test], by_text[n]) for n, at in enumerate(true)}
        all_labels = {at: average_precision(pictures.truth[at, test], best[:, n]) for n, at in enumerate(true)}
        for title, of in (("all words accepted", true), ("accepted by a person", sorted(chosen))):
            scores = everything if of == true else chosen
            parts = [np.mean([each[at] for at in of]) for each in (scores, text, all_labels)]
            print(f"  {title}: {len(of)} true words, AP {parts[0]:.3f}", end="")
            print(f", text view {parts[1]:.3f}, all labels {parts[2]:.3f}")


if __name__ == "__main__":
    main()

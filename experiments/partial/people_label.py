"""Labels as people give them: what partial labels cost, and what knowing about it brings.

A third of a collection gets labels in one of these ways; the rest, with its complete labels, tells the truth:

a  complete: every picture has all of its tags
b  as a, and then one tag is given to 30 further pictures that have it
c  one tag of each picture, drawn at random, said as one tag
i  the same, but from a file that claims to be complete
d  complete, but 30 % of the tags were forgotten, at random
e  ten pictures are complete; then a queue asks 300 times "does this picture have this tag?" where it is in doubt

"before" takes what is written for all there is, as if every label were complete; "now" knows which labels are a part.
The figures: mean average precision over tags; the share of true tags that get at least 50 %, and how many of these
are right; log loss a pair; expected calibration error in ten bands. Only training pictures of Corel5K are used.
``scenes8`` gets tags of our own: what the class shows, and how bright and how colourful the picture is. Methods that
learn from untagged pictures get the others without their labels, as ``visterm train`` gives them.

A method that would need more than ``--minutes`` is run without d, e and i, then with fewer draws. What was measured is
kept in ``--out``, and not measured again.

Run: python experiments/partial/people_label.py --data FOLDER --collection scenes8 [--methods ridge-tags ...]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from visterm import registry
from visterm.catalogue.acts import Extent
from visterm.contracts import Task, word_scores
from visterm.learn import Dataset, learned_search, learns_from_untagged, train_method
from visterm.learn.engine.completeness import with_shares
from visterm.research import load_pictures
from visterm.review.head import fit_tags
from visterm.subspace import reduced

SHARE, N_SAID, FORGOTTEN = 1 / 3, 30, 0.3
#: Answers of a queue: complete pictures at the start, questions, and questions at a time.
N_START, N_ASKED, N_AT_ONCE = 10, 300, 30
#: Tags of fewer pictures are left out.
FEWEST = {"scenes8": 2, "flickr1500": 40, "corel5k": 10}
SHOWS = {
    "coast": "sea sky water nature",
    "forest": "trees nature green",
    "highway": "road sky cars",
    "inside_city": "buildings windows town",
    "mountain": "sky nature rocks snow",
    "opencountry": "sky nature grass fields",
    "street": "buildings road cars town windows",
    "tallbuilding": "buildings sky town skyscraper",
}


def with_own_tags(pictures: Dataset, folder: Path) -> Dataset:
    """scenes8 with tags: what each class shows, and how bright and colourful each picture is."""
    from PIL import Image

    files = sorted((folder / "scenes8").glob("*/*.jpg"))
    found = []
    for file in files:
        words = set(SHOWS[file.parent.name.lower()].split()) | {"outdoor"}
        with Image.open(file) as picture:
            _, saturation, value = (band.mean() for band in np.asarray(picture.convert("HSV").resize((32, 32))).T)
        words |= {"dark"} if value < 95 else {"bright"} if value > 150 else set()
        found.append(words | ({"colourful"} if saturation > 110 else set()))
    names = tuple(sorted(set().union(*found)))
    tags = np.array([[name in words for name in names] for words in found], np.float32)
    return replace(pictures, tags=sparse.csr_array(tags), tag_names=names)


def load(name: str, data: Path, recipe: str, cache: Path) -> Dataset:
    """The training pictures of a collection, with the tags that enough of them have."""
    pictures = load_pictures(name, data, recipe, cache=cache)
    if name == "scenes8":
        pictures = with_own_tags(pictures, data)
    pictures = pictures.select(np.flatnonzero(~pictures.is_test))
    kept = np.flatnonzero(pictures.tag_counts >= FEWEST[name])
    X: Any = pictures.X if len(pictures.X) > 1 else next(iter(pictures.X.values()))
    names = tuple(pictures.tag_names[column] for column in kept)
    nobody = np.full(len(pictures), -1)
    return Dataset(name, X, nobody, (), sparse.csr_array(pictures.tags[:, kept]), names)


class Labelled(NamedTuple):
    """All pictures with what people wrote of a third, the ``rest`` that tells the truth, and the tag given in bulk."""

    given: Dataset
    rest: np.ndarray
    bulk: int


def labelled(truth: Dataset, way: str, seed: int) -> Labelled:
    """What people wrote of a third of the pictures; the rest is the same for every way."""
    rng = np.random.default_rng(seed)
    T, order = truth.tags.toarray(), rng.permutation(len(truth))
    some, rest = np.sort(order[: round(SHARE * len(order))]), order[round(SHARE * len(order)) :]
    tag = int(np.argsort(-T[rest].sum(axis=0))[3])
    said = rest[T[rest, tag] > 0][:N_SAID]
    written, extent, denied = np.zeros_like(T), np.full(len(T), Extent.PART, np.int8), np.zeros_like(T)
    if way in "abd":
        written[some], extent[some] = T[some], Extent.CLAIMED
    if way == "b":
        written[said, tag] = 1
    if way == "d":
        written[some] *= rng.random((len(some), T.shape[1])) >= FORGOTTEN
    if way in "ci":
        for row in some[T[some].any(axis=1)]:
            written[row, rng.choice(np.flatnonzero(T[row]))] = 1
        extent[some] = Extent.PART if way == "c" else Extent.CLAIMED
    if way == "e":
        written, denied = answered(truth, some, rng)
        extent[some[:N_START]] = Extent.WHOLE
    whole = written[extent > Extent.PART].any(axis=0)
    given = replace(
        truth,
        tags=sparse.csr_array(written),
        denied=sparse.csr_array(denied) if denied.any() else None,
        extent=extent,
        loose=~whole & written.any(axis=0) if whole.any() else np.zeros(T.shape[1], np.bool_),
    )
    return Labelled(given, np.setdiff1d(rest, said), tag)


def answered(truth: Dataset, some: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Tags and denials after the answers of a queue that asks about one tag where it is in doubt."""
    T, parts = truth.tags.toarray(), list(truth.X.values()) if isinstance(truth.X, dict) else [truth.X]
    dense = [part.toarray() if sparse.issparse(part) else np.asarray(part) for part in parts]
    Z = reduced(np.hstack(dense).astype(np.float32))
    written, denied = np.zeros_like(T), np.zeros_like(T)
    written[some[:N_START]] = T[some[:N_START]]
    for _ in range(N_ASKED // N_AT_ONCE):
        rows = some[:N_START]
        used = np.flatnonzero(written[rows].sum(axis=0) > 0)
        likely = fit_tags(Z, rows, sparse.csr_array(written[rows][:, used]), 0.8).p
        for tag in rng.choice(len(used), N_AT_ONCE):
            column = used[tag]
            free = some[(written[some, column] == 0) & (denied[some, column] == 0)]
            asked = free[np.argmin(np.abs(likely[free, tag] - 0.5))]
            (written if T[asked, column] else denied)[asked, column] = 1
    return written, denied


def figures(p: np.ndarray, T: np.ndarray) -> list[float]:
    """MAP, share of true tags at 50 %, how many at 50 % are right, log loss, expected calibration error."""
    precisions = []
    for column in np.flatnonzero(T.sum(axis=0) >= 3):
        hits = T[np.argsort(-p[:, column], kind="stable"), column]
        precisions.append((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits > 0].mean())
    sure, q = p >= 0.5, np.clip(p, 1e-4, 1 - 1e-4)
    loss = -(T * np.log(q) + (1 - T) * np.log(1 - q)).mean()
    band = np.minimum((10 * p).astype(int), 9).ravel()
    n, believed, true = (np.bincount(band, weights, 10) for weights in (None, p.ravel(), T.ravel()))
    error = np.abs(believed - true).sum() / n.sum()
    right = T[sure].mean() if sure.any() else np.nan
    return [float(np.mean(precisions)), float(T[sure].sum() / T.sum()), float(right), float(loss), float(error)]


def run(method: registry.Method, truth: Dataset, way: str, seed: int, *, known: bool) -> list[float]:
    """The figures of a method that learned from labels given in a ``way``; ``known``: it is told which are a part.

    MAP and the share at 50 % of the tags that were not given in bulk come last.
    """
    given, rest, bulk = labelled(truth, way, seed)
    if not learns_from_untagged(method):
        given = given.select(np.flatnonzero(given.has_tags | given.only_denied))
    given = with_shares(given) if known else replace(given, extent=None, loose=None)
    trained = train_method(method, given)
    relevance, _ = learned_search(trained)
    if relevance is None:
        return [np.nan] * 7
    others = truth.select(rest)
    p, T = relevance.probabilities(word_scores(trained.estimator, others.X)), others.tags.toarray()
    old = np.arange(T.shape[1]) != bulk
    return figures(p, T) + figures(p[:, old], T[:, old])[:2]


Measured = dict[str, dict[str, list[float]]]


def measured(method: registry.Method, truth: Dataset, ways: str, draws: int, seconds: float) -> Measured:
    """The mean figures by the way of labelling, before and now; the number of draws, and the seconds of training."""
    started = time.perf_counter()
    first = run(method, truth, "a", 0, known=True)
    one = time.perf_counter() - started
    if 2 * one * draws * len(ways) > seconds:
        ways = "".join(way for way in ways if way in "abc")
        draws = min(draws, max(1, int(seconds / (2 * one * len(ways)))))
    found: Measured = {"runs": {"draws": [draws], "seconds": [one]}}
    for way in ways:
        found[way] = {}
        for name in ("before", "now"):
            runs = [first] if (way, name) == ("a", "now") else []
            runs += [run(method, truth, way, seed, known=name == "now") for seed in range(len(runs), draws)]
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                found[way][name] = np.nanmean(np.array(runs), axis=0).tolist()
    return found


def tables(found: dict[str, Measured]) -> str:
    """What was measured of every method: a, b, c and i in one table; b against a, d and e in another."""
    lines = ["| method | labels | MAP | at 50 % | of these right | log loss | calibration error |", "|---" * 7 + "|"]
    for name, of_method in found.items():
        for place, way in enumerate(way for way in "abci" if way in of_method):
            cells = [_change(of_method[way], column) for column in range(5)]
            lines.append(f"| {'' if place else name} | {way} | {' | '.join(cells)} |")
    others = [way for way in "de" if any(way in of_method for of_method in found.values())]
    titles = "".join(f" {way}: MAP | at 50 % | log loss |" for way in others)
    lines += ["", f"| method | b - a: MAP | at 50 % |{titles} draws |", "|---" * (4 + 3 * len(others)) + "|"]
    for name, of_method in found.items():
        if of_method.keys() >= {"a", "b"}:
            cells = [f"{100 * (of_method['b']['now'][i] - of_method['a']['now'][i]):+.1f}" for i in (5, 6)]
            cells += [_change(of_method.get(way), column) for way in others for column in (0, 1, 3)]
            lines.append(f"| {name} | {' | '.join(cells)} | {of_method['runs']['draws'][0]} |")
    return "\n".join(lines)


def _change(of_way: dict[str, list[float]] | None, column: int) -> str:
    """A figure before and now, or one if they are the same."""
    if of_way is None:
        return ""
    values = (of_way[name][column] for name in ("before", "now"))
    words = [f"{value:.3f}".lstrip("0") if column > 2 else f"{100 * value:.1f}" for value in values]
    words = ["-" if word == "nan" else word for word in words]
    return words[1] if words[0] == words[1] else " → ".join(words)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--out", type=Path, default=Path("results/partial"), help="the folder of what was measured")
    parser.add_argument("--collection", choices=list(FEWEST), default="scenes8")
    parser.add_argument("--methods", nargs="*", default=["ridge-tags", "label-propagation", "caption-ridge"])
    parser.add_argument("--recipe", help="default: that of the method")
    parser.add_argument("--ways", default="abcde", help="any of abcide")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=5.0, help="about the most time of a method")
    options = parser.parse_args()
    names = options.methods
    if names == ["all"]:
        names = [method.name for method in registry.methods(Task.RANK)]
    out = options.out / f"{options.collection}.json"
    found: dict[str, Measured] = json.loads(out.read_text()) if out.is_file() else {}
    for name in [name for name in names if name not in found]:
        method = registry.get(name)
        truth = load(options.collection, options.data, options.recipe or method.recipe, options.cache)
        found[name] = measured(method, truth, options.ways, options.draws, 60 * options.minutes)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(found))
        print(f"{name}: {found[name]['runs']}", file=sys.stderr, flush=True)
    print(tables({name: found[name] for name in names}))


if __name__ == "__main__":
    sys.exit(main())

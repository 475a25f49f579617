"""Do the regions that matter lie on the object? On postcards, where the place of every object is known.

    python experiments/search/postcards_regions.py [--pictures 600] [--cases 60] [--out results]

Methods learn from the labelled postcards. The objects lie on test pictures: each covers at most a fifth of the picture
and has a probability of at least 30%; there are up to four of a kind. Hiding regions shows which of them matter for the
object's word. *Lift* is the share of the weight that lies on the object, divided by the object's share of the picture;
1 by chance. *Pointing* is how often the cell with the largest weight touches the object, and how often a random cell
does. Writes results/search_regions.md and results/search_regions.jpg.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.collection.reasons import Regions
from visterm.contracts import Features, Task, word_scores
from visterm.find.regions import regions_of
from visterm.find.sheets import contact_sheet, save_sheet
from visterm.models import Model
from visterm.postcards import make_postcards, role_of
from visterm.vision import decode_rgb
from visterm.workspace import Workspace

METHODS = ("ridge-tags", "pamir-warp", "knn-tags")
LARGEST, LEAST_LIKELY, MOST_OF_A_KIND = 0.2, 0.3, 4
#: A cell touches an object that covers at least this share of the cell.
TOUCHED = 0.05
N_SHOWN = 9


@dataclass(frozen=True)
class Case:
    """An object on a picture."""

    file: Path
    rgb: NDArray[np.uint8]
    name: str
    there: NDArray[np.bool_]


def main() -> None:
    """Paint, learn, measure; write the table and a sheet of examples."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=600)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = ["| method | objects | lift, mean / median | pointing / by chance |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        make_postcards(Path(folder), options.pictures)
        with Workspace.create(Path(folder)) as workspace:
            workspace.add()
            for method in METHODS:
                workspace.train(method)
                model = workspace.shelf.model(Task.RANK, method)
                cases = likely_cases(workspace, model, options.pictures, options.cases)
                found = regions(model, cases)
                lines.append(f"| `{method}` | {measured(cases, found)} |")
                print(lines[-1], flush=True)
                if method == METHODS[0]:
                    save_sheet(examples(cases, found), options.out / "search_regions.jpg")
    (options.out / "search_regions.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def likely_cases(workspace: Workspace, model: Model, n_pictures: int, n_cases: int) -> list[Case]:
    """Objects on test pictures that the model thinks are there, in random order."""
    rows = [json.loads(line) for line in (workspace.folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    order = [i for i in np.random.default_rng(0).permutation(n_pictures) if role_of(int(i)) == "test"]
    kinds: Counter[str] = Counter()
    cases: list[Case] = []
    for row in (rows[i] for i in order):
        file = workspace.folder / row["file_name"]
        rgb = decode_rgb(file, pixel_budget=model.recipe.pixel_budget)
        (features,) = model.recipe.compute(rgb).values()
        p = np.exp(model.relevance.log_probabilities(word_scores(model.estimator, features.reshape(1, -1))))[0]
        for name in row["tags"]:
            there = np.zeros(rgb.shape[:2], np.bool_)
            for left, top, right, bottom in (r["box"] for r in row["regions"] if r["name"] == name):
                there[int(top) : int(bottom), int(left) : int(right)] = True
            known = name in model.info.tags and p[model.info.tags.index(name)] >= LEAST_LIKELY
            if known and 0 < there.mean() <= LARGEST and kinds[name] < MOST_OF_A_KIND:
                kinds[name] += 1
                cases.append(Case(file, rgb, name, there))
    return cases[:n_cases]


def regions(model: Model, cases: list[Case]) -> list[Regions]:
    """Which regions matter for the word of each case."""

    def believe(i: int, X: Features) -> NDArray[Any]:
        column = model.info.tags.index(cases[i].name)
        return model.relevance.log_probabilities(word_scores(model.estimator, X))[:, column]

    return regions_of(model.recipe, [case.rgb for case in cases], believe)


def measured(cases: list[Case], found: list[Regions]) -> str:
    """The cells of a table: the number of cases, lift and pointing."""
    lifts, hits, chances = [], [], []
    for case, counted in zip(cases, found, strict=True):
        shares = np.array(counted.shares)
        height, width = case.there.shape
        down, across = (np.arange(n) * cells // n for n, cells in zip((height, width), shares.shape, strict=True))
        covered = np.zeros(shares.shape)
        np.add.at(covered, (down[:, None], across[None, :]), case.there)
        covered *= shares.size / (height * width)
        heat = shares[down][:, across]
        lifts.append(float((heat * case.there).sum() / heat.sum() / case.there.mean()) if heat.sum() else 1.0)
        hits.append(covered.flat[int(shares.argmax())] >= TOUCHED)
        chances.append((covered >= TOUCHED).mean())
    return (
        f"{len(cases)} | {np.mean(lifts):.2f} / {np.median(lifts):.2f} | {np.mean(hits):.0%} / {np.mean(chances):.0%}"
    )


def examples(cases: list[Case], found: list[Regions]) -> Any:
    """The first pictures, each beside the regions that matter for a word."""
    first = list({case.file: (case, of) for case, of in reversed(list(zip(cases, found, strict=True)))}.values())
    shown = first[-N_SHOWN:][::-1]
    return contact_sheet(
        [case.file for case, _ in shown for _ in range(2)],
        [text for case, counted in shown for text in (case.name, str(counted))],
        regions=[of for _, counted in shown for of in (None, counted)],
    )


if __name__ == "__main__":
    main()

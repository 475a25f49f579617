"""PAMIR and every other ranker on Corel5K, as Grangier & Bengio (TPAMI 2008) measure them.

    python experiments/pamir/grangier-2008_corel5k.py --data FOLDER --features visterms strong deep [--validation-only]

Rankers learn from 4,000 pictures. 500 pictures choose every setting by average precision, and 499 are tested. Every
ranker may try the same rules (``rankers.py``) and at most 40 settings. The search tries the neighbours of the best
setting on the ladders of values, and ends when no neighbour is better. So the setting that is chosen is not at the edge
of what was tried, unless the ladder or the 40 settings end there; then a * follows it.
Queries are all sets of words of a test caption, made of the words that two or more test pictures have: the paper's 179
words and 2,241 queries. There are three kinds of features: ``visterms`` as in the paper; ``strong``, the product kernel
of thirteen features; ``deep``, the same with those of a pretrained network. Tables and plots go to ``results/``. What
was tried is kept in ``results/grangier-2008_corel5k``, so that a run goes on where another one stopped; delete that
folder to start again.
Its plot needs ``pip install 'visterm[plots]'``.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rankers import RULES, Part, Ranker, Setting, Task, kernel_rankers, tagprop, visterm_rankers
from scipy import sparse

from visterm.distances import select
from visterm.learn import letters
from visterm.margin import ProductKernel
from visterm.measures import NDCG, AveragePrecision, BreakEvenPoint, PrecisionAt
from visterm.ranking import PAMIR
from visterm.ranking.queries import Queries, from_tags, idf, relevant_pictures
from visterm.research import load_distances, load_pictures
from visterm.storage import write_bytes_atomically

#: AvgP, P10 of the paper's Table IX (larger pictures; each ranker has its own blocks and codebook).
PUBLISHED = {"PAMIR": (26.3, 10.0), "one SVM per word": (22.0, 9.3)}
MEASURES = (AveragePrecision(), PrecisionAt(10), BreakEvenPoint())


#: The most settings that a ranker may try.
MOST_SETTINGS = 40


@dataclass(frozen=True)
class Outcome:
    """What was chosen, its average precision on validation pictures, the test scores, processor seconds of a fit."""

    setting: Setting
    rule: str
    validation: float
    scores: np.ndarray
    seconds: float
    #: Average precision of the test queries by every rule, with this setting.
    of_rules: Mapping[str, float]
    n_tried: int = 0
    is_inside: bool = True

    def keep(self, file: Path) -> None:
        """Write it; the setting is the name of the file."""
        file.parent.mkdir(parents=True, exist_ok=True)
        told = {"rule": self.rule, "validation": self.validation, "seconds": self.seconds, "of_rules": self.of_rules}
        stream = io.BytesIO()
        np.savez_compressed(stream, scores=self.scores, told=json.dumps(told))
        write_bytes_atomically(file, stream.getvalue())

    @classmethod
    def kept(cls, file: Path, setting: Setting) -> Outcome:
        """Read it."""
        with np.load(file) as stored:
            told = json.loads(str(stored["told"]))
            return cls(setting, told["rule"], told["validation"], stored["scores"], told["seconds"], told["of_rules"])


def carry_out(rankers: list[Ranker], task: Task, most: int, folder: Path, *, test: bool) -> dict[str, Outcome]:
    """Choose setting and rule of every ranker on the validation queries; then ask it the test queries."""
    outcomes: dict[str, Outcome] = {}
    for ranker in rankers:
        tried: dict[tuple[int, ...], Outcome] = {}

        def attempt(place: tuple[int, ...], ranker: Ranker = ranker, tried: dict = tried) -> Outcome:  # type: ignore[type-arg]
            if place not in tried:
                ladders = zip(ranker.ladders.items(), place, strict=True)
                setting = {name: values[at] for (name, values), at in ladders}
                file = folder / ranker.name / f"{', '.join(f'{name} {value}' for name, value in setting.items())}.npz"
                if test and file.exists():
                    tried[place] = Outcome.kept(file, setting)
                else:
                    tried[place] = _attempt(ranker, setting, task, test)
                    if test:
                        tried[place].keep(file)
            return tried[place]

        best, is_inside = climb(ranker, attempt, tried, most)
        outcomes[ranker.name] = replace(best, n_tried=len(tried), is_inside=is_inside)
    return outcomes


def climb(ranker: Ranker, attempt: Any, tried: Mapping[tuple[int, ...], Outcome], most: int) -> tuple[Outcome, bool]:
    """From the start to the best neighbour until none is better; whether the end has neighbours on all sides."""
    sizes = [len(values) for values in ranker.ladders.values()]
    place = tuple(values.index(ranker.start[name]) for name, values in ranker.ladders.items())
    attempt(place)
    while True:
        around = [
            tuple(at + step if axis == moved else at for axis, at in enumerate(place))
            for moved in range(len(place))
            for step in (-1, 1)
        ]
        around = [other for other in around if all(0 <= at < size for at, size in zip(other, sizes, strict=True))]
        for other in around:
            if other in tried or len(tried) < most:
                attempt(other)
        best = max([place, *(other for other in around if other in tried)], key=lambda at: tried[at].validation)
        if tried[best].validation <= tried[place].validation:
            # Of two values (kinds of counts, averages) every one is at an edge.
            at_end = any(at in (0, size - 1) for at, size in zip(place, sizes, strict=True) if size > 2)
            return tried[place], not at_end and all(other in tried for other in around)
        place = best


def _attempt(ranker: Ranker, setting: Setting, task: Task, test: bool) -> Outcome:
    """The best rule with one setting."""
    began = time.process_time()
    answer = ranker.fit(**setting)
    seconds = time.process_time() - began
    truth, of_rules = task.asked["validation"].relevance, answer("validation")
    values = {rule: AveragePrecision()(truth, scores) for rule, scores in of_rules.items()}
    rule = max(values, key=lambda one: values[one])
    shown = ", ".join(f"{one} {100 * value:.2f}" for one, value in values.items())
    print(f"{ranker.name:34} {shown}  {seconds:.1f} s  {setting}", flush=True)
    if not test:
        return Outcome(setting, rule, values[rule], np.empty(0), seconds, {})
    tested, truth = answer("test"), task.asked["test"].relevance
    of_rules = {one: AveragePrecision()(truth, scores) for one, scores in tested.items()}
    return Outcome(setting, rule, values[rule], tested[rule], seconds, of_rules)


def table(outcomes: Mapping[str, Outcome], task: Task, seen: sparse.csr_array) -> list[str]:
    """The table of all measures over the test queries in %; letters name the rankers that each one beats in AvgP."""
    asked = task.asked["test"]
    values = {name: [m.per_query(asked.relevance, o.scores) for m in MEASURES] for name, o in outcomes.items()}
    beaten = letters({name: of[0] for name, of in values.items()})
    is_seen = np.diff(relevant_pictures(asked.words, seen).indptr) > 0
    groups = {
        "easy": asked.n_relevant >= 3,
        "difficult": asked.n_relevant < 3,
        "one word": asked.n_words == 1,
        "several": asked.n_words > 1,
        "unseen": ~is_seen,
    }
    head = ["", "ranker", "AvgP", "beats", "P10", "BEP", *groups, "validation", "s", "rule", "chosen"]
    lines = [_row(head), _row(["---"] * len(head))]
    for letter, (name, outcome) in zip("abcdefghijklmnopqrstuvwxyz", outcomes.items(), strict=False):
        precision, *others = values[name]
        figures = [precision.mean(), *(other.mean() for other in others)]
        shown = [f"{100 * value:.1f}" for value in [*figures, *(precision[of].mean() for of in groups.values())]]
        setting = ", ".join(f"{key} {value}" for key, value in outcome.setting.items())
        setting += "" if outcome.is_inside else " *"
        cells = [letter, name, shown[0], beaten[name], *shown[1:], f"{100 * outcome.validation:.1f}"]
        lines.append(_row([*cells, f"{outcome.seconds:.1f}", outcome.rule, setting]))
    sizes = ", ".join(f"{int(of.sum())} {name}" for name, of in groups.items())
    return [*lines, "", f"{len(asked)} test queries: {sizes}.", "", *_table_of_rules(outcomes)]


def _table_of_rules(outcomes: Mapping[str, Outcome]) -> list[str]:
    """The average precision of every ranker by every rule, with the setting that was chosen."""
    lines = [_row(["ranker", *RULES, "settings tried"]), _row(["---"] * (len(RULES) + 2))]
    for name, outcome in outcomes.items():
        cells = [f"{100 * outcome.of_rules[rule]:.1f}" if rule in outcome.of_rules else "" for rule in RULES]
        lines.append(_row([name, *cells, str(outcome.n_tried)]))
    return lines


def graded(task: Task, *, test: bool) -> list[str]:
    """Graded relevance, in which a picture with some of the words counts in part: PAMIR trained with and without it."""
    part = "test" if test else "validation"
    truth = _gains(task.asked[part].words, getattr(task, part).tags)
    lines = ["| trained on | nDCG@10 | AvgP |", "|---|---|---|"]
    queries = from_tags(task.train.tags)
    for name, gains in (("all words or none", queries.relevance), ("the share of words, squared", None)):
        gains = _gains(queries.words, task.train.tags) if gains is None else gains
        model = PAMIR(0.1, 2_000_000, kernel="log-visterm", held_out_share=0, random_state=0)
        model.fit(task.train.X, task.train.tags, Queries(queries.words, gains))
        scores = task.scores(model, part)
        figures = NDCG(10)(truth, scores), AveragePrecision()(task.asked[part].relevance, scores)
        lines.append(f"| {name} | {100 * figures[0]:.1f} | {100 * figures[1]:.1f} |")
        print(lines[-1], flush=True)
    return lines


def _gains(words: sparse.csr_array, tags: sparse.csr_array) -> sparse.csr_array:
    """The share of a query's words that a picture has, squared."""
    shares = sparse.diags_array(1.0 / np.diff(words.indptr)) @ (words.astype(float) @ tags.T.astype(float))
    return sparse.csr_array(shares.multiply(shares))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def tasks(arguments: argparse.Namespace) -> Iterator[tuple[str, Task, list[Ranker], sparse.csr_array]]:
    """Every kind of features with its rankers, and the tags of all pictures whose queries count as seen."""
    pictures = load_pictures("corel5k", arguments.data, "visterms-10k", cache=arguments.cache)
    own, test = np.flatnonzero(~pictures.is_test), np.flatnonzero(pictures.is_test)
    order = np.random.default_rng(0).permutation(len(own))
    rows = {"train": own[np.sort(order[500:])], "validation": own[np.sort(order[:500])], "test": test}
    tags = {part: pictures.tags[which] for part, which in rows.items()}
    asked = {part: _asked(tags[part]) for part in ("validation", "test")}
    counts = np.bincount(tags["train"].indices, minlength=pictures.tags.shape[1])
    weights = idf(counts, len(rows["train"]))
    for description in arguments.features:
        if description == "visterms":
            (X,) = pictures.X.values()
            X = sparse.csr_array(X, dtype=np.float32)
            features = {part: X[which] for part, which in rows.items()}
            tables = {part: {"visterms": of_part} for part, of_part in features.items()}
            learned = ProductKernel(1.0, metric="chi2")
        else:
            _, distances = load_distances(
                "corel5k", arguments.data, cache=arguments.cache, tables=arguments.tables, deep=description == "deep"
            )
            tables = {part: select(distances, which, rows["train"]) for part, which in rows.items()}
            features = dict.fromkeys(rows)
            learned = ProductKernel(1.0, metric="precomputed", weights="likelihood")
        parts = {part: Part(features[part], tags[part]) for part in rows}
        task = Task(**parts, asked=asked, idf=weights, kernel=_kernel(learned, tables, tags["train"]))
        if description == "visterms":
            yield description, task, list(visterm_rankers(task)), pictures.tags[own]
        else:
            yield description, task, [*kernel_rankers(task), tagprop(tables, task)], pictures.tags[own]


def _kernel(learned: ProductKernel, tables: Mapping[str, Any], tags: sparse.csr_array) -> Any:
    """The kernel of any scale between any part and the training pictures; computed when a ranker first asks."""
    kernels: dict[str, np.ndarray] = {}

    def kernel(part: str, scale: float) -> np.ndarray:
        if not kernels:
            kernels["train"] = learned.fit_transform(tables["train"], tags)
            kernels.update({other: learned.transform(tables[other]) for other in ("validation", "test")})
        return kernels[part] ** np.float32(scale)

    return kernel


def _asked(tags: sparse.csr_array) -> Queries:
    """The queries of pictures, made of the words that two or more of them have."""
    frequent = np.asarray(tags.sum(axis=0)).ravel() >= 2
    kept = sparse.csr_array(tags.multiply(frequent[None, :].astype(np.float32)))
    kept.eliminate_zeros()
    return from_tags(kept)


def plot(outcomes: Mapping[str, Mapping[str, Outcome]], asked: Queries, file: Path) -> None:
    """The average precision of every ranker, by kind of features."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.2 + 0.27 * sum(map(len, outcomes.values()))), layout="constrained")
    heights = [len(of) for of in outcomes.values()]
    panels = figure.subplots(len(outcomes), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (description, of) in zip(panels, outcomes.items(), strict=True):
        means = [100 * AveragePrecision()(asked.relevance, outcome.scores) for outcome in of.values()]
        bars = axes.barh(list(of), means, color="#4477aa", height=0.7)
        axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
        axes.invert_yaxis()
        axes.set_title(description, loc="left", fontsize=10)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].axvline(PUBLISHED["PAMIR"][0], color="#cc3311", linestyle="--", linewidth=1)
    panels[-1].set_xlabel(f"average precision of {len(asked)} test queries, % (dashed: published for PAMIR)")
    figure.savefig(file, dpi=110)


def main() -> None:
    """Measure everything; write the tables and the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--tables", type=Path, default=Path("results/distances/corel5k"))
    parser.add_argument("--features", nargs="+", default=["visterms", "strong"], choices=["visterms", "strong", "deep"])
    parser.add_argument(
        "--validation-only", action="store_true", help="choose settings without looking at test pictures"
    )
    parser.add_argument("--rankers", nargs="+", help="names of rankers, or beginnings of names (default: all)")
    parser.add_argument("--settings", type=int, default=MOST_SETTINGS, help="the most settings that a ranker may try")
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    lines, found = [], {}
    asked = None
    for description, task, rankers, seen in tasks(arguments):
        print(f"--- {description}", flush=True)
        test = not arguments.validation_only
        if arguments.rankers:
            rankers = [one for one in rankers if one.name.startswith(tuple(arguments.rankers))]
        folder = arguments.out / "grangier-2008_corel5k" / description
        outcomes = carry_out(rankers, task, arguments.settings, folder, test=test)
        is_graded = description == "visterms" and not arguments.rankers
        if is_graded:
            of_graded = graded(task, test=test)
        if test:
            asked, found[description] = task.asked["test"], outcomes
            lines += ["", f"## {description}", "", *table(outcomes, task, seen)]
            lines += ["", *of_graded] if is_graded else []
    if asked is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        name = f"grangier-2008_corel5k_{'-'.join(arguments.features)}"
        (arguments.out / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        plot(found, asked, arguments.out / f"{name}.png")
        print("\n".join(lines))


if __name__ == "__main__":
    main()

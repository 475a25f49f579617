"""Experiments as files: a setting, its published figures, and ours beside them.

``experiments/<method>/<author-year>_<method>_<data>.toml``::

    title = "Empirical tag frequency on Corel, a quarter tagged"
    method = "tag-frequency"
    data = ["corel16k002", "corel16k003"]
    recipe = "tagging"           # for collections of pictures (corel5k, scenes8): computes their features

    [protocol]
    split = "share-tagged"       # given, stratified, k-fold, per-class or share-tagged
    share = 0.25                 # the split's own parameter, besides the seed
    repeats = 5                  # each with its own seed, for the split and for the method
    transductive = true          # the test pictures take part in learning, without their labels
    used_words = true            # only tags that both training and test pictures have

    [[figures]]
    measure = "tag accuracy"
    published = 0.21             # leave out if the paper prints no number
    source = "Shao et al. 2014, Figure 3"
    same_protocol = false
"""

import statistics
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from visterm import measures, registry
from visterm.compute import Engine, map_shards, progress
from visterm.contracts import is_several
from visterm.documents.document import Document
from visterm.errors import InputError
from visterm.learn import Dataset, Split, measure
from visterm.learn.engine import splits
from visterm.ranking.queries import from_tags
from visterm.research import picture_data, research_data
from visterm.storage import write_text_atomically

#: The splits a protocol may name, with the parameters each needs besides the seed.
_SPLITS = {
    "given": (),
    "stratified": ("share",),
    "k-fold": ("n_folds",),
    "per-class": ("n_train",),
    "share-tagged": ("share",),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure and the value published for it."""

    measure: str
    published: float | None = None
    source: str = ""
    same_protocol: bool = False


@dataclass(frozen=True, slots=True)
class Experiment:
    """A method in a paper's setting."""

    name: str
    title: str
    method: str
    data: tuple[str, ...]
    protocol: Mapping[str, Any]
    figures: tuple[Figure, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    recipe: str | None = None


@dataclass(frozen=True)
class Finding:
    """Our figure beside the published one; ``values`` has one value for each run, ``row`` is the line of the table."""

    experiment: str
    figure: Figure
    values: list[float]
    seconds: float
    mean: float = field(init=False)
    deviation: float = field(init=False)
    row: list[str] = field(init=False)

    def __post_init__(self) -> None:
        mean = statistics.fmean(self.values)
        deviation = statistics.stdev(self.values) if len(self.values) > 1 else 0.0
        published = "-" if self.figure.published is None else f"{self.figure.published:.4g}"
        ours, same = f"{mean:.4g} ± {deviation:.2g}", "yes" if self.figure.same_protocol else "no"
        row = [self.experiment, self.figure.measure, published, ours, same, f"{self.seconds:.2f}"]
        for name, value in {"mean": mean, "deviation": deviation, "row": row}.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class ExperimentsReport(Document):
    """The figures that were found, the experiments that could not be run, and where the table is."""

    findings: list[Finding]
    not_run: list[str]
    table: Path


@dataclass(frozen=True)
class ExperimentTitle:
    """An experiment and what it is."""

    name: str
    title: str


@dataclass(frozen=True)
class Experiments(Document):
    """The experiments."""

    experiments: list[ExperimentTitle]


def listed(folder: Path) -> Experiments:
    """The experiments in ``folder``."""
    return Experiments([ExperimentTitle(name, read(path).title) for name, path in find(folder).items()])


def run_experiments(
    names: Sequence[str], *, folder: Path, data: Path | None = None, results: Path = Path("results")
) -> ExperimentsReport:
    """Run the experiments called ``names`` in ``folder`` (all for ``["all"]``), and write the table of figures.

    ``data`` is the folder of research data (default: ``VISTERM_DATA``). If several experiments are named, those without
    data are skipped; if a single one is named, missing data are an error.
    """
    known = find(folder)
    if not known:
        raise InputError(f"there are no experiments in {folder}")
    unknown = [name for name in names if name != "all" and name not in known]
    if unknown:
        raise InputError(f"there is no experiment {unknown[0]!r}: the experiments are {', '.join(known)}")
    source = research_data.data_folder(data)
    if source is None:
        raise InputError("name the folder of the research data: --data FOLDER, or set VISTERM_DATA")
    chosen = list(known) if "all" in names else list(names)
    files, source, cache = [known[name].absolute() for name in chosen], source.absolute(), results.absolute()

    def found(file: Path) -> list[Finding] | InputError:
        try:
            return carry_out(read(file), source, cache=cache / "features")
        except InputError as error:
            return error

    engine = Engine.from_environment()
    # Here they would take each other's cores: seconds are part of a finding.
    ran = list(map_shards(found, files, engine=engine, ahead=1)) if engine.is_elsewhere else map(found, files)
    findings: list[Finding] = []
    not_run: list[str] = []
    for name, outcome in zip(chosen, ran, strict=True):
        if not isinstance(outcome, InputError):
            findings += outcome
        elif len(chosen) == 1:
            raise outcome
        else:
            not_run.append(f"{name}: {outcome}")
    if not findings:
        raise InputError(f"no experiment could be run; {not_run[0]}")
    results.mkdir(parents=True, exist_ok=True)
    table = results / "experiments.md"
    write_text_atomically(table, markdown(findings))
    return ExperimentsReport(findings, not_run, table)


def find(folder: Path) -> dict[str, Path]:
    """The experiments below ``folder``, by name."""
    return {path.stem: path for path in sorted(folder.glob("*/*.toml"))}


def read(path: Path) -> Experiment:
    """Read and check one experiment file."""
    try:
        contents = tomllib.loads(path.read_text(encoding="utf-8"))
        data = contents["data"]
        experiment = Experiment(
            name=path.stem,
            title=contents["title"],
            method=contents["method"],
            data=(data,) if isinstance(data, str) else tuple(data),
            protocol=contents["protocol"],
            figures=tuple(Figure(**figure) for figure in contents["figures"]),
            parameters=contents.get("parameters", {}),
            recipe=contents.get("recipe"),
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not a readable experiment: {error}") from error
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is not a complete experiment: {error}") from error
    try:
        _check(experiment)
    except (InputError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a usable experiment: {error}") from error
    return experiment


def _check(experiment: Experiment) -> None:
    registry.get(experiment.method)
    known = research_data.names() if experiment.recipe is None else picture_data.names()
    if unknown := set(experiment.data) - set(known):
        hint = ""
        if experiment.recipe is None and unknown <= set(picture_data.names()):
            hint = "; for a collection of pictures, name the recipe that computes their features"
        raise InputError(f"unknown data {', '.join(sorted(unknown))}: choose from {', '.join(known)}{hint}")
    if not experiment.data or not experiment.figures:
        raise InputError("it needs at least one data set and one figure")
    for figure in experiment.figures:
        measures.parse(figure.measure)
        if figure.published is not None and not isinstance(figure.published, (int, float)):
            raise InputError(f"the published figure {figure.published!r} is not a number")
    needed = _SPLITS.get(experiment.protocol["split"])
    if needed is None:
        raise InputError(f"unknown split {experiment.protocol['split']!r}: choose {', '.join(_SPLITS)}")
    for name in needed:
        if name not in experiment.protocol:
            raise InputError(f"the split {experiment.protocol['split']} needs {name!r}")
    if experiment.protocol.get("repeats", 1) < 1:
        raise InputError("an experiment needs at least one repeat")


def carry_out(experiment: Experiment, folder: Path, *, cache: Path = Path("results/features")) -> list[Finding]:
    """Run ``experiment`` on the data in ``folder``: one finding per figure; ``cache`` keeps features."""
    method = registry.get(experiment.method)
    asked = [measures.parse(figure.measure) for figure in experiment.figures]
    loaded = [_load(name, folder, experiment.recipe, cache) for name in experiment.data]
    runs = [(data, seed, split) for data in loaded for seed, split in _splits(data, experiment.protocol)]
    if experiment.protocol.get("used_words", False):
        runs = [(data.with_words_of_both(split.train, split.test), seed, split) for data, seed, split in runs]
    is_random = "random_state" in method.create().get_params(deep=False)
    outcomes = []
    with progress.task(experiment.name, total=len(runs)) as bar:
        for data, seed, split in runs:
            measured = measure(
                method,
                data,
                split,
                parameters=({"random_state": seed} if is_random else {}) | dict(experiment.parameters),
                measures=asked,
                queries=partial(from_tags, max_words=experiment.protocol.get("max_query_words")),
                transductive=experiment.protocol.get("transductive", False),
            )
            outcomes.append(measured.performance)
            bar.advance()
    seconds = statistics.fmean(outcome.fit_seconds + outcome.answer_seconds for outcome in outcomes)
    for figure, wanted in zip(experiment.figures, asked, strict=True):
        if any(wanted.name not in outcome.flat() for outcome in outcomes):
            raise InputError(f"{experiment.name}: {figure.measure!r} cannot be measured for {experiment.method}")
    return [
        Finding(experiment.name, figure, [outcome.flat()[wanted.name] for outcome in outcomes], seconds)
        for figure, wanted in zip(experiment.figures, asked, strict=True)
    ]


def _load(name: str, folder: Path, recipe: str | None, cache: Path) -> Dataset:
    if recipe is None:
        return research_data.load(name, folder)
    data = picture_data.load_pictures(name, folder, recipe, cache=cache)
    if is_several(data.X) and len(data.X) == 1:
        return replace(data, X=next(iter(data.X.values())))
    return data


def _splits(data: Dataset, protocol: Mapping[str, Any]) -> Iterator[tuple[int, Split]]:
    """The seed of every repeat and its split (for k-fold, its splits)."""
    first_seed = protocol.get("seed", 0)
    for seed in range(first_seed, first_seed + protocol.get("repeats", 1)):
        match protocol["split"]:
            case "given":
                yield seed, splits.given(data.splits)
            case "stratified":
                yield seed, splits.stratified(data.y, protocol["share"], seed)
            case "k-fold":
                folds = splits.k_fold(data.y if data.class_names else len(data), protocol["n_folds"], seed)
                yield from ((seed, fold) for fold in folds)
            case "per-class":
                yield seed, splits.per_class(data.y, protocol["n_train"], seed, n_test=protocol.get("n_test"))
            case "share-tagged":
                yield seed, splits.share_tagged(data.tags, protocol["share"], seed)


#: The columns of the printed table; the seconds are those of one run.
COLUMNS = ("experiment", "measure", "published", "ours ± sd", "same protocol?", "seconds")


def markdown(findings: Sequence[Finding]) -> str:
    """The table in Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(finding.row for finding in findings)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

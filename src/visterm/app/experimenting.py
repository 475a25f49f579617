"""The papers' experiments: which there are, and our figures beside the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from visterm.app.document import Document
from visterm.evaluate import experiments


@dataclass(frozen=True)
class ExperimentTitle:
    """An experiment and what it is."""

    name: str
    title: str


@dataclass(frozen=True)
class Experiments(Document):
    """The experiments there are."""

    experiments: list[ExperimentTitle]


@dataclass(frozen=True)
class FigureFound:
    """Our figure beside the published one; ``values`` has one value a run."""

    experiment: str
    figure: experiments.Figure
    values: list[float]
    seconds: float
    mean: float
    deviation: float
    row: list[str]


@dataclass(frozen=True)
class ExperimentReport(Document):
    """The figures that were found, the experiments that could not be run, and where the table is."""

    findings: list[FigureFound]
    not_run: list[str]
    table: str


def listed(folder: Path) -> Experiments:
    """The experiments in ``folder``."""
    known = [experiments.read(path) for path in experiments.find(folder).values()]
    return Experiments([ExperimentTitle(item.name, item.title) for item in known])


def run(names: Sequence[str], *, data: Path | None, folder: Path, results: Path) -> ExperimentReport:
    """Run experiments by name, or all of them; several go on when the data of one are absent."""
    report = experiments.run_experiments(names, folder=folder, data=data, results=results)
    return ExperimentReport([_found(finding) for finding in report.findings], list(report.not_run), str(report.table))


def _found(finding: experiments.Finding) -> FigureFound:
    return FigureFound(
        finding.experiment,
        finding.figure,
        list(finding.values),
        finding.seconds,
        finding.mean,
        finding.deviation,
        list(experiments.row(finding)),
    )

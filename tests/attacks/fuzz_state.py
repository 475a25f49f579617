"""Damaged files in ``.visterm``: catalogues, model folders, feature stores and indexes are read or refused in words.

What a damaged file of numbers says may be wrong, unless it has a checksum. No damage may lead to anything but numbers
or a named error.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
from mutations import Trial, main, mutated

from visterm.features import FeatureStore
from visterm.index import Index
from visterm.models import load_model
from visterm.workspace import Workspace

N_TARGETS = 4


def _workspace(folder: Path) -> Path:
    from attack_harness import METHOD, RECIPE, make_pictures

    place = folder / "workspace"
    make_pictures(place / "photos", range(8))
    with Workspace.create(place) as photos:
        photos.add([place / "photos"])
        photos.label(place / "photos" / "0001.png", tags="mine")
        photos.train(METHOD, recipe=RECIPE)
        photos.search("red")
    with closing(sqlite3.connect(place / ".visterm" / "catalogue.sqlite")) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return place


def targets(folder: Path) -> Mapping[str, Trial]:
    """Each kind of file by the folder it is in."""
    place = _workspace(folder)
    state = place / ".visterm"
    (model,) = state.glob("models/*/1")
    store = next(path.parent for path in state.glob("features/*/manifest.json"))
    index = next(path.parent for path in state.glob("index/*/manifest.json"))

    def of(source: Path, use: Callable[[Path], object]) -> Trial:
        files = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file() and path.name != "lock")

        def trial(dice: random.Random) -> None:
            copy = folder / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(source, copy)
            damaged = copy / dice.choice(files)
            damaged.write_bytes(mutated(dice, damaged.read_bytes()))
            use(copy)

        return trial

    return {
        "catalogue": of(_only_catalogue(place, folder), _read_catalogue),
        "model": of(model, _use_model),
        "features": of(store, _read_features),
        "index": of(index, _read_index),
    }


def _only_catalogue(place: Path, folder: Path) -> Path:
    alone = folder / "alone"
    (alone / ".visterm").mkdir(parents=True)
    shutil.copy(place / ".visterm" / "catalogue.sqlite", alone / ".visterm" / "catalogue.sqlite")
    return alone


def _read_catalogue(folder: Path) -> None:
    with Workspace(folder) as photos:
        photos.status()
        photos.vocabulary()
        photos.search("red")


def _use_model(folder: Path) -> None:
    estimator = load_model(folder).estimator
    n_dims = getattr(estimator, "n_features_in_", 8)
    estimator.score_tags(np.zeros((2, n_dims if isinstance(n_dims, int) and 0 < n_dims < 10_000 else 8), np.float32))


def _read_features(folder: Path) -> None:
    store = FeatureStore.open(folder)
    store.check()
    store.rows(store.keys())


def _read_index(folder: Path) -> None:
    FeatureStore.open(folder).check()
    index = Index.open(folder)
    index.nearest(np.ones(index.n_dims), 3)


if __name__ == "__main__":
    sys.exit(main(targets))

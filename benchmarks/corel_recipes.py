"""How much recipes help with tags and classes: `ridge-tags` and `sdca` on training pictures of Corel5K.

Run: python benchmarks/corel_recipes.py ../shared/data/corel5k [RECIPE ...] [--bags]

Two thousand of the 4,500 training pictures are drawn; methods and recipes learn from 1,500, the others are measured.
The test pictures are not touched. With ``--bags``, the methods that take bags learn tags from 1,000 pictures.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from visterm import registry
from visterm.catalogue.records import Reading
from visterm.exchange.readers import corel
from visterm.features import features_of_files, one_or_several
from visterm.learn import Dataset, Split, encode_classes, measure, measured_queries
from visterm.measures import Accuracy, AveragePrecision, NPlus, WordF
from visterm.vision import TrainingPictures, recipe

N_TRAIN, N_TEST, N_BAGS = 1500, 500, 1000
RECIPES = ("deep", "deep+deep-lite2", "deep+tagging-fast", "deep+deep-lite2+tagging-fast", "deep+tagging")
BAGS = ("bow-240", "bow-deep")
BAG_METHODS = (
    "cmrm",
    "cmtt",
    "pamir-warp",
    "graph-mixture",
    "link-lda",
    "plsa",
    "plsa-words",
    "unigram-mixture",
    "slda-refined",
)


def drawn(folder: Path) -> tuple[list[Path], list[str], sparse.csr_array]:
    """The files, classes and tags of two thousand training pictures, in random order."""
    labels = folder / "labels"
    records = {
        corel.base(labels) / record.path: record
        for record in corel.read(labels, Reading(str(labels), corel.FORMAT))
        if record.split == "train"
    }
    files = sorted(records)
    files = [files[i] for i in np.random.default_rng(0).permutation(len(files))[: N_TRAIN + N_TEST]]
    words = sorted({tag for file in files for tag in records[file].tags})
    tags = np.array([[word in records[file].tags for word in words] for file in files], np.float32)
    used = tags[:N_TRAIN].any(axis=0) & tags[N_TRAIN:].any(axis=0)
    return files, [str(records[file].class_name) for file in files], sparse.csr_array(tags[:, used])


def described(name: str, files: list[Path]) -> tuple[Any, float]:
    """The features of all files, and the processor time of one picture in milliseconds."""
    made = recipe(name)
    if made.n_training_pictures:
        made.train(TrainingPictures(files[:N_TRAIN][: made.n_training_pictures], pixel_budget=made.pixel_budget))
    began = time.process_time()
    found, _, failed = features_of_files(made, files)
    if failed:
        raise SystemExit(str(failed[0]))
    return one_or_several(found), 1000 * (time.process_time() - began) / len(files)


def main() -> None:
    """Print a line for every recipe, or for every method of bags."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("recipes", nargs="*")
    parser.add_argument("--bags", action="store_true")
    options = parser.parse_args()
    files, class_names, tags = drawn(options.folder)
    y, names = encode_classes(class_names)
    words = tuple(map(str, range(tags.shape[1])))
    held_out = np.arange(N_TRAIN, N_TRAIN + N_TEST)
    for name in options.recipes or (BAGS if options.bags else RECIPES):
        X, milliseconds = described(name, files)
        print(f"{name}: {milliseconds:.0f} ms a picture", flush=True)
        if options.bags:
            data = Dataset("corel5k", X, np.full(len(y), -1, np.intp), (), tags, words)
            for method in map(registry.get, BAG_METHODS):
                measures = [AveragePrecision()] if method.name == "pamir-warp" else [WordF(5), AveragePrecision()]
                split = Split.of(np.arange(N_BAGS), held_out)
                found = measure(method, data, split, measures=measures, queries=partial(measured_queries, max_words=2))
                print(f"  {method.name}: {found.performance.flat()}", flush=True)
            continue
        data, split = Dataset("corel5k", X, y, names, tags, words), Split.of(np.arange(N_TRAIN), held_out)
        for method, measures in (("ridge-tags", [WordF(5), NPlus(5)]), ("sdca", [Accuracy()])):
            found = measure(registry.get(method), data, split, measures=measures, parameters={})
            print(f"  {method}: {found.performance.flat()}", flush=True)


if __name__ == "__main__":
    main()

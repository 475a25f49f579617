"""Whole recipes over a folder of pictures, as in `visterm features`: minutes, pictures per second, peak memory.

Run: python benchmarks/recipes.py FOLDER [RECIPE ...]
     python benchmarks/recipes.py ../shared/data/corel5k/images visterms-10k bow-1000 globals
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from visterm.collection.features import describe, ready_recipe
from visterm.workspace import Workspace


def main() -> None:
    """Add the folder to a new workspace, learn the recipes, and compute them in one pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("recipes", nargs="*", default=["visterms-10k", "bow-1000", "globals"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, Workspace.create(Path(home)) as workspace:
        started = time.perf_counter()
        report = workspace.add(arguments.folder, look_for_labels=False)
        print(f"added {report.files.added} pictures in {time.perf_counter() - started:.1f} s")
        recipes = []
        for name in arguments.recipes:
            started = time.perf_counter()
            recipes.append(ready_recipe(workspace, name))
            print(f"learned {name} in {time.perf_counter() - started:.1f} s")
        before = time.process_time()
        (first, *_) = describe(workspace, *recipes)
        rate = first.n_computed / first.seconds
        print(
            f"computed {', '.join(arguments.recipes)} of {first.n_computed} pictures in "
            f"{first.seconds / 60:.2f} minutes ({rate:.1f} pictures/s, "
            f"{time.process_time() - before:.0f} s of processor time)"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()

"""How soon the review has learned from 20 labels: Corel5K, 4,500 labelled photographs, 50 classes, 371 tags.

The photographs come from ``VISTERM_DATA``; their network features are computed once, in about a minute.

Run: python benchmarks/review.py --folder DIR
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import visterm
from visterm.compute.threads import one_blas_thread

T = TypeVar("T")
N_LABELS = 20


def main() -> None:
    """Build the workspace if it is not there, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("VISTERM_DATA"), help="the folder of research data")
    parser.add_argument("--folder", type=Path, required=True, help="where to keep the workspace")
    asked = parser.parse_args()
    if not (asked.folder / ".visterm").exists():
        if asked.data is None:
            parser.error("say where the research data are: --data or VISTERM_DATA")
        build(asked.folder, asked.data / "corel5k")
    with visterm.open(asked.folder) as photos, one_blas_thread():  # as in a server
        photos.library.readers_compute = False
        state = timed("the first fit", photos.reviewer.state)
        print(f"labelled pictures: {state.labelled}, others: {state.unlabelled}")
        questions = timed(f"{N_LABELS} questions", lambda: photos.reviewer.questions("teach", limit=N_LABELS)).questions
        view = photos.views.newest()
        paths = [photos.folder / view.paths[view.row_of[question.id]] for question in questions]

        def answer() -> None:
            for path, question in zip(paths, questions, strict=True):
                photos.label(path, class_name=next(one.name for one in question.labels if one.kind == "class"))

        timed(f"{N_LABELS} answers written", answer)
        timed("the heads know them", photos.reviewer.wait)
        timed("the next questions", lambda: photos.reviewer.questions("teach", limit=8))
        for path in paths:  # as it was before
            photos.label(path, clear="class")
    print(f"load of the machine (1 minute): {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def build(folder: Path, data: Path) -> None:
    """The photographs with their classes (the CD) and tags; those of the test set have no label."""
    folder.mkdir(parents=True, exist_ok=True)
    words = (data / "labels" / "words").read_text().split()
    with (folder / "metadata.jsonl").open("w") as table:
        for part, file in (("train", "training_label"), ("test", "test_label")):
            (folder / part).symlink_to((data / "images" / part).resolve())
            for line in (data / "labels" / file).read_text().splitlines():
                number, *tags = line.split()
                said = {"class": f"cd{int(number) // 1000}", "tags": [words[int(tag) - 1] for tag in tags]}
                name = {"file_name": f"{part}/{number}.jpeg"}
                table.write(json.dumps(name | said if part == "train" else name) + "\n")
    with visterm.open(folder, create=True) as photos:
        photos.add()
        photos.features("deep")


def timed(name: str, work: Callable[[], T]) -> T:
    """What ``work`` gives; the time it took is printed."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    print(f"{name:24} {time.perf_counter() - wall:6.2f} s, {time.process_time() - cpu:6.2f} s of processor time")
    return found


if __name__ == "__main__":
    main()

"""A workspace of 50,000 pictures: what opening, searching, labelling and starting from the shell cost.

The pictures are only names with random features; 2,000 of them have tags and classes, and two models learn from these.

Run: python benchmarks/workspace.py [--pictures 50000] [--seconds 60] [--folder DIR]
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import visterm
from visterm.catalogue.acts import Act
from visterm.catalogue.pictures import Examined
from visterm.workspace import Workspace

N_TAGS, N_CLASSES, TAGS_PER_PICTURE, N_TAGGED = 200, 20, 4, 2000
QUERIES = ("tag001", "tag001 tag002", "tag003 -tag004", "tag005 OR tag006", "class:class01", "tag001 tag002 tag003")


def main() -> None:
    """Build the workspace, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long eight threads search while one labels")
    parser.add_argument("--folder", type=Path, help="where to keep the workspace (default: a temporary folder)")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    if not (folder / ".visterm").exists():
        build(folder, arguments.pictures)
    measure_warm(folder)
    measure_another_process(folder)
    measure_threads(folder, arguments.seconds)
    measure_shell(folder)
    if arguments.folder is None:
        shutil.rmtree(folder)


def build(folder: Path, n_pictures: int) -> None:
    """A workspace of pictures that have no files: names, classes, tags, random features and two trained models."""
    rng = np.random.default_rng(0)
    started = time.perf_counter()
    with visterm.open(folder, create=True) as photos:
        keys = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(n_pictures)]
        files = [str(folder / f"{number // 1000:03d}" / f"IMG_{number:06d}.jpg") for number in range(n_pictures)]
        photos.catalogue.add(Examined(file, key, 1, 1, 640, 480, 1) for file, key in zip(files, keys, strict=True))
        ids = [picture.id for picture in photos.catalogue.pictures()]
        tags = rng.integers(N_TAGS, size=(N_TAGGED, TAGS_PER_PICTURE))
        rows = [
            (ids[i], "tag", f"tag{tag:03d}", "accepted", None) for i, of_one in enumerate(tags) for tag in set(of_one)
        ]
        rows += [(ids[i], "class", f"class{i % N_CLASSES:02d}", "accepted", None) for i in range(N_TAGGED)]
        photos.catalogue.write_labels(rows, source="import", act=Act.DESCRIBED)
        photos.catalogue.describe(ids[:N_TAGGED], source="import")
        recipe = photos.library.recipe("colour", {})
        ((output, spec),) = recipe.outputs.items()
        directions = rng.random((N_TAGS, spec.n_dims), dtype=np.float32)
        X = rng.random((n_pictures, spec.n_dims), dtype=np.float32)
        for i, of_one in enumerate(tags):
            X[i] += 2 * directions[of_one].sum(axis=0)
        photos.library.store(recipe, output).append(keys, X / X.sum(axis=1, keepdims=True))
        photos.train("ridge-tags", recipe="colour")
        photos.train("sdca", recipe="colour")
    print(f"built {n_pictures} pictures in {time.perf_counter() - started:.1f} s")


def measure_warm(folder: Path) -> None:
    """One object: the first search, the second, and the search after a label."""
    opened, seconds = timed(lambda: visterm.open(folder))
    with opened as photos:
        print(f"open                                     {seconds:9.1f} ms")
        for query in QUERIES:
            _, first = timed(lambda query=query: photos.search(query))
            again = min(timed(lambda query=query: photos.search(query))[1] for _ in range(20))
            print(f"search {query:<24} first {first:9.1f} ms, again {again:6.2f} ms")
        picture = photos.collection().frame.paths[7]
        label, search = [], []
        for number in range(10):
            label.append(timed(lambda number=number: photos.label(picture, tags=[f"tag{number:03d}"]))[1])
            search.append(timed(lambda: photos.search("tag001 tag002"))[1])
        print(f"label a picture                          {statistics.median(label):9.1f} ms")
        print(f"search after a label                     {statistics.median(search):9.1f} ms")


def measure_another_process(folder: Path) -> None:
    """A label written by another process is seen by the next call."""
    with visterm.open(folder) as photos:
        photos.search("souvenir")
        picture = photos.collection().frame.paths[11]
        shell(folder, "label", str(picture), "--tag", "souvenir")
        found, seconds = timed(lambda: photos.search("souvenir"))
        assert [item.path for item in found.found if item.told] == [picture], found
        print(f"search after another process's label     {seconds:9.1f} ms")


def measure_threads(folder: Path, seconds: float) -> None:
    """Eight threads search while one labels: how often, how fast, and whether anything went wrong."""
    with visterm.open(folder) as photos:
        errors: list[BaseException] = []
        taken: list[float] = []
        stop = time.perf_counter() + seconds
        labels = threading.Thread(target=keep_labelling, args=(photos, stop, errors))
        searches = [threading.Thread(target=keep_searching, args=(photos, stop, taken, errors)) for _ in range(8)]
        for thread in (labels, *searches):
            thread.start()
        for thread in (labels, *searches):
            thread.join()
        if errors:
            raise errors[0]
        slowest = np.percentile(taken, 95)
        print(
            f"8 threads search, 1 labels, {seconds:.0f} s: {len(taken)} searches, "
            f"median {statistics.median(taken):.1f} ms, 95 % within {slowest:.1f} ms, no error, no stale label"
        )


def keep_searching(photos: Workspace, stop: float, taken: list[float], errors: list[BaseException]) -> None:
    """Search until it is time to stop."""
    number = 0
    try:
        while time.perf_counter() < stop:
            query = QUERIES[number % len(QUERIES)]
            taken.append(timed(lambda query=query: photos.search(query))[1])
            number += 1
    except BaseException as error:
        errors.append(error)


def keep_labelling(photos: Workspace, stop: float, errors: list[BaseException]) -> None:
    """Label a picture ten times a second, and see each label in the next search."""
    paths = photos.collection().frame.paths
    number = 0
    try:
        while time.perf_counter() < stop:
            picture, mark = paths[1000 + number], f"mark{number}"
            photos.label(picture, tags=[mark])
            found = photos.search(mark)
            assert [item.path for item in found.found if item.told] == [picture], (mark, found)
            number += 1
            time.sleep(0.1)
    except BaseException as error:
        errors.append(error)
    print(f"labels written meanwhile: {number}")


def measure_shell(folder: Path) -> None:
    """The same search as a command."""
    for arguments in (("--version",), ("search", "tag001", "tag002"), ("status",)):
        times = [timed(lambda arguments=arguments: shell(folder, *arguments))[1] for _ in range(3)]
        print(f"visterm {' '.join(arguments):<32} {min(times):9.1f} ms")


def shell(folder: Path, *arguments: str) -> None:
    """Run the command line."""
    where = () if arguments == ("--version",) else ("-w", str(folder))
    subprocess.run([sys.executable, "-m", "visterm", *arguments, *where], check=True, stdout=subprocess.DEVNULL)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of ``work``, and the milliseconds it took."""
    started = time.perf_counter()
    result = work()
    return result, 1000 * (time.perf_counter() - started)


if __name__ == "__main__":
    main()

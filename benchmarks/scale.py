"""Every command on a large collection: time, memory, and whether it ends with an answer or a sentence.

    python benchmarks/scale.py make FOLDER --pictures 100000 --tags 1000 --classes 200
    python benchmarks/scale.py run FOLDER [--address-space 1500] [--only search ...]
    python benchmarks/scale.py search FOLDER
    python benchmarks/scale.py grow FOLDER [--by 1000]
    python benchmarks/scale.py catalogue FOLDER --pictures 1000000 --labels 5

``make`` builds a collection of tiny pictures whose features are made up but can be learned from: five tags a picture,
three of them those of its class. Of more tags than pictures, each is used. ``run`` runs commands as a person does, each
with at most so many megabytes of address space. ``search`` measures one object that is kept open. ``grow`` adds
pictures. ``catalogue`` builds a catalogue without files and measures it alone.
"""

import argparse
import hashlib
import os
import resource
import statistics
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import visterm
from visterm.catalogue.acts import Act
from visterm.catalogue.pictures import Examined
from visterm.collection import Filters

_SIDE, _BLOCK, _N_CODES = 16, 10_000, 64


def main() -> None:
    """Do what is asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("make", "run", "search", "grow", "catalogue"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--tags", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=200)
    parser.add_argument("--labels", type=int, default=5, help="tags of a picture")
    parser.add_argument("--unlabelled", type=int, default=1000, help="pictures without labels, the last ones")
    parser.add_argument("--address-space", type=int, help="of each command, in MB")
    parser.add_argument("--only", nargs="*", help="run the commands that begin so")
    parser.add_argument("--by", type=int, default=1000)
    options = parser.parse_args()
    if options.what == "make":
        make(options)
    elif options.what == "run":
        run(options)
    elif options.what == "search":
        search(options.folder)
    elif options.what == "grow":
        grow(options.folder, options.by)
    else:
        catalogue(options)


def make(options: argparse.Namespace) -> None:
    """Pictures, labels and features; nothing is trained."""
    n, rng = options.pictures, np.random.default_rng(0)
    started = time.perf_counter()
    with visterm.open(options.folder, create=True) as photos:
        keys = []
        for start in range(0, n, _BLOCK):
            examined = [picture(options.folder, number) for number in range(start, min(n, start + _BLOCK))]
            photos.catalogue.add(examined)
            keys += [each.sha256 for each in examined]
        print(f"{n:,} pictures: {time.perf_counter() - started:.0f} s", flush=True)
        classes = rng.integers(options.classes, size=n)
        label(photos, classes, options, rng)
        print(f"labels: {time.perf_counter() - started:.0f} s", flush=True)
        recipe = photos.library.recipe("deep", {})
        ((output, spec),) = recipe.outputs.items()
        store = photos.library.store(recipe, output)
        centres = rng.normal(size=(options.classes, _N_CODES)).astype(np.float32)
        spread = rng.normal(size=(_N_CODES, spec.n_dims)).astype(np.float32) / 8
        for start in range(0, n, _BLOCK):
            own = classes[start : start + _BLOCK]
            codes = centres[own] + 1.2 * rng.normal(size=(len(own), _N_CODES)).astype(np.float32)
            noise = 0.3 * rng.standard_normal((len(own), spec.n_dims), np.float32)
            store.append(keys[start : start + _BLOCK], np.maximum(codes @ spread + noise, 0))
    print(f"features: {time.perf_counter() - started:.0f} s", flush=True)


def picture(folder: Path, number: int) -> Examined:
    """Write a tiny picture of one colour with its number in it, as a PNG."""
    place = folder / f"{number // 1000:04d}" / f"IMG_{number:07d}.png"
    if not number % 1000:
        place.parent.mkdir(parents=True, exist_ok=True)
    pixels = (b"\0" + struct.pack(">I", number * 2_654_435_761 % 2**32)[:3] * _SIDE) * _SIDE
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"tEXt", b"Source\0%d" % number), (b"IDAT", zlib.compress(pixels, 1)), (b"IEND", b"")
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in parts)
    place.write_bytes(data)
    size, key = len(data), hashlib.sha256(data).hexdigest()
    return Examined(str(place), key, size, place.stat().st_mtime_ns, _SIDE, _SIDE, 1)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def label(photos: Any, classes: Any, options: argparse.Namespace, rng: np.random.Generator) -> None:
    """Give every picture but the last ones its class and tags: three of its class, the others by frequency."""
    n, n_tags = len(classes) - options.unlabelled, options.tags
    ids = [int(number) for number in photos.catalogue.truth().ids]
    pool = rng.integers(n_tags, size=(options.classes, 8))
    frequency = 1 / np.arange(1, n_tags + 1)
    frequency /= frequency.sum()
    for start in range(0, n, _BLOCK):
        own = classes[start : min(n, start + _BLOCK)]
        of_class = np.take_along_axis(pool[own], rng.integers(8, size=(len(own), 3)), 1)
        others = rng.choice(n_tags, size=(len(own), options.labels - 3), p=frequency)
        of_one = (start + np.arange(len(own)))[:, np.newaxis] * (n_tags // n) + np.arange(
            n_tags // n if n_tags > n else 0
        )
        tags = np.concatenate([of_class, others, of_one], axis=1)
        block = ids[start : start + len(own)]
        photos.catalogue.write_labels(_rows(block, own, tags), source="import", act=Act.DESCRIBED)
        photos.catalogue.describe(block, source="import")


def _rows(ids: list[int], classes: Any, tags: Any) -> Iterator[tuple[int, str, str, str, None]]:
    for number, of_class, of_picture in zip(ids, classes.tolist(), tags.tolist(), strict=True):
        yield number, "class", f"class{of_class:03d}", "accepted", None
        for tag in set(of_picture):
            yield number, "tag", f"tag{tag:06d}", "accepted", None


#: What a person runs, in this order; ``{picture}`` is one of the pictures, ``{out}`` a file beside them.
COMMANDS = (
    "status",
    "add",
    "vocabulary",
    "history",
    "search tag000001 --limit 3",
    "similar {picture}",
    "train knn-tags",
    "train pamir --recipe deep",
    "train knn",
    "models",
    "quality",
    "tag",
    "classify",
    "search tag000001 tag000002 --limit 3",
    "evaluate knn-tags",
    "export {out}.csv",
    "export {out}.json",
    "serve",
)


def run(options: argparse.Namespace) -> None:
    """Run commands one after the other."""
    out = options.folder.parent / f"{options.folder.name}-export"
    for command in COMMANDS:
        if options.only and not any(command.startswith(only) for only in options.only):
            continue
        words = command.format(picture=options.folder / "0000" / "IMG_0000007.png", out=out).split()
        for file in (out.with_suffix(".csv"), out.with_suffix(".json")):
            file.unlink(missing_ok=True)
        report(command, [*words, "-w", str(options.folder)], options.address_space)


def report(title: str, words: list[str], megabytes: int | None) -> None:
    """Run one command in a process of its own and print what it cost and its last words."""

    def limit() -> None:
        if megabytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))

    started, before = time.perf_counter(), os.times()
    wait = 20.0 if words[0] == "serve" else 900.0
    process = subprocess.Popen(
        [sys.executable, "-m", "visterm", *words, *(["--no-browser"] if words[0] == "serve" else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        preexec_fn=limit,
        text=True,
    )
    peak = _peak(process, started + wait)
    shown = [line for line in (process.stdout.read() if process.stdout else "").splitlines() if line.strip()]
    traceback = "  TRACEBACK" if any(line.startswith("Traceback") for line in shown) else ""
    now, seconds = os.times(), time.perf_counter() - started
    own = now.children_user + now.children_system - before.children_user - before.children_system
    print(
        f"{title:40s} {seconds:7.1f} s, processor {own:7.1f} s {peak:6.2f} GB  exit {process.returncode}{traceback}",
        flush=True,
    )
    for line in shown[-3:]:
        print(f"    {line[:150]}", flush=True)


def _peak(process: "subprocess.Popen[str]", end: float) -> float:
    """Wait for a process; the most memory it had, in GB, without pages of files."""
    most = 0.0
    while process.poll() is None:
        try:
            lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
        except (OSError, UnicodeDecodeError):
            break
        own = next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)
        most = max(most, own / 2**20)
        if time.perf_counter() > end:
            process.terminate()
            break
        time.sleep(0.02)
    process.wait()
    return most


def search(folder: Path) -> None:
    """One object that is kept open."""
    opened, seconds = timed(lambda: visterm.open(folder))
    rng = np.random.default_rng(1)
    with opened as photos:
        names = [f"tag{tag:06d}" for tag in rng.integers(0, 200, 40)]
        queries = [*names, *map(" ".join, pairwise(names)), f"{names[0]} -{names[1]}"]
        print(f"open {seconds:.0f} ms, the first search {timed(lambda: photos.search(queries[0]))[1]:.0f} ms")
        for asked in (queries, queries):
            took = [timed(lambda query=query: photos.search(query))[1] for query in asked]
            print(
                f"{len(took)} searches: median {statistics.median(took):.1f} ms, p95 {np.percentile(took, 95):.1f} ms"
            )
        print(f"overview {timed(photos.overview)[1]:.0f} ms, status {timed(photos.status)[1]:.0f} ms")
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def grow(folder: Path, by: int) -> None:
    """Add pictures and search again: what that costs, step by step."""
    with visterm.open(folder) as photos:
        before = photos.catalogue.counts().n_ok
        photos.search("tag000001 tag000002")
        for number in range(10**6 + before, 10**6 + before + by):
            (folder / f"{number // 1000:04d}").mkdir(exist_ok=True)
            picture(folder, number)
        steps: dict[str, Callable[[], Any]] = {
            "add": photos.add,
            "features": lambda: photos.features("deep"),
            "scores, and a search": lambda: photos.search("tag000001 tag000002"),
            "search again": lambda: photos.search("tag000001 tag000002"),
            "overview": photos.overview,
        }
        started = time.perf_counter()
        for name, step in steps.items():
            used = time.process_time()
            seconds = timed(step)[1] / 1000
            print(f"{name:24s} {seconds:7.2f} s, processor {time.process_time() - used:7.2f} s", flush=True)
        print(f"{by} pictures added to {before:,}: {time.perf_counter() - started:.1f} s")


def catalogue(options: argparse.Namespace) -> None:
    """The catalogue alone: pictures without files, labels, and what lists, facets and history read."""
    rng = np.random.default_rng(0)
    n = options.pictures
    if not (options.folder / ".visterm").exists():
        with visterm.open(options.folder, create=True) as photos:
            started = time.perf_counter()
            for start in range(0, n, _BLOCK):
                photos.catalogue.add(_names(options.folder, range(start, min(n, start + _BLOCK))))
            print(f"add {n:,} pictures: {time.perf_counter() - started:.1f} s", flush=True)
            started = time.perf_counter()
            label(photos, rng.integers(options.classes, size=n), options, rng)
            print(f"{options.labels} tags and a class each: {time.perf_counter() - started:.1f} s", flush=True)
    opened, seconds = timed(lambda: visterm.open(options.folder))
    with opened as photos:
        name, filters = str(options.folder / "0000" / "IMG_0000007.png"), Filters(tags=("tag000001",))
        steps: dict[str, Callable[[], Any]] = {
            "counts": photos.catalogue.counts,
            "truth of all": photos.collection,
            "vocabulary": photos.vocabulary,
            "history": photos.history,
            "history of a picture": lambda: photos.history(name),
            "status": photos.status,
            "collection again": photos.collection,
            "label": lambda: photos.label(name, tags=["tag000003"]),
            "collection after a label": photos.collection,
            "overview": photos.overview,
            "undo": photos.undo,
            "first page": photos.gallery.page,
            "facets of all": photos.gallery.facets,
            "facets of a filter": lambda: photos.gallery.facets(filters=filters),
            "page of a filter": lambda: photos.gallery.page(filters=filters),
        }
        print(f"open {seconds:.0f} ms")
        for title, step in steps.items():
            used = time.process_time()
            seconds = timed(step)[1] / 1000
            print(f"{title:28s} {seconds:8.2f} s, processor {time.process_time() - used:8.2f} s", flush=True)
    size = sum(file.stat().st_size for file in (options.folder / ".visterm").glob("catalogue.sqlite*"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"catalogue {size / 2**20:.0f} MB, peak {peak / 2**20:.2f} GB")


def _names(folder: Path, numbers: Iterable[int]) -> Iterator[Examined]:
    for number in numbers:
        key = hashlib.sha256(str(number).encode()).hexdigest()
        yield Examined(str(folder / f"{number // 1000:04d}" / f"IMG_{number:07d}.png"), key, 1, number, 640, 480, 1)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result of ``work``, and the milliseconds it took."""
    started = time.perf_counter()
    result = work()
    return result, 1000 * (time.perf_counter() - started)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()

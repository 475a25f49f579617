"""How fast a folder of pictures is added: ``python benchmarks/add.py [FOLDER]``.

Without a folder, it uses the Corel5K photographs beside the checkout, or else 2,000 generated pictures.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from visterm.catalogue import Catalogue, Examined, Reading, Record, add_folder

COREL = Path(__file__).resolve().parents[2] / "shared" / "data" / "corel5k" / "images"
N_BARE_ADDS = 50_000


def main() -> None:
    """Print one figure per line."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else COREL if COREL.is_dir() else make_pictures(top / "made")
        bare_adds(top)
        with Catalogue.create(top / "catalogue.sqlite", root=folder) as catalogue:
            with timed("first add"):
                report = add_folder(catalogue, [folder])
            print(f"{'':24}{report.files.added} added, {report.files.unreadable} unreadable")
            with timed("second add"):
                add_folder(catalogue, [folder])
            records = [
                Record(path, "some class", tuple(f"tag {(row + shift) % 400}" for shift in range(4)))
                for row, path in enumerate(catalogue.known_files())
            ]
            for what in ("labels, first time", "labels, nothing changed"):
                with timed(what):
                    catalogue.apply(records, base=folder, reading=Reading("benchmark", "records"))
            with timed("reading every picture"):
                sum(1 for _ in catalogue.pictures())
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            with timed("training arrays"):
                catalogue.truth()
            print(f"{'peak memory of adding':24}{peak:8.0f} MB")


def bare_adds(top: Path) -> None:
    """Record files whose content needs no reading."""
    files = (Examined(f"{top}/{row}.jpg", f"{row:064x}", 1, 1, 4, 3, 1) for row in range(N_BARE_ADDS))
    with Catalogue.create(top / "bare.sqlite", root=top) as catalogue:
        started = time.perf_counter()
        catalogue.add(files)
        print(f"{'adds without reading':24}{N_BARE_ADDS / (time.perf_counter() - started):8.0f} a second")


def make_pictures(folder: Path) -> Path:
    """Small JPEGs of noise."""
    import numpy as np
    from PIL import Image

    folder.mkdir()
    rng = np.random.default_rng(0)
    for row in range(2000):
        Image.fromarray(rng.integers(0, 256, (128, 192, 3), dtype=np.uint8)).save(folder / f"{row:04}.jpg", quality=75)
    return folder


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long the ``with`` block took."""
    started = time.perf_counter()
    yield
    print(f"{what:24}{time.perf_counter() - started:8.3f} s")


if __name__ == "__main__":
    main()

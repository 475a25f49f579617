"""The recipe `fisher` on photographs of 500 x 375: pictures per second on 1 and 2 threads, and the share of each stage.

Run: python benchmarks/fisher_pipeline.py [--pictures ../shared/data/scenes8] [--recipe fisher]

The pictures of the folder are enlarged to 500 x 375 first (JPEG, quality 90).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

from visterm.compute import Engine, map_shards
from visterm.vision import FisherEncoder, FisherRecipe, TrainingPictures, decode_rgb, recipe


def enlarged(source: Path, folder: Path, n_pictures: int) -> list[Path]:
    """The pictures of ``source``, resized to 500 x 375."""
    files = sorted(path for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    chosen = files[:: max(1, len(files) // n_pictures)][:n_pictures]
    made = []
    for i, file in enumerate(chosen):
        made.append(folder / f"{i:04}.jpg")
        with Image.open(file) as image:
            image.convert("RGB").resize((500, 375)).save(made[-1], quality=90)
    return made


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def stages(made: FisherRecipe, files: list[Path]) -> dict[str, float]:
    """Seconds of each stage alone, over all files, one thread."""
    data = [file.read_bytes() for file in files]
    pictures = [decode_rgb(item) for item in data]
    described = [made.descriptors.describe(rgb) for rgb in pictures]
    projected = [made._pca.transform(rows) for _, rows in described]
    encoder = FisherEncoder(made._gmm)

    def encode() -> None:
        for rgb, (frames, _), rows in zip(pictures, described, projected, strict=True):
            height, width = rgb.shape[:2]
            made.pyramid.encode(encoder, rows, frames, width=width, height=height)

    return {
        "decode": seconds(lambda: [decode_rgb(item) for item in data]),
        "descriptors": seconds(lambda: [made.descriptors.describe(rgb) for rgb in pictures]),
        "projection": seconds(lambda: [made._pca.transform(rows) for _, rows in described]),
        "encoding": seconds(encode),
    }


def main() -> None:
    """Print stages, sums and rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, default=Path("../shared/data/scenes8"))
    parser.add_argument("--recipe", default="fisher")
    parser.add_argument("--number", type=int, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = enlarged(arguments.pictures, Path(folder), arguments.number)
        made = recipe(arguments.recipe)
        if not isinstance(made, FisherRecipe):
            raise SystemExit(f"{arguments.recipe} is no Fisher recipe")
        sample = TrainingPictures(files, pixel_budget=made.pixel_budget)
        print(f"learning took {seconds(lambda: made.train(sample)):.1f} s")
        with threadpool_limits(1, user_api="blas"):
            spent = stages(made, files)
        total = sum(spent.values())
        for name, value in spent.items():
            print(f"{name:<12} {1000 * value / len(files):7.1f} ms per picture  {value / total:5.0%}")
        print(f"{'sum':<12} {1000 * total / len(files):7.1f} ms per picture")
        batches = np.array_split(np.array(files, dtype=object), max(1, len(files) // 4))
        for n_threads in (1, 2):

            def work(batch: list[Path]) -> int:
                return sum(len(made.compute(decode_rgb(file))) for file in batch)

            def whole(engine: Engine = Engine("threads", n_threads)) -> None:  # noqa: B008 - bound per turn
                list(map_shards(work, batches, engine=engine))

            with threadpool_limits(1, user_api="blas"):
                spent_whole = min(seconds(whole) for _ in range(2))
            print(
                f"{n_threads} thread{'s' if n_threads > 1 else ''}: {len(files) / spent_whole:.1f} pictures/s, "
                f"{spent_whole / (total / n_threads):.2f} of the sum of the stages"
                + (" shared by the threads" if n_threads > 1 else "")
            )


if __name__ == "__main__":
    main()

"""Processor seconds of supervised LDA on the LabelMe codewords: ``python benchmarks/slda.py DATA_FOLDER``.

The authors' C++ took 203 processor seconds at 20 topics on a machine of this kind. Generated pictures show how the
cost grows.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from visterm.research import research_data
from visterm.topics import RefinedSupervisedLDA, SupervisedLDA

AUTHORS_SECONDS = 203.0


def main() -> None:
    """Print one figure per line."""
    rng = np.random.default_rng(0)
    made = sparse.csr_array(rng.poisson(0.2, (4000, 200)).astype(np.float64))
    classes = rng.integers(0, 8, 4000)
    RefinedSupervisedLDA(2, max_iter=2, refine=2).fit(made[:50], classes[:50])  # compile
    for n in (500, 1000, 2000, 4000):
        started = time.process_time()
        SupervisedLDA(20, max_iter=3, tol=0, random_state=0).fit(made[:n], classes[:n])
        seconds = time.process_time() - started
        print(f"{f'{n} pictures':24}{seconds:8.2f} s  {seconds / made[:n].nnz * 1e6:6.1f} µs per count", flush=True)
    if len(sys.argv) > 1:
        data = research_data.load("labelme8", Path(sys.argv[1]))
        train = data.select(np.flatnonzero(np.array(data.splits) == "train"))
        for name, refine in (("the paper's model", 0), ("refined", 25)):
            started = time.process_time()
            RefinedSupervisedLDA(20, refine=refine, random_state=0).fit(train.X, train.y)
            seconds = time.process_time() - started
            print(
                f"{name:24}{seconds:8.2f} s  {AUTHORS_SECONDS / seconds:6.1f} times as fast as the authors'", flush=True
            )


if __name__ == "__main__":
    main()

"""Codes of a few bytes against codes of floats: memory, queries per second, and how many neighbours stay the same.

python benchmarks/codes.py [--small]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from visterm.distances import nearest
from visterm.subspace import ProductQuantizer, nearest_coded

N_NEIGHBOURS = 16


def seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    """The result and its processor seconds."""
    began = time.process_time()
    return work(), time.process_time() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth of the codes")
    share = 10 if parser.parse_args().small else 1
    rng = np.random.default_rng(0)
    spread = (0.85 ** np.arange(20)).astype(np.float32)  # the dimensions of a subspace matter less and less
    train, queries = (rng.standard_normal((n // share, 20)).astype(np.float32) * spread for n in (160_000, 2_000))
    nearest(queries[:100], train, N_NEIGHBOURS)  # compiled before it is timed
    (exact, _), took = seconds(lambda: nearest(queries, train, N_NEIGHBOURS))
    print(f"{len(queries):,} queries, {len(train):,} codes of 20 dimensions, {N_NEIGHBOURS} neighbours")
    print(f"  float32    80 bytes each {len(queries) / took:8.0f} queries per processor second")
    for n_bytes in (4, 5, 10, 20):
        quantizer, learned = seconds(lambda n_bytes=n_bytes: ProductQuantizer(n_bytes).fit(train))
        codes = quantizer.transform(train)
        nearest_coded(queries[:2], quantizer, codes[:100], N_NEIGHBOURS)
        (found, _), took = seconds(
            lambda quantizer=quantizer, codes=codes: nearest_coded(queries, quantizer, codes, N_NEIGHBOURS)
        )
        kept = np.mean([len(np.intersect1d(a, b)) / N_NEIGHBOURS for a, b in zip(exact, found, strict=True)])
        print(
            f"  quantised  {n_bytes:2} bytes each {len(queries) / took:8.0f} queries per processor second, "
            f"{100 * kept:3.0f} % of the neighbours, learned in {learned:.1f} s"
        )


if __name__ == "__main__":
    main()

"""Topic models over codewords of SIFT and of the network's patches: eight scenes, few labelled pictures.

Ten pictures of each of the 8 x 32 pictures of scenes8 are labelled; the other 176 are for testing. Every method runs as
registered. Codebooks are learned from all pictures, without labels.

Run: python experiments/slda/scenes8_codewords.py --data FOLDER [--draws 5] [--recipes bow-240 bow-deep]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from visterm import registry
from visterm.research import load_pictures

METHODS = ("theme-lda", "topic-neighbours", "slda", "slda-refined", "slda-committee")
N_LABELLED = 10


def accuracies(method: str, X: object, y: np.ndarray, n_draws: int) -> list[float]:
    """The share of right classes at every draw."""
    found = []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        dealt = [rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
        train, test = (
            np.concatenate([rows[part] for rows in dealt]) for part in (slice(N_LABELLED), slice(N_LABELLED, None))
        )
        model = registry.get(method).create(random_state=seed).fit(X[train], y[train])
        found.append(float((model.predict(X[test]) == y[test]).mean()))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("results/features"))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--recipes", nargs="+", default=["bow-240", "bow-deep"])
    asked = parser.parse_args()
    print(f"| method | {' | '.join(asked.recipes)} |", f"|---|{'---|' * len(asked.recipes)}", sep="\n")
    data = [load_pictures("scenes8", asked.data, recipe, cache=asked.cache) for recipe in asked.recipes]
    for method in METHODS:
        cells = []
        for pictures in data:
            (X,) = pictures.X.values() if isinstance(pictures.X, dict) else (pictures.X,)
            values = 100 * np.array(accuracies(method, X, np.asarray(pictures.y), asked.draws))
            cells.append(f"{values.mean():.1f} ± {values.std(ddof=1):.1f}")
        print(f"| `{method}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

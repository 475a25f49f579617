"""Trains methods in processes with one thread and with two, and compares the model folders byte by byte.

    python tests/attacks/determinism.py [METHOD ...]

``model.safetensors`` must be the same in every byte, and ``model.json`` in everything except times.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attack_harness import environment, in_process, make_pictures

#: What may differ: when a model was made, how long that took, and checksums of texts that say so.
MAY_DIFFER = ("created", "as_of", "took", "seconds", "fit_seconds", "answer_seconds", "files", "checksum")
RUNS = {"one thread": 1, "two threads": 2, "two threads again": 2}


def make_collection(folder: Path, n_pictures: int = 24) -> None:
    """Pictures that all have a class and tags, and a workspace with them."""
    make_pictures(folder / "photos", range(0, 2 * n_pictures, 2))
    for arguments in (("init",), ("add", "photos")):
        done = in_process(*arguments, folder=folder)
        assert not done.code, done.err


def train(folder: Path, n_threads: int, methods: list[str], recipe: str | None) -> dict[str, str]:
    """Train in a process with so many threads; by method, why it could not be trained."""
    threads = dict.fromkeys(
        ("LOKY_MAX_CPU_COUNT", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(n_threads)
    )
    done = subprocess.run(
        [sys.executable, __file__, "--train", str(folder), "--recipe", recipe or "", *methods],
        env=environment(**threads, VISTERM_ENGINE=f"threads:{n_threads}"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def train_here(folder: Path, methods: list[str], recipe: str | None) -> dict[str, str]:
    """Train in this process."""
    import visterm

    refused = {}
    with visterm.open(folder) as photos:
        for name in methods or [known.name for known in _methods()]:
            try:
                photos.train(name, recipe=recipe)
            except visterm.errors.VistermError as error:
                refused[name] = str(error)
    return refused


def _methods() -> list:
    from visterm import registry

    return list(registry.methods())


def digests(folder: Path) -> dict[str, str]:
    """By method and file, what must not differ."""
    found = {}
    for model in sorted((folder / ".visterm" / "models").glob("*/1")):
        name = model.parent.name
        found[f"{name} model.safetensors"] = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
        described = json.dumps(_timeless(json.loads((model / "model.json").read_text())), sort_keys=True)
        found[f"{name} model.json"] = hashlib.sha256(described.encode()).hexdigest()
    return found


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {key: _timeless(part) for key, part in value.items() if key not in MAY_DIFFER}
    return [_timeless(part) for part in value] if isinstance(value, list) else value


def compare(methods: list[str], recipe: str | None = None, *, twice: bool = True) -> dict[str, object]:
    """What differs between the runs, and what could not be trained."""
    with tempfile.TemporaryDirectory() as place:
        original = Path(place) / "original"
        original.mkdir()
        make_collection(original)
        seen: dict[str, dict[str, str]] = {}
        refused: dict[str, str] = {}
        for name, n_threads in list(RUNS.items())[: 3 if twice else 2]:
            copy = Path(place) / name.replace(" ", "-")
            shutil.copytree(original, copy)
            refused = train(copy, n_threads, methods, recipe)
            seen[name] = digests(copy)
    one, two, *others = seen.values()
    again = others[0] if others else two
    return {
        "models": len(one) // 2,
        "refused": refused,
        "differ_between_one_and_two_threads": sorted(key for key in one | two if one.get(key) != two.get(key)),
        "differ_between_two_runs": sorted(key for key in two | again if two.get(key) != again.get(key)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("methods", nargs="*")
    parser.add_argument("--recipe")
    parser.add_argument("--train", type=Path, help="train in this process, in this workspace")
    chosen = parser.parse_args()
    if chosen.train:
        print(json.dumps(train_here(chosen.train, chosen.methods, chosen.recipe or None)))
        return 0
    report = compare(chosen.methods, chosen.recipe)
    print(json.dumps(report, indent=1))
    return bool(report["differ_between_one_and_two_threads"] or report["differ_between_two_runs"])


if __name__ == "__main__":
    sys.exit(main())

"""Tampers with stored models at random: each must load and answer, or be refused in one line.

By hand: ``python tests/models/test_tampered.py MODELS N SEED``, where MODELS is a folder of models. Every case has 5
seconds and 1 GB; one that ends the process, or takes longer, is told with its number.
"""

from __future__ import annotations

import copy
import json
import os
import resource
import shutil
import signal
import struct
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from visterm.collection.rows import PictureRow
from visterm.errors import VistermError
from visterm.find import suggesting
from visterm.models import load_model, using

GOLDEN = Path(__file__).parents[1] / "golden" / "workspace.tar.xz"
SECONDS, GIGABYTE = 5, 2**30
N_PICTURES = 3
ODD = [None, True, -1, 0, 1, 3, 2**31, 2**70, 1e308, -0.5, 1e-300, "", "x", "nan", [], {}, [1], {"a": 1}]
ODD += [{"$": "float", "value": "nan"}, {"$": "float", "value": "-inf"}, {"$": "list", "items": []}]


class Case:
    """A model folder in memory, and features that suit it."""

    def __init__(self, folder: Path) -> None:
        self.name = f"{folder.parent.name}@{folder.name}"
        self.contents = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        for name in ("files", "checksum"):  # a tampered model is not refused for these alone
            self.contents.pop(name, None)
        self.tensors = (folder / "model.safetensors").read_bytes()
        outputs = load_model(folder).recipe.outputs
        rng = np.random.default_rng(0)
        features = {}
        for output, spec in outputs.items():
            rows = (rng.random((N_PICTURES, spec.n_dims)) < 0.3).astype(np.float32)
            features[output] = sparse.csr_array(rows) if spec.sparse else rows / max(1.0, float(rows.sum()))
        self.X = next(iter(features.values())) if len(features) == 1 else features


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value[:5]) if isinstance(value, list) else ()
    for key, item in items:
        found += places(item, (*path, key))
    return found


def tampered_json(contents: dict[str, Any], rng: np.random.Generator) -> None:
    part = ("estimator", "relevance", None)[rng.choice(3, p=[0.7, 0.2, 0.1])]
    if not isinstance(contents.get(part), dict):
        part = "estimator"
    root = contents if part is None else contents[part]
    found = places(root)
    if not found:
        return
    *way, last = found[rng.integers(len(found))]
    for key in way:
        root = root[key]
    if rng.random() < 0.1:
        del root[last]
    else:
        root[last] = copy.deepcopy(ODD[rng.integers(len(ODD))])


def tampered_tensors(data: bytes, rng: np.random.Generator) -> bytes:
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    names = [name for name in header if name != "__metadata__"]
    kind = rng.integers(7)
    one = header[names[rng.integers(len(names))]] if names else {"shape": []}
    if kind == 0 and one["shape"]:
        one["shape"][rng.integers(len(one["shape"]))] = int(rng.choice([0, 1, 2, 7, 2**40]))
    elif kind == 1:
        one["shape"] = one["shape"][::-1] if rng.random() < 0.7 else [int(np.prod(one["shape"]))]
    elif kind == 2:
        same = {"F64": ["I64", "U64"], "F32": ["I32", "U32"], "I64": ["F64", "U64"], "I32": ["F32"], "U8": ["I8"]}
        one["dtype"] = rng.choice(same.get(one.get("dtype", ""), ["F64"]))
    elif kind == 3 and len(names) > 1:
        a, b = rng.choice(names, 2, replace=False)
        header[a], header[b] = header[b], header[a]
    elif kind == 4 and body:  # the numbers of one tensor
        start, end = one.get("data_offsets", [0, 0])
        size = 8 if one["dtype"].endswith("64") else 4
        for _ in range(int(rng.integers(1, 4))):
            if end - start >= size:
                at = start + size * int(rng.integers((end - start) // size))
                odd = [np.nan, np.inf, -1.0, 0.0, 1e30, -1e30, 1e-30]
                number = rng.choice(odd)
                body[at : at + size] = (
                    struct.pack("<d" if size == 8 else "<f", number)
                    if one["dtype"].startswith("F")
                    else int(rng.choice([-1, 0, 10**6, 2**31 - 1])).to_bytes(size, "little", signed=True)
                )
    elif kind == 5 and body:
        for at in rng.integers(len(body), size=int(rng.integers(1, 20))):
            body[at] = rng.integers(256)
    else:
        whole = bytearray(data)
        for at in rng.integers(min(len(whole), 8 + length), size=2):
            whole[at] = rng.integers(256)
        return bytes(whole)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(body)


def asked_about(case: Case):
    """What looks at the pictures of the case, whatever is named."""

    def subjects(holdings, judge, *_, **__):
        log_p = judge.look(case.X, N_PICTURES)
        return suggesting._Subjects(lambda rows: log_p[rows], [PictureRow("x")] * N_PICTURES, [], lambda _: case.X)

    return subjects


def attempt(case: Case, rng: np.random.Generator, folder: Path) -> str:
    """Tamper with the model, load it and ask it; "answers", or the class of the error. Others than ours are raised."""
    contents, tensors = copy.deepcopy(case.contents), case.tensors
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.6:
            tampered_json(contents, rng)
        else:
            tensors = tampered_tensors(case.tensors, rng)
    (folder / "model.json").write_text(json.dumps(contents), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(tensors)
    try:
        model = load_model(folder)
        suggesting._subjects, kept = asked_about(case), suggesting._subjects
        try:
            if "classify" in case.contents["tasks"]:
                suggesting.classify_by(model, None)
            if "tag" in case.contents["tasks"] or "search" in case.contents["tasks"]:
                suggesting.tag_by(model, None, (), suggesting.Wanted())
            if hasattr(model.estimator, "transform"):
                with using(model):
                    model.estimator.transform(case.X)
        finally:
            suggesting._subjects = kept
    except VistermError as error:
        return type(error).__name__
    return "answers"


def run(models: Path, n_cases: int, seed: int) -> Counter[str]:
    """Try ``n_cases``, in processes that are replaced when a case ends them."""
    cases = [Case(folder) for folder in sorted(models.glob("*/[0-9]*"))]
    with tempfile.TemporaryDirectory() as scratch:
        folder, log = Path(scratch, "model"), Path(scratch, "log")
        folder.mkdir()
        for case in cases:  # compiles what is compiled, before memory is limited
            attempt_unchanged(case, folder)
        outcomes: Counter[str] = Counter()
        start = 0
        while start < n_cases:
            log.write_text("")
            child = os.fork()
            if child == 0:
                worker(cases, folder, log, range(start, n_cases), seed)
            os.waitpid(child, 0)
            lines = log.read_text().splitlines()
            outcomes.update(line.split("\t")[1] for line in lines)
            start += len(lines)
            if start < n_cases:
                print(f"case {start} ({cases[start % len(cases)].name}): ended the process or took {SECONDS} s")
                outcomes["ended"] += 1
                start += 1
    shutil.rmtree(folder, ignore_errors=True)
    return outcomes


def attempt_unchanged(case: Case, folder: Path) -> None:
    (folder / "model.json").write_text(json.dumps(case.contents), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(case.tensors)
    model = load_model(folder)
    suggesting._subjects, kept = asked_about(case), suggesting._subjects
    if "classify" in case.contents["tasks"]:
        suggesting.classify_by(model, None)
    if "classify" not in case.contents["tasks"] or len(case.contents["tasks"]) > 1:
        suggesting.tag_by(model, None, (), suggesting.Wanted())
    suggesting._subjects = kept


def worker(cases: list[Case], folder: Path, log: Path, numbers: range, seed: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + GIGABYTE, used + GIGABYTE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with log.open("a") as stream:
        for number in numbers:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # processor time, for the machine may be busy
            try:
                outcome = attempt(cases[number % len(cases)], np.random.default_rng([seed, number]), folder)
            except Exception as error:
                outcome = f"UNEXPECTED {type(error).__name__}"
                print(f"case {number} ({cases[number % len(cases)].name}): {type(error).__name__}: {error}"[:300])
            stream.write(f"{number}\t{outcome}\n")
            stream.flush()
    os._exit(0)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(GOLDEN) as archive:
        wanted = [member for member in archive if "/models/" in f"/{member.name}"]
        archive.extractall(folder, wanted, filter="data")
    return sorted(folder.glob("**/models/*/[0-9]*"))


def test_tampered_models_answer_or_are_refused(models, tmp_path):
    """A sample; by hand, as many as one likes."""
    assert len(models) > 30
    outcomes = set()
    for number, folder in enumerate(models):
        case = Case(folder)
        for seed in range(3):
            outcomes.add(attempt(case, np.random.default_rng([seed, number]), tmp_path))
    assert outcomes == {"answers", "ModelError"}


if __name__ == "__main__":
    print(run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))

"""Damaged files, a few of each kind; tests/attacks/fuzz_exchange.py tries as many as one likes."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
SCRIPT = Path(__file__).parents[1] / "attacks" / "fuzz_exchange.py"
N_INPUTS = 15


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_exchange", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def test_damaged_files_give_records_or_a_named_error(fuzzer: ModuleType) -> None:
    for name, target in fuzzer.targets().items():
        rng = random.Random(name)
        with fuzzer.prepared(name) as folder:
            for seed in target.seeds:
                fuzzer.attempt(target, seed, folder)
            for _ in range(N_INPUTS):
                data = fuzzer.mutate(rng.choice(target.seeds), rng)
                with fuzzer.limited():
                    fuzzer.attempt(target, data, folder)


def test_what_failed_once_fails_no_more(fuzzer: ModuleType) -> None:
    files = sorted(fuzzer.CORPUS.iterdir())
    assert files
    for file in files:
        name = file.name.rpartition("-")[0]
        target = fuzzer.targets().get(name)
        if target is not None:  # Parquet needs an extra
            with fuzzer.prepared(name) as folder, fuzzer.limited():
                fuzzer.attempt(target, file.read_bytes(), folder)

"""Every documented name comes from its package, is seen by type checkers, and costs nothing until it is used."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules, walk_packages

import pytest

import visterm

ROOT = Path(__file__).parent.parent
PACKAGES = sorted(info.name for info in iter_modules(visterm.__path__) if info.ispkg)
#: Names that the design promises.
PROMISED = {
    "calibration": "Relevance TagProbabilities fit_platt fit_temperature",
    "catalogue": "Catalogue",
    "distances": "BaseDistances",
    "collection": "Evidence Judgements Holdings",
    "exchange": "export find_labels",
    "features": "FeatureLibrary FeatureStore",
    "graph": "GraphMixture LabelPropagation",
    "language": "CaptionTokenizer Speller WordVectors",
    "learn": "Dataset compare letters measure train_method",
    "margin": "KernelRidgeAnnotator MultitaskSDCA SDCAClassifier StackedSDCA TopKSDCA",
    "measures": "AveragePrecision NPlus PictureF WordF evaluate",
    "models": "Model load_model save_model",
    "neighbours": "JEC CodeAnnotator KnnAnnotator KnnClassifier MajorityClass TagFrequency TagProp TwoPassKnn",
    "postcards": "make_postcards",
    "ranking": "CMRM CMTT PAMIR CaptionRidge ConceptSVM TagRanker",
    "find": "Findings Searcher Suggestions parse",
    "storage": "write_bytes_atomically",
    "subspace": "CCA PCA PLS ContextualDistance",
    "topics": "LDA PLSA CorrLDA LinkLDA RefinedCorrLDA RefinedSupervisedLDA SupervisedLDA ThemeLDA TopicCommittee "
    "TopicNeighbours UnigramMixture",
    "vision": "Codebook DiagonalGMM FisherEncoder decode_rgb dense_sift recipe recipe_names",
}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there(package):
    module = import_module(f"visterm.{package}")
    assert set(PROMISED.get(package, "").split()) <= set(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None, name


def test_type_checkers_see_the_same_names():
    for stub in (ROOT / "src" / "visterm").glob("*/__init__.pyi"):
        tree = ast.parse(stub.read_text(encoding="utf-8"))
        imported = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        (declared,) = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
        ]
        assert imported == set(declared), stub
        assert set(import_module(f"visterm.{stub.parent.name}").__all__) == imported, stub


def test_packages_cost_nothing_until_a_name_is_used():
    names = ", ".join(f"visterm.{package}" for package in PACKAGES if package != "models")
    heavy = ("numpy", "scipy", "sklearn", "numba", "PIL", "rapidfuzz", "simplemma", "pydantic")
    code = f"import sys, {names}; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_estimator_can_be_stored_under_its_public_name():
    """A model folder names classes by package: one that the package does not show could not be loaded again."""
    from visterm.contracts import Estimator

    for info in walk_packages(visterm.__path__, "visterm."):
        if info.name.startswith("visterm.faces") or info.name.endswith("__main__"):
            continue
        module = import_module(info.name)
        for name, cls in vars(module).items():
            if inspect.isclass(cls) and issubclass(cls, Estimator) and cls.__module__ == info.name and name[0] != "_":
                package = import_module(".".join(info.name.split(".")[:2]))
                assert getattr(package, name) is cls, f"{info.name}:{name}"


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_documentation_imports_only_public_names(page):
    text = page.read_text(encoding="utf-8")
    for module, names in re.findall(r"from (visterm[\w.]*) import ([\w, ]+)", text):
        public = import_module(module)
        deep = module.count(".") > 1 and module not in ("visterm.ranking.queries", "visterm.find.words.query")
        assert not deep, f"{page.name} imports from {module}"
        for name in names.split(","):
            assert hasattr(public, name.strip()), f"{page.name} imports {name} from {module}"


@pytest.mark.parametrize(
    "script", sorted([*(ROOT / "experiments").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]), ids=lambda p: p.name
)
def test_scripts_import_names_that_exist(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "visterm":
            module = import_module(node.module)
            for alias in node.names:
                try:
                    found = hasattr(module, alias.name) or import_module(f"{node.module}.{alias.name}")
                except ImportError:
                    found = False
                assert found, f"{script.name}: {node.module} has no {alias.name}"

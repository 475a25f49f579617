"""The recipe of CONTRIBUTING.md, followed: a method in four places, which is then trained, stored and asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from visterm.compute.parallel import Engine
from visterm.postcards import make_postcards

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "tests" / "example_method" / "mean_difference.py"
ROW = """    Method(
        "mean-difference",
        "visterm.margin.mean_difference:MeanDifference",
        ANNOTATE,
        "deep",
        "compares the mean picture with a tag and the one without it",
        reference="Rocchio 1971",
    ),
"""
NAME = "from .mean_difference import MeanDifference as MeanDifference\n"
LINE = "| `mean-difference` | | ✓ | ✓ | the mean picture with a tag against the one without it | Rocchio 1971 |\n"


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> Path:
    """The repository with the example method, everything else linked."""
    root = tmp_path_factory.mktemp("changed")
    _link(ROOT, root, but=("src", "docs"))
    _link(ROOT / "docs", root / "docs", but=("methods.md",))
    _link(ROOT / "src" / "visterm", root / "src" / "visterm", but=("margin",))
    family = ROOT / "src" / "visterm" / "margin"
    _link(family, root / "src" / "visterm" / "margin", but=("__init__.py", "__init__.pyi", "methods.py", "__pycache__"))
    places = {
        "src/visterm/FAMILY/NAME.py": lambda _: EXAMPLE.read_text(),
        "src/visterm/FAMILY/methods.py": lambda text: text.replace("METHODS = (\n", "METHODS = (\n" + ROW),
        "src/visterm/FAMILY/__init__.pyi": lambda text: (
            NAME + text.replace("__all__ = [\n", '__all__ = [\n    "MeanDifference",\n')
        ),
        "docs/methods.md": lambda text: text.replace("| `majority-class` |", LINE + "| `majority-class` |"),
    }
    recipe = (ROOT / "CONTRIBUTING.md").read_text().split("## Adding a method")[1].split("\n## ")[0]
    assert re.findall(r"^\d\. \*\*`(.*?)`\*\*", recipe, flags=re.MULTILINE) == list(places)
    (root / "src" / "visterm" / "margin" / "__init__.py").write_text((family / "__init__.py").read_text())
    for place, change in places.items():
        file = place.replace("FAMILY", "margin").replace("NAME", "mean_difference")
        before = ROOT / file
        (root / file).write_text(change(before.read_text() if before.exists() else ""))
    return root


def _link(source: Path, target: Path, but: tuple[str, ...]) -> None:
    """A folder with links to everything in ``source`` but the named files and folders."""
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name not in but and not path.name.startswith("."):
            (target / path.name).symlink_to(path, target_is_directory=path.is_dir())


def _run(root: Path, *arguments: str, cwd: Path) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("VISTERM", "PYTEST"))}
    environment = own | {"PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_method_of_four_places_is_trained_stored_and_asked(changed, tmp_path):
    make_postcards(tmp_path / "cards", 40, engine=Engine(n_jobs=1))
    assert "mean-difference" in _run(changed, "visterm", "methods", cwd=tmp_path)
    _run(changed, "visterm", "init", cwd=tmp_path)
    _run(changed, "visterm", "add", "cards", cwd=tmp_path)
    _run(changed, "visterm", "train", "mean-difference", "--recipe", "colour", "--set", "shrinkage=2", cwd=tmp_path)
    described = json.loads((tmp_path / ".visterm/models/mean-difference/1/model.json").read_text())
    assert described["estimator"]["class"] == "visterm.margin:MeanDifference"
    picture = "cards/pictures/0034.jpg"
    asked = ("visterm", "tag", "--model", "mean-difference", "--best", "2", "--json", picture)
    answer = json.loads(_run(changed, *asked, cwd=tmp_path))
    assert answer["model"] == "mean-difference@1"
    ((path, labels),) = ((one["path"], one["labels"]) for one in answer["answers"])
    assert (path, len(labels)) == (picture, 2)


def test_it_keeps_the_contract_of_all_methods_and_is_documented(changed):
    _run(changed, "pytest", "-q", "-p", "no:cacheprovider", "-k", "mean-difference or documented",
         "tests/common", "tests/test_docs.py", cwd=changed)  # fmt: skip

"""The documentation is run: every command of the guide, every example, every link."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from visterm import registry
from visterm.contracts import Task
from visterm.vision.recipes import recipe_names

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_give_what_they_show(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    results = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert results.failed == 0


def test_the_commands_of_the_guide_work_in_order(tmp_path):
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    commands = [shlex.split(line) for line in re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE)]
    assert len(commands) > 30
    environment = {key: value for key, value in os.environ.items() if not key.startswith("VISTERM")}
    folder = tmp_path
    for program, *arguments in commands:
        if program == "cd":
            folder = folder / arguments[0]
            continue
        command = [*([sys.executable, "-m", "visterm"] if program == "visterm" else [program]), *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, f"{program} {arguments}\n{done.stdout}{done.stderr}"
        assert not done.stderr, f"{program} {arguments}\n{done.stderr}"
    assert (tmp_path / "photos" / "boats.png").exists()
    assert (tmp_path / "postcards" / "results" / "contact-sheet.jpg").exists()


def test_the_readme_shows_what_make_runs():
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    for line in (
        "ruff check .",
        "ruff format --check .",
        "mypy",
        "lint-imports",
        "pytest --cov --cov-report=term -n auto",
    ):
        assert line in readme
        assert line in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_method_and_recipe_is_documented():
    methods, features = ((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("methods.md", "features.md"))
    for method in registry.methods():
        line = next((line for line in methods.splitlines() if line.startswith(f"| `{method.name}` |")), "")
        assert line, f"docs/methods.md says nothing of {method.name}"
        ticks = [cell.strip() == "✓" for cell in line.split("|")[2:5]]
        assert ticks == [method.does(task) for task in (Task.CLASSIFY, Task.ANNOTATE, Task.RANK)]
    for name in recipe_names():
        assert f"| `{name}` |" in features, f"docs/features.md says nothing of {name}"

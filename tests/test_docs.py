"""The documentation is run: every command of the guide, every example, every link."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
from pathlib import Path
from traceback import format_exception

import pytest
from typer.testing import CliRunner

from visterm import registry
from visterm.contracts import Task
from visterm.faces.cli import app
from visterm.learn import choosing
from visterm.vision.recipes import recipe_names

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_architecture_names_modules_that_exist():
    text, sources = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), ROOT / "src" / "visterm"
    files = [file for file in re.findall(r"`([\w/]+\.(?:py|js))`", text) if "/" in file]
    assert len(files) > 50
    folders = (sources, sources / "faces" / "web", ROOT)
    assert [file for file in files if not any((folder / file).is_file() for folder in folders)] == []
    named = re.findall(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?:, )?)+)", text)
    assert named
    for file, names in named:
        words = set(re.findall(r"\w+", (sources / file).read_text(encoding="utf-8")))
        assert set(re.findall(r"\w+", names)) <= words, (file, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_give_what_they_show(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    results = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert results.failed == 0


def test_the_commands_of_the_guide_work_in_order(tmp_path, monkeypatch):
    """All in this process, which starts and loads what is compiled once; half as many pictures as on the page."""
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    commands = [shlex.split(line) for line in re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE)]
    assert len(commands) > 30
    assert commands[0] == ["visterm", "demo", "postcards", "--pictures", "100"]
    commands[0][-1] = "50"
    for name in os.environ:
        if name.startswith("VISTERM"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    for program, *arguments in commands:
        if program == "cd":
            monkeypatch.chdir(arguments[0])
        elif program == "visterm":
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, f"{arguments}\n{done.output}{''.join(format_exception(done.exception))}"
            assert not done.stderr, f"{arguments}\n{done.stderr}"
            if arguments[0] == "demo":  # it has compared all features; what follows is content with the first
                monkeypatch.setattr(choosing, "RECIPES", choosing.RECIPES[:1])
        else:
            subprocess.run([program, *arguments], check=True)
    assert (tmp_path / "photos" / "boats.png").exists()
    assert (tmp_path / "postcards" / "results" / "contact-sheet.jpg").exists()


def test_the_readme_shows_what_make_runs():
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    for line in (
        "ruff check .",
        "ruff format --check .",
        "mypy",
        "lint-imports",
        "pytest -n auto",
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

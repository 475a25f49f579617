"""The recipe of CONTRIBUTING.md, followed: a view of the page in five places, served and looked at."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
VIEW = """import { get } from "./api.js";
import { fill, h } from "./dom.js";

export class TallyView {
  constructor() {
    this.element = h("section", { class: "tally" });
    this.keys = { x: () => { fill(this.element, "counted"); } };
  }

  async show() {
    const { n_pictures } = await get("/tally");
    fill(this.element, h("h1", {}, `${n_pictures} in all`));
  }
}
"""
METHOD = """    def tally(self) -> upkeep.Status:
        return self.status()

    def status(self) -> upkeep.Status:
"""
ROUTE = """
@router.get("/tally")
def tally(photos: Photos) -> upkeep.Status:
    \"\"\"How much there is.\"\"\"
    return photos.tally()
"""
PLACES = {
    "src/visterm/workspace.py": lambda text: text.replace("    def status(self) -> upkeep.Status:\n", METHOD),
    "src/visterm/faces/web/PART.py": lambda text: text + ROUTE,
    "docs/api.md": lambda text: text.replace("| `GET /facets` |", "| `GET /tally` | How much. |\n| `GET /facets` |"),
    "src/visterm/faces/web/static/js/NAME-view.js": lambda _: VIEW,
    "src/visterm/faces/web/static/js/views.js": lambda text: text.replace(
        "];\n", '  { name: "tally", word: "Tally", key: "y", View: TallyView },\n];\n'
    ).replace("import", 'import { TallyView } from "./tally-view.js";\nimport', 1),
}


@pytest.fixture
def changed(tmp_path) -> Path:
    """The sources with the view, everything else linked."""
    recipe = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Adding a view of the page")[1]
    assert re.findall(r"^\d\. \*\*`(.*?)`\*\*", recipe.split("\n## ")[0], flags=re.MULTILINE) == list(PLACES)
    changes = {place.replace("PART", "system").replace("NAME", "tally"): change for place, change in PLACES.items()}
    _mirror(ROOT / "src", tmp_path / "src", {Path(place).relative_to("src") for place in changes if "src" in place})
    for place, change in changes.items():
        target, before = tmp_path / place, ROOT / place
        target.parent.mkdir(parents=True, exist_ok=True)
        text = before.read_text(encoding="utf-8") if before.exists() else ""
        assert change(text) != text
        target.write_text(change(text), encoding="utf-8")
    return tmp_path


def _mirror(source: Path, target: Path, but: set[Path]) -> None:
    """A folder with links to all of ``source`` except the named files; folders that hold one are real.

    What the server sends must not be a link: that is copied.
    """
    target.mkdir(parents=True)
    inside = {path.parts[0] for path in but}
    for path in source.iterdir():
        if path.name == "static":
            shutil.copytree(path, target / path.name)
        elif path.name not in inside:
            (target / path.name).symlink_to(path, target_is_directory=path.is_dir())
        elif path.is_dir():
            below = {Path(*item.parts[1:]) for item in but if item.parts[0] == path.name}
            _mirror(path, target / path.name, below)


@contextmanager
def served_by(sources: Path, workspace: Path):
    """The address of a server that runs the changed sources."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("VISTERM", "COV_"))}
    process = subprocess.Popen(
        [sys.executable, "-m", "visterm", "serve", "-w", str(workspace), "--no-browser", "--port", "0"],
        env=own | {"PYTHONPATH": str(sources / "src"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert address, line + process.stderr.read()
        yield address[0]
    finally:
        process.kill()
        process.communicate()


def test_a_view_of_five_places_is_served_with_its_link_and_its_keys(changed, collection, opened):
    with served_by(changed, collection) as address:
        shown = opened(url=address, token=None)
        shown.go()
        shown.sees("#views a", "Tally").click()
        shown.sees(".tally h1", "50 in all")
        shown.keys("x")
        shown.sees(".tally", "counted")
        shown.keys("g", "p")
        shown.sees(".list-bar h1", "50 pictures")
        assert shown.page.locator(".tally").is_hidden()
        shown.keys("g", "y")
        shown.sees(".tally h1", "50 in all")
        shown.keys("?")
        shown.sees("dialog dd", "Go to pictures, review, tags, quality, tally")
        shown.page.close()  # before the server ends

"""How the page looks and reads: names, alternatives, contrast; and the pictures of it in the documentation."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from PIL import Image

CHECK = Path(__file__).with_name("check.js").read_text(encoding="utf-8").split("\n", 2)[2]

VIEWS = {
    "#/pictures?sort=name": ".cell[data-known]",
    "#/pictures?q=sky+-sea": ".cell[data-known]",
    "#/pictures?q=filename:zeppelin": ".empty-state",
    "#/pictures?q=zeppelin": ".list-offer a",
    "#/picture/3": ".viewer .file-name",
    "#/review": ".queues a",
    "#/review/teach": ".option",
    "#/review/tag/sky": ".candidates li.here",
    "#/review/six": ".six button",
    "#/review/groups": ".wall button",
    "#/review/words": ".suggested-words .empty-state",
    "#/review/word/yacht": ".new-word-wall button",
    "#/names": ".names tbody tr",
    "#/quality": ".figure-card",
}


def visited(shown):
    """Go to one view after the other; a picture is selected in the first."""
    for where, there in VIEWS.items():
        shown.go(where)
        shown.sees(there)
        if where == "#/pictures?sort=name":
            shown.page.locator("#cell-1").click()
            shown.sees(".selection .file-name")
        yield where


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_all_has_a_name_and_enough_contrast(opened, collection, scheme, width):
    shown = opened(collection, color_scheme=scheme, viewport={"width": width, "height": 800})
    faults = {}
    for where in visited(shown):
        faults[where] = shown.page.evaluate(CHECK)
    shown.go()
    shown.keys("?")
    shown.sees("dialog h1", "Keys")
    faults["keys"] = shown.page.evaluate(CHECK)
    assert {where: found for where, found in faults.items() if found} == {}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 375)])
def test_axe_finds_nothing(opened, collection, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    touch = {"has_touch": True, "is_mobile": True} if width < 640 else {}
    shown = opened(collection, color_scheme=scheme, viewport={"width": width, "height": 800}, **touch)
    faults = {}

    def look(name):
        for found in axe.Axe().run(shown.page).response["violations"]:
            faults[f"{name}: {found['help']}"] = [node["html"][:200] for node in found["nodes"]]

    for where in visited(shown):
        look(where)
    shown.go()
    shown.sees(".cell[data-known]")
    shown.page.locator(".job-button").click()
    shown.sees("dialog h1", "Add pictures, learn from labels")
    look("jobs")
    assert faults == {}


@pytest.mark.skipif("VISTERM_SCREENSHOTS" not in os.environ, reason="VISTERM_SCREENSHOTS names no folder for pictures")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_for_the_documentation(opened, collection, scheme):
    place = Path(os.environ["VISTERM_SCREENSHOTS"])
    workspace = Path(os.environ.get("VISTERM_SCREENSHOTS_OF", collection))
    shown = opened(workspace, color_scheme=scheme)
    loaded = "() => [...document.images].filter((i) => i.checkVisibility()).every((i) => i.complete && i.naturalWidth)"

    def keep(name):
        shown.until(loaded)
        picture = (
            Image.open(io.BytesIO(shown.page.screenshot())).convert("RGB").resize((960, 600), Image.Resampling.LANCZOS)
        )
        picture.quantize(256, dither=Image.Dither.NONE).save(place / f"{name}-{scheme}.png", optimize=True)

    shown.go("#/pictures?q=boat")
    shown.sees(".cell[data-known]")
    shown.page.locator("#cell-1").click()
    shown.sees(".selection .strip img")
    shown.sees(".views .count")
    shown.page.mouse.move(640, 60)
    keep("pictures")
    shown.go("#/review/teach")
    shown.sees(".option")
    shown.sees(".stage-name", ".jpg")
    shown.sees(".corner", "%")
    keep("review")

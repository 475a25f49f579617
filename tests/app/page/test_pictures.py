"""The view of all pictures, in a browser: look, search, label, undo."""

from __future__ import annotations

import base64
import re

from PIL import Image

from visterm.app.workspace import Workspace

DROP = """([data, type]) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const dropped = new DataTransfer();
  dropped.items.add(new File([bytes], "outside.jpg", { type }));
  for (const name of ["dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(name, { dataTransfer: dropped, bubbles: true, cancelable: true }));
  }
}"""


def tags_of(folder, file):
    with Workspace(folder) as photos:
        return {label.name for label in photos.picture(file).tags if label.state == "accepted"}


def test_pictures_show_with_counts_and_no_cell_is_blank(opened, collection):
    shown = opened(collection)
    shown.go()
    shown.sees(".list-bar h1", "50 pictures")
    shown.until(
        "() => [...document.querySelectorAll('.cell img')].filter((i) => i.complete && i.naturalWidth).length > 8"
    )
    assert shown.page.locator(".cell:not([data-known])").count() == 0
    shown.sees(".selection h1", "postcards")
    shown.sees(".facet", "coast").get_by_role("button", name="coast").click()
    shown.sees(".list-bar h1", re.compile(r"^[1-9] pictures$"))
    shown.page.reload()  # the address keeps the view
    shown.sees(".facet button[aria-pressed=true]", "coast")
    shown.page.go_back()
    shown.sees(".list-bar h1", "50 pictures")


def test_search_excludes_and_says_when_nothing_is_found(opened, collection):
    shown = opened(collection)
    shown.go()
    shown.keys("/")
    shown.page.keyboard.type("sky -sea")
    shown.keys("Enter")
    shown.sees(".list-bar h1", "picture")
    shown.until("() => location.hash.includes('sky+-sea')")
    shown.until("() => document.querySelectorAll('.cell').length > 2")
    found = [shown.page.locator(".cell").nth(i).get_attribute("id") for i in range(2)]
    shown.until("() => /jpg/.test(document.querySelector('#cell-0').ariaLabel)")
    for cell in found:
        assert not re.search(r"\bsea\b", shown.page.locator(f"#{cell}").get_attribute("aria-label"))
    shown.go("#/pictures?q=zeppelin")
    shown.sees(".empty-state", "Nothing found")
    shown.sees(".empty-state", "zeppelin")
    shown.page.get_by_role("button", name="Show all pictures").click()
    shown.sees(".list-bar h1", "50 pictures")


def test_many_pictures_get_a_tag_at_once_and_one_undo_takes_it_back(opened, collection, postcards):
    shown = opened(collection)
    shown.go("#/pictures?sort=name")
    shown.until("() => document.querySelectorAll('.cell[data-known]').length > 5")
    shown.page.locator("#cell-0").click()
    shown.page.locator("#cell-3").click(modifiers=["Shift"])
    shown.sees(".selection h1", "4 pictures selected")
    shown.keys("t")
    shown.sees("dialog input").fill("album")
    shown.keys("Enter")
    shown.sees(".notice", "4 pictures: album")
    shown.sees(".facet button", "more").click()
    shown.sees(".facet button", "album")
    assert "album" in tags_of(collection, postcards / "pictures" / "0000.jpg")
    shown.keys("z")
    shown.sees(".notice", "Undone")
    shown.until("() => ![...document.querySelectorAll('.facet button')].some((b) => b.textContent.startsWith('album'))")
    assert "album" not in tags_of(collection, postcards / "pictures" / "0000.jpg")


def test_a_name_that_looks_like_a_slip_is_asked_about(opened, collection, postcards):
    shown = opened(collection)
    shown.go("#/pictures?sort=name")
    shown.until("() => document.querySelectorAll('.cell[data-known]').length > 5")
    shown.page.locator("#cell-0").click()
    shown.keys("t")
    shown.sees("dialog input").fill("skyy")
    shown.keys("Enter")
    shown.sees("dialog p", "sky")
    shown.keys("Escape")  # neither of both
    shown.until("() => !document.querySelector('dialog')")
    shown.keys("t")
    shown.sees("dialog input").fill("cat, dog")  # near nothing: only a question
    shown.keys("Enter")
    shown.sees("dialog h1", "meant to be new")
    assert shown.page.get_by_role("button", name=re.compile("^Use ")).count() == 0
    shown.page.get_by_role("button", name="Make cat, dog").click()
    shown.sees(".notice", "cat, dog")
    assert tags_of(collection, postcards / "pictures" / "0000.jpg") & {"skyy", "cat, dog"} == {"cat, dog"}
    shown.forgive("409")


def test_a_picture_from_outside_is_looked_at_and_not_added(opened, collection, postcards, tmp_path):
    Image.open(postcards / "pictures" / "0003.jpg").rotate(2).save(tmp_path / "outside.jpg")
    shown = opened(collection)
    shown.go()
    data = base64.b64encode((tmp_path / "outside.jpg").read_bytes()).decode()
    shown.page.evaluate(DROP, [data, "image/jpeg"])
    shown.sees("dialog h1", "A picture from outside")
    assert shown.page.locator("dialog .label").count() > 0
    assert shown.page.locator("dialog .strip img").count() > 3
    shown.keys("Escape")
    shown.page.evaluate(DROP, [base64.b64encode(b"words").decode(), "text/plain"])
    shown.sees(".notice.bad", "This is no picture")
    with Workspace(collection) as photos:
        assert len(photos.collection().frame.keys) == 50


def test_the_keyboard_alone_is_enough(opened, collection):
    shown = opened(collection)
    shown.go("#/pictures?sort=name")
    shown.until("() => document.querySelectorAll('.cell[data-known]').length > 5")
    for _ in range(80):  # to the grid
        shown.keys("Tab")
        if shown.page.evaluate("() => document.activeElement.matches('.grid')"):
            break
    shown.keys("ArrowRight", "ArrowDown", "l", "Enter")
    shown.sees(".viewer .file-name", ".jpg")
    shown.until("() => document.querySelector('.viewer .stage img').naturalWidth > 0")
    before = shown.page.evaluate("() => location.hash")
    shown.keys("ArrowRight")
    shown.until("(before) => location.hash !== before", before)
    shown.keys("c")
    shown.sees("dialog input").fill("coast")
    shown.keys("Enter")
    shown.sees(".viewer .label.class", "coast")
    shown.keys("Escape")
    shown.until("() => document.activeElement.matches('.grid')")
    shown.keys("g", "r")
    shown.sees(".review-start h1", "Review")
    shown.keys("g", "p")
    shown.sees(".list-bar h1", "50 pictures")
    shown.keys("?")
    shown.sees("dialog h1", "Keys")


def test_dark_is_dark_and_remembered(opened, collection):
    shown = opened(collection, color_scheme="dark")
    shown.go()
    ground = (
        "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number).every((part) => part {} 128)"
    )
    shown.until(ground.format("<"))
    shown.keys("d")
    shown.until(ground.format(">"))
    shown.page.reload()
    shown.until(ground.format(">"))


def test_a_narrow_screen_shows_two_columns_and_panels_slide_over(opened, collection):
    shown = opened(collection, viewport={"width": 375, "height": 740}, has_touch=True, is_mobile=True)
    shown.go()
    shown.until("() => document.querySelectorAll('.cell[data-known]').length > 5")
    tops = shown.page.evaluate("() => [0, 1, 2].map((i) => document.querySelector(`#cell-${i}`).style.top)")
    assert tops[0] == tops[1] != tops[2]
    assert shown.page.evaluate("() => document.documentElement.scrollWidth") == 375
    shown.page.get_by_role("button", name="Filter").tap()
    shown.sees(".facets", "coast")
    shown.keys("Escape")
    shown.until("() => !document.querySelector('.facets.open')")
    shown.page.locator("#cell-1").tap()
    shown.sees(".selection.open .file-name", ".jpg")
    shown.page.locator(".selection").get_by_role("button", name="Close").tap()
    bar = shown.page.locator(".views").bounding_box()
    assert bar["y"] + bar["height"] == 740
    shown.page.locator(".views a", has_text="Review").tap()
    shown.sees(".queues", "Teach")
    assert shown.page.evaluate("() => document.documentElement.scrollWidth") == 375

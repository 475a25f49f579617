"""The view of all pictures, in a browser: look, search, label, undo."""

from __future__ import annotations

import base64
import re

from PIL import Image

from visterm.collection.filters import Filters
from visterm.workspace import Workspace

TOKEN = "the-token-of-this-workspace"
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


def with_suggested_tags(folder):
    """The number of the picture with the most suggested tags."""
    with Workspace(folder) as photos:
        ids = photos.gallery.page("", Filters(state="suggested")).ids
        return max(photos.labels_of(ids).pictures, key=lambda one: len(one.suggested_tags)).id


def test_pictures_show_with_counts_and_no_cell_is_blank(opened, collection):
    shown = opened(collection)
    shown.go()
    shown.sees(".list-bar h1", "50 pictures")
    shown.until(
        "() => [...document.querySelectorAll('.cell img')].filter((i) => i.complete && i.naturalWidth).length > 8"
    )
    assert shown.page.locator(".cell:not([data-known])").count() == 0
    shown.sees(".selection h1", "How far to trust it")
    shown.sees(".selection h2", "postcards")
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
    shown.go("#/pictures?q=filename:zeppelin")
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


def test_the_address_that_serve_shows_is_needed_to_write(opened, collection):
    """Another user of this computer can open the page, but not change anything."""
    shown = opened(collection, token=None)

    def label(name):
        shown.go("#/pictures?sort=name")
        shown.page.locator("#cell-0").click()
        shown.keys("t")
        shown.sees("dialog input").fill(name)
        shown.keys("Enter")

    label("stranger")
    shown.sees(".notice", "Open it with the address that 'visterm serve' showed")
    shown.forgive("401")
    shown.page.goto("about:blank")
    shown.go(f"#token={TOKEN}")
    shown.until("() => location.hash === '#/pictures'")
    label("owner")
    shown.sees(".notice", "owner")
    with Workspace(collection) as photos:
        named = {term.name for term in photos.vocabulary().tag.terms}
    assert named & {"stranger", "owner"} == {"owner"}


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
    shown.sees("dialog h1", "a new name")
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
    shown.sees(".notice.bad", "This file is not a picture")
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


def test_hits_of_people_and_of_a_model_are_told_apart(opened, collection):
    shown = opened(collection)
    shown.go("#/pictures?q=sky")
    shown.until("() => /jpg/.test(document.querySelector('#cell-0')?.ariaLabel)")
    found = shown.page.evaluate("() => fetch('/api/v1/pictures?q=sky').then((r) => r.json())")
    assert {True, False} <= set(found["told"][: found["n_likely"]])
    last = found["told"].index(False)
    shown.page.locator(".grid").evaluate("(grid) => { grid.scrollTop = grid.scrollHeight / 2; }")
    shown.until("(i) => /jpg/.test(document.querySelector(`#cell-${i}`)?.ariaLabel)", last)
    marks = {"people": (last - 1, "people say so"), "model": (last, "the model thinks so")}
    grounds = set()
    for who, (i, words) in marks.items():
        mark = shown.page.locator(f"#cell-{i} .mark")
        assert mark.get_attribute("class") == f"mark {who}"
        assert words in shown.page.locator(f"#cell-{i}").get_attribute("aria-label")
        grounds.add(mark.evaluate("(mark) => getComputedStyle(mark).borderTopStyle"))
    assert grounds == {"solid", "dashed"}
    shown.sees(".legend", "by people said so")


def test_a_model_that_only_guesses_is_said_to_where_it_suggests(opened, collection):
    shown = opened(collection)
    guess = "Too few labelled pictures to check the probabilities: they are a guess."
    shown.go("#/pictures?q=sky")
    shown.sees(".list-notes", guess)
    number = shown.page.evaluate(
        "() => fetch('/api/v1/pictures?state=suggested&limit=1').then((r) => r.json()).then((found) => found.ids[0])"
    )
    shown.go(f"#/picture/{number}")
    shown.sees(".viewer .doubt", guess)
    assert shown.page.locator(".viewer .doubt").count() == 1  # once for the class and the tags


def test_a_label_changes_every_count_at_once(opened, collection):
    shown = opened(collection)
    shown.go("#/pictures?state=unlabelled&sort=name")
    shown.sees(".list-bar h1", "10 pictures")
    shown.until("() => document.querySelectorAll('.cell[data-known]').length === 10")
    shown.sees(".views .count")
    waiting = int(shown.page.locator(".views .count").inner_text())
    shown.page.locator("#cell-0").click()
    shown.keys("c")
    shown.sees("dialog input").fill("coast")
    shown.keys("Enter")
    shown.sees(".notice", "coast")
    shown.sees(".list-bar button", "Now 9 pictures: show")
    shown.sees(".list-bar h1", "10 pictures")  # as many as can be seen
    shown.sees(".facet button[aria-pressed=true] .number", "9")
    assert shown.page.locator(".cell[data-known]").count() == 10  # nothing moves by itself
    shown.keys("t")  # its tags are asked for, too
    shown.sees("dialog input").fill("sea")
    shown.keys("Enter")
    shown.sees(".notice", "sea")
    shown.until("(n) => document.querySelector('.views .count').textContent === String(n)", waiting - 1)
    shown.page.get_by_role("button", name="Now 9 pictures: show").click()
    shown.until("() => document.querySelectorAll('.cell[data-known]').length === 9")
    assert not shown.page.get_by_role("button", name="Now").is_visible()
    shown.keys("Escape")
    shown.until("() => !document.querySelector('.selection.open')")
    # a denied tag is no label: neither at the left nor at the right
    shown.go("#/pictures")
    labelled = "[...document.querySelectorAll('.facet button')].find((b) => b.textContent.startsWith('labelled'))"
    shown.until(f"() => {labelled}?.querySelector('.number').textContent === '41'")
    shown.until("() => document.querySelector('.selection dl')?.textContent.includes('Labelled41')")


def test_none_of_these_denies_all_suggestions_of_a_picture(opened, collection):
    shown = opened(collection)
    shown.go(f"#/picture/{with_suggested_tags(collection)}")
    shown.sees(".viewer .label.machine")
    n = shown.page.locator(".viewer .label.machine").count()
    shown.keys("n")
    shown.until("() => !document.querySelector('.viewer .label.machine')")
    with Workspace(collection) as photos:
        (action,) = photos.history(limit=1).actions
        assert [change.after for change in action.changes] == ["rejected"] * n
    shown.keys("z")
    shown.until("(n) => document.querySelectorAll('.viewer .label.machine').length === n", n)


def test_why_is_told_beside_the_suggestion(opened, collection):
    shown = opened(collection)
    shown.go(f"#/picture/{with_suggested_tags(collection)}")
    shown.sees(".viewer button[title='Why?']").click()
    said = shown.sees(".reason").inner_text()
    assert re.search(r"Why \w.*\?\s+Seen (mostly|in the picture as a whole)", said)
    assert re.search(r"The picture looks like this one \(\d+ % alike\), which people tagged", said)
    shown.sees(".reason img")
    shown.page.get_by_role("button", name="Hide").click()
    shown.until("() => document.querySelector('.reason').hidden && !document.querySelector('.why-cells')")


def test_by_touch_there_are_no_key_caps_and_all_can_be_done(opened, collection):
    shown = opened(collection, viewport={"width": 375, "height": 740}, has_touch=True, is_mobile=True)
    caps = "() => [...document.querySelectorAll('kbd')].filter((e) => e.checkVisibility()).length"
    for where, there in {
        "#/picture/3": ".viewer .file-name",
        "#/review": ".queues a",
        "#/review/teach": ".option",
        "#/review/tag/sky": ".candidates li",
        "#/review/groups": ".wall button",
        "#/pictures": ".cell[data-known]",
    }.items():
        shown.go(where)
        shown.sees(there)
        assert shown.page.evaluate(caps) == 0, where
        assert shown.page.evaluate("() => document.documentElement.scrollWidth") == 375, where
    shown.page.get_by_role("button", name="Select", exact=True).tap()
    for i in (0, 1):
        shown.page.locator(f"#cell-{i}").tap()
    shown.sees(".selection.open h1", "2 pictures selected")
    shown.page.locator("#cell-1").tap()  # out again
    shown.sees(".selection.open h1", "1 picture selected")
    sheet = shown.page.locator(".selection").bounding_box()
    cell = shown.page.locator("#cell-0").bounding_box()
    assert cell["y"] + cell["height"] <= sheet["y"] + 1  # what is selected stays in sight
    shown.page.locator(".selection").get_by_role("button", name="Tag").tap()
    shown.sees("dialog input").fill("album")
    shown.page.get_by_role("button", name="Give tag").tap()
    shown.sees(".notice", "1 picture: album")
    shown.page.get_by_role("button", name="Undo").tap()
    shown.sees(".notice", "Undone")
    shown.page.get_by_role("button", name="More").tap()
    shown.sees("dialog .menu", "Redo")
    assert not shown.page.locator("dialog .menu").get_by_role("button", name="Keys").count()

"""Review in a browser: from a first look to corrected labels, one key a decision."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from PIL import Image

from visterm.catalogue.acts import Extent
from visterm.catalogue.records import PERSON
from visterm.errors import VistermError
from visterm.workspace import Workspace

COLOURS = {"fire": (210, 60, 40), "leaf": (50, 160, 60), "water": (40, 80, 200)}


def paint(folder, n_each=10):
    """Pictures of three colours in folders named after them; one lies in the wrong folder."""
    rng = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True)
        for i in range(n_each):
            pixels = np.clip(np.array(colour) + rng.normal(0, 12, (48, 64, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{name}{i}.png")
    (folder / "fire" / "fire0.png").rename(folder / "water" / "fire0.png")
    return folder


def current(shown):
    """The address of the picture that is asked about."""
    return shown.page.locator(".light-table img").get_attribute("src")


def test_from_folders_of_classes_to_corrected_labels(opened, tmp_path, visterm):
    pictures = paint(tmp_path / "photos")
    with Workspace.create(pictures) as photos:
        photos.add(labels=[pictures], format="folders")
    shown = opened(pictures)
    shown.go("#/review")
    shown.sees(".empty-state", "Nothing can be reviewed yet")  # nobody has looked at the pictures
    with Workspace(pictures) as photos:
        photos.features(for_models=True)
    shown.page.reload()
    shown.sees(".queues a", "Check")
    shown.keys("2")
    shown.sees(".ask h1", "It is labelled water; this looks like fire")
    shown.keys("y")
    shown.sees(".stage .empty-state", "That is all")
    shown.sees(".stage .empty-state", "1 answer noted")
    # The page goes on before the server has answered.
    shown.until("() => fetch('/api/v1/history').then((r) => r.json()).then((f) => f.actions[0].who === 'person')")
    visterm("export", tmp_path / "labels.csv", "-w", pictures)
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = {row["file_name"]: row["class"] for row in csv.DictReader(file)}
    assert rows["water/fire0.png"] == "fire"
    assert sum(name.split("/")[0] != given for name, given in rows.items()) == 1


def n_said(shown, n):
    """Wait until people have done so many things."""
    people = "found.actions.filter((one) => one.who === 'person').length"
    shown.until(f"(n) => fetch('/api/v1/history?limit=99').then((r) => r.json()).then((found) => {people} === n)", n)


def acts_of_people(folder):
    with Workspace(folder) as photos:
        said = [label for picture in photos.catalogue.pictures() for label in (*picture.classes, *picture.tags)]
    return {label.act for label in said if label.source == PERSON}


def test_many_classes_by_keyboard_with_the_quality_in_sight(opened, classed):
    shown = opened(classed)
    shown.go("#/review")
    shown.sees(".quality .figure", "40 labels: ")
    shown.sees(".quality .figure", "classes right (")
    shown.keys("1")
    shown.sees(".ask h1", "What is this?")
    assert shown.page.locator(".coming img").count() == 3
    seen = set()
    for _ in range(9):
        shown.sees(".option")
        seen.add(current(shown))
        shown.keys("1")  # the next picture is there at once
    shown.sees(".option")
    shown.keys("s")
    shown.sees(".stage .empty-state", "9 answers noted")
    assert len(seen) == 9
    shown.sees(".corner", "% right")
    shown.until("() => document.querySelector('.corner').title.includes('49 labels: ')")
    n_said(shown, 9 + 1)  # the tags were dropped before
    assert acts_of_people(classed) <= {"answered", "measured"}


def test_many_decisions_about_a_tag_by_keyboard(opened, collection):
    shown = opened(collection)
    shown.go("#/review/tag/sky")
    shown.sees(".candidates li.here")
    keys = "ynnyynyynnyynsnyyyyn"
    assert int(shown.sees("header [role=status]").inner_text().split()[0]) >= len(keys)
    for key in keys:
        shown.keys(key)
        shown.sees(".candidates li.here, .candidates .empty-state")
    n_said(shown, len(keys) - keys.count("s"))
    assert acts_of_people(collection) == {"answered"}


def test_an_answer_is_taken_back_and_the_picture_returns(opened, classed):
    shown = opened(classed)
    shown.go("#/review/teach")
    shown.sees(".ask h1", "What is this?")
    first = current(shown)
    shown.keys("2")
    assert current(shown) != first
    shown.sees("header [role=status]", "9 pictures left, 1 answered")
    shown.keys("z")
    assert current(shown) == first
    shown.sees("header [role=status]", "10 pictures left")
    shown.until("() => fetch('/api/v1/collection').then((r) => r.json()).then((found) => found.labelled === 40)")
    shown.keys("c")
    shown.sees("dialog input").fill("attic")
    shown.keys("Enter")
    shown.until("(first) => document.querySelector('.light-table img').getAttribute('src') !== first", first)
    with Workspace(classed) as photos:
        assert "attic" in [each.name for each in photos.vocabulary().class_.terms]
        acts = {each.name: each.act for one in photos.catalogue.pictures() for each in one.classes}
        assert acts["attic"] == "answered"


def test_an_answer_that_was_not_noted_is_told_and_asked_again(opened, classed, monkeypatch):
    def refuse(*_, **__):
        raise VistermError("the disk is full")

    shown = opened(classed)
    shown.go("#/review/teach")
    shown.sees(".option")
    first = current(shown)
    with monkeypatch.context() as patched:  # the server runs in a thread of the test
        patched.setattr(Workspace, "decide", refuse)
        shown.keys("1")
        shown.sees(".notice.bad", "the disk is full")
    shown.sees("header [role=status]", "10 pictures left")
    shown.keys("s")
    assert current(shown) == first
    shown.forgive("503")


def test_kept_labels_are_not_asked_about_again_unless_taken_back(opened, tmp_path):
    pictures = paint(tmp_path / "photos")
    with Workspace.create(pictures) as photos:
        photos.add(labels=[pictures], format="folders")
        photos.features(for_models=True)
    shown = opened(pictures)
    shown.go("#/review/errors")
    shown.sees(".ask h1", "looks like fire")
    shown.keys("n")
    shown.sees(".stage .empty-state", "That is all")
    shown.keys("z")
    shown.sees(".ask h1", "looks like fire")
    shown.until("() => fetch('/api/v1/review').then((r) => r.json()).then((found) => found.errors === 1)")
    shown.keys("n")
    shown.until("() => fetch('/api/v1/review').then((r) => r.json()).then((found) => found.errors === 0)")
    with Workspace(pictures) as photos:
        assert photos.picture("water/fire0.png").class_label.name == "water"


def test_yes_to_all_of_a_tag_is_one_step(opened, collection):
    shown = opened(collection)
    shown.go("#/review")
    link = shown.sees(".tag-work a")
    tag = link.locator(".name").inner_text()
    link.click()
    shown.sees(".candidates li.here")
    n = shown.page.locator(".candidates li").count()
    shown.keys("n", "ArrowRight")
    assert shown.page.locator(".candidates li.no").count() == 1
    shown.page.get_by_role("button", name="Yes to the other").click()
    shown.until("() => !document.querySelector('.candidates li.no')")  # the next pictures, or the end
    with Workspace(collection) as photos:
        newest, before = photos.history(limit=2).actions
        assert tag in before.what
        assert (newest.n_changes, before.n_changes) == (n - 1, 1)
    shown.keys("z")
    shown.until("() => document.querySelectorAll('.candidates li.no').length === 1")


@pytest.mark.parametrize("kind", ["class", "tag"])
def test_a_collection_without_labels_begins_with_groups(opened, tmp_path, kind):
    pictures = paint(tmp_path / "photos", n_each=8)
    with Workspace.create(pictures) as photos:
        photos.add()
        photos.features(for_models=True)
    shown = opened(pictures)
    shown.go("#/review")
    shown.sees(".lead", "None of your 24 pictures has a label")
    shown.keys("1")
    shown.sees(".wall button")
    first = shown.page.locator(".wall li").count()
    shown.page.locator(".wall button").first.click()  # it does not belong
    shown.sees(".many h1", f"{first - 1} picture")
    shown.page.locator(".wall button").first.click()
    shown.page.get_by_label("What the name is").select_option(kind)
    named = 0
    while shown.page.locator(".naming").is_visible():
        name = f"kind {named}"
        shown.sees(".naming input").fill(name)
        shown.keys("Enter")
        named += 1
        shown.sees(".notice", name)
        shown.until("() => document.querySelector('.naming').hidden || !document.querySelector('.naming input').value")
    assert named >= 2
    shown.sees(".empty-state", f"in {named} groups have a name")
    shown.page.get_by_role("button", name="Back to review").click()
    shown.sees(".queues", "Teach")
    with Workspace(pictures) as photos:
        vocabulary = photos.vocabulary()
        assert len((vocabulary.class_ if kind == "class" else vocabulary.tag).terms) == named


def test_where_there_are_only_tags_several_are_chosen(opened, tmp_path):
    pictures = paint(tmp_path / "photos", n_each=6)
    with Workspace.create(pictures) as photos:
        photos.add()
        for name in COLOURS:
            files = sorted((pictures / name).glob(f"{name}*.png"))[:4]
            photos.label(files, tags=[f"{name} tone", f"{name} paint"], new=True)
        photos.features(for_models=True)
    shown = opened(pictures)
    shown.go("#/review/teach")
    shown.sees(".ask h1", "What is in this picture?")
    first = current(shown)
    shown.keys("1", "2")
    assert shown.page.locator(".option[aria-pressed=true]").count() == 2
    chosen = shown.page.locator(".option[aria-pressed=true] .name").all_inner_texts()
    shown.keys("Enter")
    assert current(shown) != first
    shown.sees(".option")
    shown.page.get_by_role("button", name="None of these").click()
    denied = "f.actions[0].changes.every((one) => one.after === 'rejected')"
    shown.until(f"() => fetch('/api/v1/history?limit=2').then((r) => r.json()).then((f) => {denied})")
    with Workspace(pictures) as photos:
        none, some = photos.history(limit=2).actions
        assert {change.name for change in some.changes} == set(chosen)
        assert {change.after for change in none.changes} == {"rejected"}
        assert Extent.WHOLE not in photos.collection().truth.extent
    third = current(shown)
    shown.keys("1")
    shown.sees(".ask button", "That is all")
    shown.keys("a")
    shown.until("(third) => document.querySelector('.light-table img')?.getAttribute('src') !== third", third)
    shown.until(
        "() => fetch('/api/v1/history?limit=3').then((r) => r.json()).then((f) => f.actions[2].changes.length === 2)"
    )
    with Workspace(pictures) as photos:  # no other tag fits this one
        assert photos.collection().truth.extent.tolist().count(Extent.WHOLE) == 1


def test_none_of_these_is_one_step_and_the_answers_are_not_offered_again(opened, classed):
    shown = opened(classed)
    shown.go("#/review/teach")
    shown.sees(".ask h1", "What is this?")
    first = current(shown)
    offered = shown.page.locator(".option .name").all_inner_texts()
    shown.keys("n")
    shown.until("(first) => document.querySelector('.light-table img').getAttribute('src') !== first", first)
    denied = "f.actions[0].changes.filter((one) => one.after === 'rejected').length"
    told = f"fetch('/api/v1/history?limit=1').then((r) => r.json()).then((f) => {denied} === {len(offered)})"
    shown.until(f"() => {told}")
    with Workspace(classed) as photos:
        (action,) = photos.history(limit=1).actions
        assert ({change.name for change in action.changes}, action.who) == (set(offered), "person")
    shown.keys("z")
    shown.until("(first) => document.querySelector('.light-table img').getAttribute('src') === first", first)
    shown.until("() => fetch('/api/v1/history').then((r) => r.json()).then((found) => found.actions[0].undone)")
    assert shown.page.locator(".option .name").all_inner_texts() == offered


def test_undo_in_review_asks_before_it_undoes_what_came_from_elsewhere(opened, classed):
    shown = opened(classed)
    with Workspace(classed) as elsewhere:
        key = elsewhere.gallery.page("", sort="name").keys[0]
        elsewhere.label([key], tags=["postbox"], new=True)
        shown.go("#/review/teach")
        shown.sees(".ask h1", "What is this?")
        shown.keys("z")  # nothing was decided in this review
        shown.sees(
            "dialog p", "Nothing that you did in this window is left to undo. The last change is “label 1 picture"
        )
        shown.keys("Escape")
        assert "postbox" in {label.name for label in elsewhere.picture(key).tags}
        first = current(shown)
        shown.keys("1")
        shown.until("() => fetch('/api/v1/review').then((r) => r.json()).then((found) => found.labelled === 41)")
        elsewhere.label([key], tags=["kiosk"], new=True)  # after the answer
        shown.keys("z")
        shown.sees("dialog p", "Something else was changed after your last step")
        shown.page.get_by_role("button", name="Leave it").click()
        shown.until("(first) => document.querySelector('.light-table img').getAttribute('src') !== first", first)
        shown.sees("header [role=status]", "1 answered")
        assert "kiosk" in {label.name for label in elsewhere.picture(key).tags}
        shown.keys("z")
        held = []
        shown.page.route("**/api/v1/labels?*", lambda route: held.append(route))
        shown.page.get_by_role("button", name="Undo that").click()
        shown.sees(".notice", "kiosk")
        # Now the answer is the last change, but the page is still reading labels and has not put the answer back.
        shown.keys("z")
        for route in held:
            route.continue_()
        shown.page.unroute("**/api/v1/labels?*")
        shown.until("() => fetch('/api/v1/review').then((r) => r.json()).then((found) => found.labelled === 40)")
        shown.until("(first) => document.querySelector('.light-table img').getAttribute('src') === first", first)
        assert "answered" not in shown.sees("header [role=status]", "left").text_content()
        assert {label.name for label in elsewhere.picture(key).tags} & {"kiosk", "postbox"} == {"postbox"}
    shown.forgive("409")

"""The view of tags and classes, in a browser: find, rename, merge, drop, and undo each."""

from __future__ import annotations

import pytest

from visterm.workspace import Workspace


def used(folder, kind="tag"):
    with Workspace(folder) as photos:
        vocabulary = photos.vocabulary()
        return {term.name: term.n_accepted for term in (vocabulary.tag if kind == "tag" else vocabulary.class_).terms}


@pytest.fixture
def names(opened, collection):
    with Workspace(collection) as photos:
        ids = photos.gallery.page("", sort="name").ids
        photos.label(ids[:3], tags=["steamer"], new=True)
        photos.label(ids[2:4], tags=["steamboat"], new=True)
        photos.label(ids[4:5], tags=["steamers"], new=True)
    shown = opened(collection)
    shown.go("#/names")
    shown.sees(".names tbody tr", "steamboat")
    return shown


def choose(shown, *wanted):
    for name in wanted:
        shown.page.get_by_role("checkbox", name=f"Choose {name}", exact=True).check()


def test_names_are_found_and_lead_to_their_pictures(names, collection):
    assert names.page.locator(".names tbody tr").count() == len(used(collection))
    names.page.get_by_role("searchbox", name="Filter the names").fill("steamb")
    names.sees(".list-bar h1", f"1 of {len(used(collection))}")
    names.page.locator(".names tbody a").first.click()
    names.sees(".list-bar h1", "2 pictures")
    names.keys("g", "t")
    names.page.get_by_role("button", name="Classes").click()
    names.sees(".list-bar h1", f"{len(used(collection, 'class'))} classes")


def test_names_are_merged_after_a_preview_and_one_undo_brings_them_back(names, collection):
    before = used(collection)
    choose(names, "steamboat", "steamer")
    names.page.get_by_role("button", name="Make 2 one").click()
    names.sees("dialog [role=status]", "Up to 2 pictures become steamer")
    names.page.locator("dialog").get_by_role("radio", name="steamboat").check()
    names.sees("dialog [role=status]", "Up to 3 pictures become steamboat")
    names.page.locator("dialog").get_by_role("button", name="Make them one").click()
    names.sees(".notice", "Steamer is steamboat now.")
    names.until("() => ![...document.querySelectorAll('.names tbody th')].some((c) => c.textContent === 'steamer')")
    assert used(collection) == {name: n for name, n in before.items() if name != "steamer"} | {"steamboat": 4}
    names.keys("z")
    names.until("() => [...document.querySelectorAll('.names tbody th')].some((c) => c.textContent === 'steamer')")
    assert used(collection) == before


def test_a_proposal_a_new_name_and_a_drop(names, collection):
    names.sees(".proposals li", "steamer (3), steamers (1)").get_by_role("button").click()
    names.page.locator("dialog").get_by_role("button", name="Make them one").click()
    names.sees(".notice", "Steamers is steamer now.")
    names.page.get_by_role("button", name="Rename steamboat").click()
    names.sees("dialog input").fill("paddle steamer")
    names.keys("Enter")
    names.sees(".names tbody th", "paddle steamer")
    names.page.get_by_role("button", name="Drop paddle steamer").click()
    names.sees("dialog p", "2 labels of paddle steamer")
    names.page.locator("dialog").get_by_role("button", name="Drop", exact=True).click()
    names.until("() => ![...document.querySelectorAll('.names tbody th')].some((c) => /paddle/.test(c.textContent))")
    assert "paddle steamer" not in used(collection)
    names.page.get_by_role("button", name="Undo").last.click()
    names.sees(".names tbody th", "paddle steamer")

"""The view of quality, in a browser: the figures of every other face, and the ways on from them."""

from __future__ import annotations

from visterm.workspace import Workspace


def test_quality_says_the_same_as_the_command_and_leads_to_the_work(opened, collection):
    with Workspace(collection) as photos:
        figures = photos.quality().figures
        (of_tags,) = (one for one in photos.reports().reports if "tag" in one.in_use)
        names = [one for one in photos.report(of_tags.model).names if one.quality is not None]
    shown = opened(collection)
    shown.go("#/quality")
    for figure in figures:
        shown.sees(".figure-card", figure.words[1:])
    assert shown.page.locator(".interval").count() == sum(figure.value is not None for figure in figures)
    worst = max((one for one in names if one.kind == "tag"), key=lambda one: one.pictures * (1 - one.quality))
    shown.sees(".names tbody tr", worst.name)
    with Workspace(collection) as elsewhere:
        elsewhere.label([elsewhere.gallery.page("", sort="name").ids[0]], tags=["postbox"], new=True)
    shown.sees("section", "1 label came since the models learned.")
    shown.page.get_by_role("link", name=worst.name, exact=True).click()
    shown.until("() => location.hash.startsWith('#/review/tag/')")


def test_without_a_model_it_says_so(opened, tmp_path, postcards):
    with Workspace.create(tmp_path / "new") as photos:
        photos.add([postcards])
    shown = opened(tmp_path / "new")
    shown.go("#/quality")
    shown.sees(".quality-view p", "There is no model yet")
    shown.page.locator(".quality-view").get_by_role("button", name="Learn from my labels").wait_for()

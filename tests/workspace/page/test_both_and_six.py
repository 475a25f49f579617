"""Class and tags of a picture in one question; one tag of six pictures in one question."""

from __future__ import annotations

from visterm.catalogue.acts import Extent
from visterm.workspace import Workspace


def current(shown):
    """The address of the picture that is asked about."""
    return shown.page.locator(".light-table img").get_attribute("src")


def names(shown, part, state="[aria-pressed]"):
    """The names of the answers in a part of the question."""
    return shown.page.locator(f".options[data-part={part}] .option{state} .name").all_inner_texts()


def holds(shown, n):
    """Wait until so many actions of people hold."""
    known = "fetch('/api/v1/history').then((r) => r.json()).then((f) => f.actions)"
    shown.until(f"(n) => {known}.then((all) => all.filter((a) => a.who === 'person' && !a.undone).length === n)", n)


def newest(folder):
    """The newest action: kind, name and state of what it wrote."""
    with Workspace(folder) as photos:
        (action,) = photos.history(limit=1).actions
        return {
            (change.kind, change.name, change.after) for change in action.changes if change.kind in ("class", "tag")
        }


def picture(folder, source):
    """What is known of the picture that a page shows as ``source``."""
    with Workspace(folder) as photos:
        truth = photos.collection().truth
        row = truth.sha256.index(source.split("/")[-2])
        acts = {each.act for one in photos.catalogue.pictures_with_ids([int(truth.ids[row])]) for each in one.tags}
        return truth.classes[row], Extent(truth.extent[row]), acts


def begun(opened, collection, **options):
    shown = opened(collection, **options)
    shown.go("#/review/teach")
    shown.sees(".ask h1", "What is this, and what is in it?")
    return shown


def test_class_and_tags_are_one_answer_and_one_undo(opened, collection):
    shown = begun(opened, collection)
    first, classes, tags = current(shown), names(shown, "class"), names(shown, "tag")
    assert len(classes) == len(tags) == 9
    assert not shown.page.get_by_role("button", name="That is all").count(), "nothing is chosen yet"
    shown.keys("2", "1", "3")  # the class, and then the tags
    assert current(shown) == first
    assert names(shown, "class", "[aria-pressed=true]") == [classes[1]]
    assert names(shown, "tag", "[aria-pressed=true]") == [tags[0], tags[2]]
    shown.keys("ArrowUp", "3")  # another class after all
    assert names(shown, "class", "[aria-pressed=true]") == [classes[2]]
    shown.keys("Enter")
    holds(shown, 1)
    assert newest(collection) == {
        ("class", classes[2], "accepted"),
        ("tag", tags[0], "accepted"),
        ("tag", tags[2], "accepted"),
    }
    assert picture(collection, first) == (classes[2], Extent.PART, {"answered"})
    shown.keys("z")
    assert current(shown) == first
    holds(shown, 0)
    assert picture(collection, first)[0] is None
    shown.keys("1", "1", "a")  # these are all tags
    holds(shown, 1)
    assert picture(collection, first) == (classes[0], Extent.WHOLE, {"answered"})


def test_the_others_do_not_fit_is_one_answer(opened, collection):
    shown = begun(opened, collection)
    first, classes, tags = current(shown), names(shown, "class"), names(shown, "tag")
    shown.keys("1", "2", "n")
    holds(shown, 1)
    said = {("class", classes[0], "accepted"), ("tag", tags[1], "accepted")}
    assert newest(collection) == said | {("tag", name, "rejected") for name in tags if name != tags[1]}
    assert picture(collection, first)[1] == Extent.PART
    shown.keys("n")  # none of the classes
    holds(shown, 2)
    assert {(kind, state) for kind, _, state in newest(collection)} == {("class", "rejected")}


def test_a_typed_name_belongs_to_the_answer(opened, collection):
    shown = begun(opened, collection)
    first = current(shown)
    for key, name in (("c", "attic"), ("t", "lantern")):
        shown.keys(key)
        shown.sees("dialog input").fill(name)
        shown.keys("Enter")
        if shown.page.get_by_role("button", name=f"Make {name}").count():
            shown.page.get_by_role("button", name=f"Make {name}").click()
        shown.sees(".options .label", name)
        assert current(shown) == first
    shown.keys("2", "a")
    holds(shown, 3)
    assert picture(collection, first)[:2] == ("attic", Extent.WHOLE)
    shown.keys("z")
    holds(shown, 0)
    assert current(shown) == first
    assert picture(collection, first)[:2] == (None, Extent.PART)


def test_undo_first_takes_back_what_is_chosen_or_typed(opened, collection):
    shown = begun(opened, collection)
    first = current(shown)
    shown.keys("2", "1", "z")
    assert current(shown) == first
    assert names(shown, "class", "[aria-pressed=true]") == names(shown, "tag", "[aria-pressed=true]") == []
    shown.keys("t")
    shown.sees("dialog input").fill("sky")
    shown.keys("Enter")
    shown.sees(".options .label", "sky")
    shown.keys("z")
    shown.until("() => !document.querySelector('.options .label')")
    holds(shown, 0)
    assert current(shown) == first


def test_a_measuring_question_wants_class_and_all_tags(opened, collection):
    shown = opened(collection)
    shown.go("#/review")
    shown.sees(".queues a", "Measure").click()
    shown.sees(".ask p", "drawn at random")
    shown.sees(".ask h1", "Choose all that fits.")
    first = current(shown)
    if "what is in it" in shown.page.locator(".ask h1").inner_text():
        shown.keys("1")
        assert not shown.page.get_by_role("button", name="That is all").count(), "its tags are missing"
    shown.keys("Enter")
    assert current(shown) == first
    shown.keys("1", "Enter")
    holds(shown, 1)
    assert picture(collection, first)[1:] == (Extent.WHOLE, {"measured"})


def test_which_of_six_have_a_tag(opened, collection):
    shown = opened(collection)
    shown.go("#/review")
    shown.sees(".queues a", "Six at a time").click()
    tag = shown.sees(".asking strong").inner_text()
    shown.sees(".asking p", "A picture that you do not mark is noted as not having this tag.")
    wall = shown.page.locator(".wall.six button")
    n, keys = wall.count(), [each.get_attribute("src") for each in shown.page.locator(".six img").all()]
    assert 2 <= n <= 6
    shown.keys("1", "2", "1")
    assert shown.page.locator(".six [aria-pressed=true]").count() == 1
    wall.nth(0).click()
    shown.sees(".actions .main", f"These 2, not the other {n - 2}")
    shown.keys("Enter")  # also after a click
    holds(shown, 1)
    assert newest(collection) == {("tag", tag, "accepted"), ("tag", tag, "rejected")}
    with Workspace(collection) as photos:
        truth = photos.collection().truth
        rows, column = [truth.sha256.index(key.split("/")[-2]) for key in keys], truth.tag_names.index(tag)
        assert truth.tags[rows][:, [column]].toarray().ravel().tolist() == [1] * 2 + [0] * (n - 2)
        assert truth.rejected[rows][:, [column]].toarray().ravel().tolist() == [0] * 2 + [1] * (n - 2)
        assert set(truth.extent[rows].tolist()) == {Extent.PART}, "nothing is said of other tags"
        acts = {label.act for one in photos.catalogue.pictures() for label in one.tags if label.source == "person"}
        assert acts == {"answered"}
    shown.keys("z")
    shown.sees(".asking strong", tag)
    assert [each.get_attribute("src") for each in shown.page.locator(".six img").all()] == keys
    holds(shown, 0)


def test_six_by_touch_on_a_small_screen_about_one_tag(opened, collection):
    shown = opened(collection, viewport={"width": 375, "height": 720}, has_touch=True, is_mobile=True)
    shown.go("#/review/six/sky")
    assert shown.sees(".asking strong").inner_text() == "sky"
    wall = shown.page.locator(".wall.six button")
    first = shown.page.locator(".six img").first.get_attribute("src")
    wall.nth(1).tap()
    shown.sees(".actions .main", "These 1, not the other")
    main = shown.page.locator(".many .actions .main").bounding_box()
    assert main["y"] + main["height"] <= 720
    assert shown.page.evaluate("document.documentElement.scrollWidth") == 375
    shown.page.get_by_role("button", name="Mark all").tap()
    shown.page.get_by_role("button", name="All of these").tap()
    shown.until("(first) => document.querySelector('.six img')?.getAttribute('src') !== first", first)
    holds(shown, 1)
    assert newest(collection) == {("tag", "sky", "accepted")}

"""What a newcomer stumbled over: each is done here as that person did it."""

from __future__ import annotations

from PIL import Image

from visterm.workspace import Workspace

#: The list of the page, as the browser knows it.
SELECTED = "document.querySelectorAll('.cell[aria-selected=true]').length"


def drag(shown, first, last):
    """Draw the mouse from one picture to another."""
    mouse = shown.page.mouse
    for step, cell in enumerate((first, last)):
        box = shown.page.locator(f"#cell-{cell}").bounding_box()
        mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=1 + 4 * step)
        if not step:
            mouse.down()
    mouse.up()


def test_drawing_the_mouse_over_pictures_selects_them_and_the_panel_says_what_they_share(opened, collection):
    with Workspace(collection) as photos:
        first = photos.gallery.page("", sort="name").ids[:4]
        photos.label(first[:3], tags=["postbox"], new=True)
        photos.label(first[:1], tags=["kiosk"], new=True)
    shown = opened(collection)
    shown.go("#/pictures?sort=name")
    shown.until("() => document.querySelectorAll('.cell[data-known]').length > 5")
    drag(shown, 3, 0)
    shown.sees(".selection h1", "4 pictures selected")
    shown.until(f"() => {SELECTED} === 4")
    shown.sees(".selection .label", "postbox3 of 4")
    shown.sees(".selection .label", "kiosk1 of 4")
    shown.page.get_by_role("button", name="Give postbox to all").click()
    shown.sees(".selection .label", "postboxall")
    shown.page.get_by_role("button", name="Take kiosk away").click()
    shown.until(
        "() => ![...document.querySelectorAll('.selection .label')].some((l) => l.textContent.includes('kiosk'))"
    )
    shown.keys("z")
    shown.sees(".selection .label", "kiosk1 of 4")
    shown.keys("z")
    shown.sees(".selection .label", "postbox3 of 4")
    with Workspace(collection) as photos:
        assert [("postbox" in one.tags, "kiosk" in one.tags) for one in photos.labels_of(first).pictures] == [
            (True, True), (True, False), (True, False), (False, False),
        ]  # fmt: skip


def test_a_suggestion_is_accepted_for_all_selected_pictures_at_once(opened, collection):
    shown = opened(collection)
    shown.go("#/pictures?state=suggested&sort=name")
    shown.until("() => document.querySelectorAll('.cell[data-known]').length > 5")
    shown.page.locator("#cell-0").click()
    shown.keys("Control+a")
    shown.sees(".selection h2", "Suggested")
    chip = shown.page.locator(".selection .label.machine").first
    name, number = chip.locator(".name").inner_text(), int(chip.locator(".number").inner_text().removeprefix("for "))
    chip.get_by_role("button", name="Accept").click()
    shown.sees(".notice", f"{number} suggestion")
    left = "[...document.querySelectorAll('.selection .label.machine .name')].map((name) => name.textContent)"
    shown.until(f"(name) => !{left}.includes(name)", name)


def test_tab_leaves_an_empty_search_box_and_starts_no_search(opened, collection):
    shown = opened(collection)
    shown.go()
    shown.sees(".list-bar h1", "50 pictures")
    with Workspace(collection) as photos:
        photos.saved_searches.keep("sea")
    shown.keys("/")
    shown.sees(".completions .heading", "Saved")
    shown.keys("Tab")
    shown.until("() => !document.activeElement.matches('input')")
    assert "q=" not in shown.page.url


def test_after_undo_the_number_is_that_of_the_pictures_on_the_screen(opened, collection):
    shown = opened(collection)
    shown.go("#/pictures?state=unlabelled&sort=name")
    shown.sees(".list-bar h1", "10 pictures")
    shown.until("() => document.querySelectorAll('.cell[data-known]').length === 10")
    shown.page.locator("#cell-0").click()
    shown.keys("Control+a", "t")
    shown.sees("dialog input").fill("sea")
    shown.keys("Enter")
    shown.sees(".notice", "sea")
    shown.go("#/pictures?state=unlabelled")
    shown.sees(".facet", "No picture is in this list.")
    shown.go("#/pictures?by=person")
    shown.until("() => document.querySelectorAll('.cell[data-known]').length === 10")
    shown.keys("z")
    shown.sees(".list-bar button", "Now 0 pictures: show")
    shown.sees(".list-bar h1", "10 pictures")
    shown.page.get_by_role("button", name="Clear filters").click()
    shown.sees(".list-bar h1", "50 pictures")


def test_what_another_program_says_is_asked_about_before_undo_and_shows_in_the_cells(opened, collection):
    shown = opened(collection)
    with Workspace(collection) as elsewhere:
        (first, *_) = elsewhere.gallery.page("", sort="name").ids
        shown.go("#/pictures?sort=name")
        shown.until("() => document.querySelector('#cell-0 .caption')?.textContent")
        elsewhere.label([first], tags=["postbox"], new=True)
        shown.until("() => document.querySelector('#cell-0 .caption').textContent.includes('postbox')")
        shown.keys("z")
        shown.sees("dialog p", "Nothing that you did in this window is left to undo")
        shown.page.get_by_role("button", name="Leave it").click()
        assert "postbox" in elsewhere.labels_of([first]).pictures[0].tags


def test_a_picture_is_shown_with_its_own_pixels_and_a_lost_one_says_so(opened, collection, tmp_path):
    large, lost = tmp_path / "outside" / "large.png", tmp_path / "outside" / "lost.png"
    large.parent.mkdir()
    Image.linear_gradient("L").resize((2400, 300)).save(large)
    Image.linear_gradient("L").resize((30, 40)).save(lost)
    with Workspace(collection) as photos:
        photos.add([large.parent])
        numbers = {photos.picture(file).paths[0].rpartition("/")[2]: photos.picture(file).id for file in (large, lost)}
    lost.unlink()
    shown = opened(collection)
    shown.go(f"#/picture/{numbers['large.png']}")
    shown.until("() => document.querySelector('.stage img').naturalWidth === 1600")
    shown.page.locator(".stage img").click()
    shown.until("() => document.querySelector('.stage img').naturalWidth === 2400")
    shown.until("() => document.querySelector('.stage img').clientWidth === 2400")
    shown.go(f"#/picture/{numbers['lost.png']}")
    shown.sees(".stage .failed", "cannot be shown")
    shown.forgive("thumbnails")
    shown.forgive("similar")  # nobody has looked at these pictures
    shown.forgive("console")


def test_more_like_this_names_the_picture(opened, collection):
    shown = opened(collection)
    with Workspace(collection) as photos:
        number = photos.gallery.page("", sort="name").ids[0]
        path = photos.details(number).paths[0]
    shown.go(f"#/picture/{number}")
    shown.page.get_by_role("button", name="Find more like this").click()
    shown.until("() => location.hash.includes('like')")
    assert shown.page.locator("#search input[type=search]").input_value() == f"like:{path}"
    shown.sees(".cell[data-known]")

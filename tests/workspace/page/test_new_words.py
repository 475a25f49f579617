"""New words in a browser: those suggested for pictures without labels, and one that is taught by twenty answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from visterm.catalogue.acts import Act
from visterm.workspace import Workspace

CHECK = Path(__file__).with_name("check.js").read_text(encoding="utf-8").split("\n", 2)[2]


@pytest.fixture
def unlabelled(bare, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(bare, tmp_path / "photos")


def tagged(folder, name):
    """The number of pictures with a tag and of those without it by a person's word, and the acts that gave it."""
    with Workspace(folder) as photos:
        every = photos.catalogue.pictures_with_ids(range(1, 51))
        found = [label for picture in every for label in picture.tags if label.name == name]
    states = [label.state for label in found]
    return states.count("accepted"), states.count("rejected"), {label.act for label in found}


def test_a_start_with_suggested_words(opened, unlabelled):
    shown = opened(unlabelled)
    shown.go()
    shown.sees(".list-offer", "None of your 50 pictures has a label")
    shown.sees(".list-offer a", "Name look-alikes")
    shown.sees(".list-offer a", "Suggested words").click()
    rows = shown.page.locator(".word-row")
    shown.sees(".word-row")
    assert rows.count() >= 3
    assert shown.page.evaluate(CHECK) == []  # names, alternatives, contrast
    assert all(3 <= rows.nth(i).locator(".thumbs img").count() <= 6 for i in range(rows.count()))
    # The first is renamed, one of its pictures is taken out.
    words = [rows.nth(i).get_attribute("data-word") for i in range(rows.count())]
    n = int(rows.nth(0).locator(".number").inner_text().split()[0])
    rows.nth(0).locator(".thumbs button").first.click()
    shown.sees(".word-row .number", f"{n - 1} pictures")
    rows.nth(0).locator("input").fill("my word")
    shown.keys("Enter")
    shown.sees(".word-row.accepted", f"my word: given to {n - 1} pictures")
    rows.nth(1).locator("button", has_text="Drop").click()
    shown.sees(".word-row.dropped", f"“{words[1]}” is dropped")
    shown.until("() => fetch('/api/v1/review/words').then((r) => r.json()).then((f) => f.unlabelled < 50)")
    assert tagged(unlabelled, "my word") == (n - 1, 0, {Act.ACCEPTED.word})
    with Workspace(unlabelled) as photos:
        assert words[1] not in [each.word for each in photos.suggested_words().words]
    shown.page.locator(".queue > header button", has_text="Undo").click()
    shown.sees(f'.word-row[data-word="{words[1]}"] form')
    shown.page.locator(".queue > header button", has_text="Undo").click()
    shown.sees(f'.word-row[data-word="{words[0]}"] form')
    assert tagged(unlabelled, "my word")[0] == 0


def test_a_search_for_an_unknown_word_leads_to_teaching_it(opened, unlabelled):
    shown = opened(unlabelled)
    shown.go("#/pictures?q=yacht")
    shown.sees(".list-offer a", "Teach “yacht”").click()
    for judged in range(0, 20, 5):
        shown.sees(".queue header [role=status]", f"{judged} of 20 judged")
        shown.sees(".many h1", "Which of these show yacht?")
        assert shown.page.locator(".wall kbd").count() == 5
        shown.keys("1", "2")
        shown.sees(".actions button.main", "These 2, not the other 3")
        shown.keys("Enter")
        shown.sees(".queue header [role=status]", f"{judged + 5} of 20 judged" if judged < 15 else "8 yes, 12 no")
    shown.sees(".many h1", "yacht is a tag now: 8 yes, 12 no.")
    assert tagged(unlabelled, "yacht") == (8, 12, {Act.ANSWERED.word})
    shown.sees(".actions button", "Judge 5 more").click()
    shown.sees(".many h1", "Which of these show yacht?")
    shown.keys("s")
    shown.sees(".many h1", "Which of these show yacht?")
    shown.keys("z", "z")  # the skipped ones come again, then the last answer is taken back
    shown.sees(".queue header [role=status]", "15 of 20 judged")
    assert tagged(unlabelled, "yacht")[:2] == (6, 9)


def test_a_word_is_typed_in_review(opened, unlabelled):
    shown = opened(unlabelled)
    shown.go("#/review")
    shown.sees(".queues a", "Suggested words")
    shown.sees(".new-word input").fill("sunset")
    shown.sees(".new-word button", "Teach it").click()
    shown.sees(".many h1", "Which of these show sunset?")

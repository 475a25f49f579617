"""Very few labels: one picture a class, classes that nobody labelled, tags that say too little."""

import re

import numpy as np
import pytest
from PIL import Image

from visterm.errors import InputError
from visterm.learn import choosing
from visterm.workspace import Workspace

COLOURS = {"red": (200, 40, 40), "green": (40, 190, 40), "blue": (40, 40, 200), "grey": (120, 120, 120)}


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """Fourteen pictures of each of four colours, none with a class."""
    monkeypatch.setattr(choosing, "RECIPES", ("colour",))
    rng = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        for number in range(14):
            pixels = np.clip(rng.normal(colour, 25, (24, 24, 3)) + rng.normal(0, 12, 3), 0, 255)
            Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"{name}{number}.png")
    with Workspace.create(tmp_path) as opened:
        opened.add()
        yield opened


def test_one_picture_of_each_class_teaches_and_says_what_to_label_next(photos, visterm):
    for name in COLOURS:
        photos.label([f"{name}0.png"], class_name=name)
    said = " ".join(visterm("train", "classes", "-w", photos.folder).stdout.split())
    assert "by prototypes+graph on colour" in said
    assert "Few labels: label five pictures of 'blue', 'green', 'grey' and 1 more" in said
    told = {row.path: row.labels[0] for row in photos.classify().answers}
    right = [label.name == re.match("[a-z]+", path)[0] for path, label in told.items()]
    assert np.mean(right) > 0.9
    assert np.mean([label.probability for label in told.values()]) < 1
    assert photos.quality().figures[0].value is None  # nothing could be measured, so nothing is claimed


def test_pictures_of_a_class_that_nobody_labelled_are_none_of_these(photos, visterm):
    for name in ("red", "green", "blue"):
        photos.label([f"{name}{number}.png" for number in range(5)], class_name=name)
    (outcome, *_) = photos.train("classes").outcomes
    assert 0.15 < outcome.none_of_these < 0.4
    rows = {row.path: row for row in photos.classify().answers}
    grey = [row.none for path, row in rows.items() if path.startswith("grey")]
    others = [row.none for path, row in rows.items() if not path.startswith("grey")]
    assert np.mean(grey) > 0.6
    assert np.mean(others) < 0.2
    said = visterm("classify", "-w", photos.folder).stdout
    assert "grey3.png: none of these" in said
    view = photos.views.newest()
    suggested = {
        view.collection.frame.files[key].name: at
        for key, at in zip(view.collection.frame.keys, view.open_classes, strict=True)
    }
    assert suggested["grey3.png"] == -1
    assert suggested["red9.png"] >= 0
    (number,) = (row.id for path, row in rows.items() if path.startswith("grey3"))
    assert photos.details(number).none == rows["grey3.png"].none
    kept = photos.classify(write=True).written
    assert kept == sum(at >= 0 for at in suggested.values())


def test_one_class_asks_what_is_not(photos):
    photos.label(["red0.png", "red1.png"], class_name="red")
    with pytest.raises(InputError, match="the only class is 'red', and what is not"):
        photos.train()


def test_stray_keywords_are_no_model(photos):
    for name in COLOURS:
        photos.label([f"{name}0.png", f"{name}1.png"], class_name=name)
    photos.label(["red0.png"], tags="scan")
    photos.label(["green0.png"], tags="untitled")
    done = {outcome.what: outcome for outcome in photos.train().outcomes}
    assert done["classes"].model == "classes@1"
    assert done["tags"].model is None
    assert "no tag is on more than 1 picture" in done["tags"].reason

"""Keywords inside the files of one or two pictures of a collection whose tags come from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import visterm
from visterm.learn.data import labels_only


@pytest.fixture
def photos(tmp_path):
    """Eight pictures with tags from a table."""
    from PIL import Image

    for i in range(8):
        Image.fromarray(np.full((8, 8, 3), 20 * i, np.uint8)).save(tmp_path / f"{i}.png")
    rows = "\n".join(f"{i}.png,boat" for i in range(8))
    (tmp_path / "metadata.csv").write_text(f"file_name,tags\n{rows}\n", encoding="utf-8")
    with visterm.open(tmp_path, create=True) as workspace:
        yield workspace


def sidecar(photos, number, *keywords):
    """Keywords as another program leaves them beside a picture."""
    items = "".join(f"<rdf:li>{word}</rdf:li>" for word in keywords)
    (photos.folder / f"{number}.xmp").write_text(
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag>'
        f"{items}</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>",
        encoding="utf-8",
    )


def learned(photos):
    """The tags that a model would learn."""
    return labels_only(photos, photos.collection()).tag_names


def test_they_are_shown_but_not_learned(photos):
    sidecar(photos, 0, "kids", "boat")
    sidecar(photos, 1, "kids", "submarine")
    added = photos.add()
    assert added.stray_keywords == {"kids": 2, "submarine": 1}
    assert photos.vocabulary().tag.not_learned == {"kids": 2, "submarine": 1}
    assert photos.vocabulary().class_.not_learned == {}
    assert learned(photos) == ("boat",)
    assert len(photos.search("kids").found) == 2


def test_three_pictures_are_enough(photos):
    for number in range(3):
        sidecar(photos, number, "kids")
    assert photos.add().stray_keywords == {}
    assert learned(photos) == ("boat", "kids")


def test_what_a_person_says_of_them_counts(photos):
    sidecar(photos, 0, "kids", "noise")
    photos.add()
    photos.label(["1.png"], tags=["kids"])
    photos.drop(["noise"])
    assert photos.vocabulary().tag.not_learned == {}
    assert learned(photos) == ("boat", "kids")


def test_where_most_pictures_have_keywords_inside_all_are_learned(photos):
    for number in range(5):
        sidecar(photos, number, "sea", f"place {number}")
    assert photos.add().stray_keywords == {}
    assert "place 3" in learned(photos)


def test_tags_of_few_pictures_from_a_table_are_learned(photos):
    (photos.folder / "metadata.csv").write_text("file_name,tags\n0.png,boat\n1.png,rare\n", encoding="utf-8")
    assert photos.add().stray_keywords == {}
    assert learned(photos) == ("boat", "rare")

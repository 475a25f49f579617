"""What changed since a copy was read: any process, any thread, and no more work than needed."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visterm.catalogue.acts import Act
from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.catalogue.truth import Truth
from visterm.errors import VistermError

N_PICTURES = 4
TAGS = ("boat", "sea", "sky", "tree")


def fill(catalogue: Catalogue, n_pictures: int = N_PICTURES) -> list[int]:
    names = [f"{number}.jpg" for number in range(n_pictures)]
    catalogue.add(
        Examined(str(catalogue.root / name), hashlib.sha256(name.encode()).hexdigest(), 1, 1, 40, 30, 1)
        for name in names
    )
    return [picture.id for picture in catalogue.pictures()]


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
        fill(opened)
        yield opened


def equal(a: Truth, b: Truth) -> bool:
    return (
        a.ids.tolist() == b.ids.tolist()
        and (a.sha256, a.paths, a.classes, a.splits, a.captions) == (b.sha256, b.paths, b.classes, b.splits, b.captions)
        and a.tag_names == b.tag_names
        and a.tags.shape == b.tags.shape
        and np.array_equal(a.tags.toarray(), b.tags.toarray())
        and np.array_equal(a.rejected.toarray(), b.rejected.toarray())
        and np.array_equal(a.named, b.named)
        and all(
            np.array_equal(getattr(a, part), getattr(b, part)) for part in ("extent", "class_acts", "tag_acts", "loose")
        )
    )


def test_the_version_changes_with_every_change_and_only_then(catalogue):
    before = catalogue.version()
    assert catalogue.version() == before
    catalogue.truth()
    assert catalogue.version() == before
    catalogue.label(1, "tag", "boat")
    after = catalogue.version()
    assert after != before
    assert after[1] == before[1] + 1
    catalogue.label(1, "tag", "boat")  # says nothing new
    assert catalogue.version() == after


def test_a_change_by_another_process_is_seen(catalogue):
    before = catalogue.version()
    code = (
        "import sys; from pathlib import Path; from visterm.catalogue.catalogue import Catalogue\n"
        "with Catalogue.create(Path(sys.argv[1]), root=Path(sys.argv[2])) as c: c.label(1, 'tag', 'boat')"
    )
    subprocess.run([sys.executable, "-c", code, str(catalogue.file), str(catalogue.root)], check=True)
    assert catalogue.version()[1] == before[1] + 1
    assert catalogue.relabelled_since(before[1]) is None


def test_a_change_past_visterm_is_seen(catalogue):
    before = catalogue.version()
    other = sqlite3.connect(catalogue.file)
    with other:
        other.execute("UPDATE picture SET caption = 'from elsewhere' WHERE id = 1")
    other.close()
    assert catalogue.version() != before


def test_only_changes_of_labels_are_told_by_picture(catalogue):
    start = catalogue.version()[1]
    catalogue.label(1, "tag", "boat")
    catalogue.write_labels([(2, "tag", "sea", "suggested", 0.5)], source="model m@1")
    with catalogue.transaction():
        catalogue.label(3, "class", "coast")
        catalogue.unlabel(1, "tag", "boat")
    assert catalogue.relabelled_since(start) == {1, 3}
    assert catalogue.relabelled_since(start + 1) == {1, 3}
    assert catalogue.relabelled_since(catalogue.version()[1]) == set()
    catalogue.rename("tag", "sea", "ocean")
    assert catalogue.relabelled_since(start) is None


def test_a_transaction_that_fails_leaves_nothing_behind(catalogue):
    start = catalogue.version()

    def fail() -> None:
        with catalogue.transaction():
            catalogue.label(1, "tag", "boat")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert catalogue.version() == start
    catalogue.label(2, "tag", "sea")
    assert catalogue.relabelled_since(start[1]) == {2}


edits = st.lists(
    st.tuples(
        st.integers(1, N_PICTURES),
        st.sampled_from(["class", "tag"]),
        st.sampled_from(TAGS),
        st.sampled_from(["accepted", "rejected", "removed", "described", "cleared"]),
        st.sampled_from(["person", "import", "model m@1"]),
        st.sampled_from(Act),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    """The file of a catalogue with the pictures, to be copied."""
    folder = tmp_path_factory.mktemp("filled")
    with Catalogue.create(folder / "filled.sqlite", root=folder) as catalogue:
        fill(catalogue)
    return folder / "filled.sqlite"


@given(edits, edits)
def test_reading_some_labels_again_gives_what_reading_all_gives(filled, first, second):
    copy = Path(shutil.copy(filled, filled.with_name("catalogue.sqlite")))
    with Catalogue.create(copy, root=filled.parent) as catalogue:

        def change(edits):
            for picture, kind, name, state, source, act in edits:
                if state in ("removed", "cleared"):
                    catalogue.unlabel(picture, kind, None if state == "cleared" else name, source=source)
                elif state == "described":
                    if source != "model m@1" and act in (Act.DESCRIBED, Act.ANSWERED, Act.MEASURED):
                        catalogue.describe([picture], source=source, act=act)
                else:
                    catalogue.write_labels([(picture, kind, name, state, None)], source=source, act=act)

        change(first)
        known, sequence = catalogue.truth(), catalogue.version()[1]
        change(second)
        changed = catalogue.relabelled_since(sequence)
        if changed is not None:
            assert equal(catalogue.relabelled(known, changed), catalogue.truth())


def test_threads_have_their_own_connections_and_one_closes_all(catalogue):
    errors: list[BaseException] = []

    def work(picture: int) -> None:
        try:
            for number in range(20):
                catalogue.label(picture, "tag", f"{picture} {number}")
                assert f"{picture} {number}" in catalogue.truth().tag_names
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(picture,)) for picture in range(1, N_PICTURES + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(catalogue.truth().tag_names) == 20 * N_PICTURES
    catalogue.close()
    with pytest.raises(VistermError, match="closed"):
        catalogue.truth()


def test_a_tag_that_loses_its_last_picture_is_gone(catalogue):
    catalogue.label(1, "tag", "boat")
    catalogue.label(2, "tag", "sea")
    known, sequence = catalogue.truth(), catalogue.version()[1]
    catalogue.unlabel(1, "tag", "boat")
    again = catalogue.relabelled(known, catalogue.relabelled_since(sequence))
    assert again.tag_names == ["sea"]
    assert equal(again, catalogue.truth())

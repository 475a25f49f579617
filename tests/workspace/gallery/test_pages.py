"""Lists of pictures: every filter and order against the catalogue itself, pages, searches."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import combinations
from pathlib import PurePosixPath

import numpy as np
import pytest
from PIL import Image

from visterm.collection.filters import Filters
from visterm.errors import InputError
from visterm.labels.deciding import Decision


@pytest.fixture(scope="module", autouse=True)
def decided(kept):
    """What a person accepted and rejected, beside what was imported; one picture in a folder of its own."""
    pictures = list(kept.catalogue.pictures())
    plain = [picture for picture in pictures if picture.class_label is None]
    kept.label([plain[0].sha256], class_name="harbour", tags=["boat", "sea"], new=True)
    kept.label([plain[1].sha256, plain[2].sha256], no_tags=["sky"], new=True)


def brute(photos):
    """What the catalogue says of each picture, one by one: path, class, tags, rejected tags, who."""
    found = {}
    for picture in photos.catalogue.pictures(state="ok"):
        labels = [*picture.classes, *picture.tags]
        told = [label for label in labels if label.state != "suggested"]
        found[picture.id] = {
            "path": picture.paths[0],
            "class": None if picture.class_label is None else picture.class_label.name,
            "tags": {label.name for label in picture.tags if label.state == "accepted"},
            "rejected": {label.name for label in told if label.state == "rejected"},
            "by": {label.source for label in told if label.state == "accepted"},
        }
    return found


@pytest.fixture(scope="module")
def suggested(kept, decided):
    """The undecided tags that the model in use suggests for each picture, asked for file by file."""
    known, open_ = brute(kept), {}
    for answer in kept.tag([kept.folder / entry["path"] for entry in known.values()]).answers:
        number = answer.id
        open_[number] = {each.name for each in answer.labels} - known[number]["tags"] - known[number]["rejected"]
    assert set(open_) == set(known)
    return open_


def ids(photos, **filters):
    return set(photos.gallery.page("", Filters(**filters), limit=5000).ids)


def test_every_filter_keeps_what_the_catalogue_says(kept, suggested):
    known, open_ = brute(kept), suggested
    assert ids(kept) == set(known)
    for name in ("harbour", "forest", "no such class"):
        assert ids(kept, class_name=name) == {n for n, e in known.items() if e["class"] == name}
    for tags in (("boat",), ("boat", "sea"), ("sky",), ("none",)):
        assert ids(kept, tags=tags) == {n for n, e in known.items() if e["tags"] >= set(tags)}
    for tag in ("sky", "tree", "none"):
        assert ids(kept, suggested_tag=tag) == {n for n in known if tag in open_[n]}
    with_suggestion = {n for n, e in known.items() if open_[n] or e["class"] is None}
    silent = {n for n, e in known.items() if not e["by"] and not e["rejected"]}
    assert ids(kept, by="person") == {n for n, e in known.items() if "person" in e["by"]} != set()
    assert ids(kept, by="import") == {n for n, e in known.items() if "import" in e["by"]} != set()
    assert ids(kept, by="model") == silent & with_suggestion != set()
    assert ids(kept, by="nobody") == silent - with_suggestion
    accepted = {n for n, e in known.items() if e["by"]}
    assert ids(kept, state="accepted") == accepted
    assert ids(kept, state="unlabelled") == set(known) - accepted
    assert ids(kept, state="rejected") == {n for n, e in known.items() if e["rejected"]} != set()
    assert ids(kept, state="suggested") == with_suggestion
    folder = str(PurePosixPath(known[1]["path"]).parent)
    for name in (folder, str(PurePosixPath(folder).parent), "", "none"):
        below = {n for n, e in known.items() if e["path"].startswith(f"{name}/" if name else "")}
        assert ids(kept, folder=name) == below
    both = {n for n, e in known.items() if e["class"] == "harbour" and "person" in e["by"]}
    assert ids(kept, class_name="harbour", by="person") == both != set()


def test_a_folder_is_not_the_beginning_of_another_name(kept):
    folder = kept.views.newest().collection.frame.folders[0][0]
    assert ids(kept, folder=folder[:-1]) == set()


def test_files_that_are_no_pictures_are_counted(photos, tmp_path):
    assert photos.gallery.facets().unreadable == 0
    (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8\xff\xe0nonsense")
    photos.add([tmp_path / "bad.jpg"])
    assert photos.gallery.facets().unreadable == photos.overview().unreadable == 1
    photos.label(photos.views.newest().paths[0], tags=["boat"])
    assert photos.gallery.facets().unreadable == 1


@pytest.mark.parametrize("filters", [Filters(), Filters(state="unlabelled"), Filters(tags=("sky",))])
def test_facets_are_counted_one_by_one(kept, suggested, filters):
    known, open_ = brute(kept), suggested
    chosen = ids(kept, tags=filters.tags, state=filters.state)
    found = kept.gallery.facets("", filters)
    assert found.total == len(chosen)

    def counts(entries):
        return {each.value: each.pictures for each in entries}

    assert counts(found.classes) == Counter(known[n]["class"] for n in chosen if known[n]["class"])
    assert counts(found.tags) == Counter(tag for n in chosen for tag in known[n]["tags"])
    assert counts(found.suggested) == Counter(tag for n in chosen for tag in open_[n])
    assert counts(found.folders) == Counter(str(PurePosixPath(known[n]["path"]).parent) for n in chosen)
    assert counts(found.by) == {by: len(ids(kept, by=by) & chosen) for by in ("person", "import", "model", "nobody")}
    states = ("suggested", "accepted", "rejected", "unlabelled")
    assert counts(found.states) == {state: len(ids(kept, state=state) & chosen) for state in states}
    assert found.unreadable == 0
    assert [each.pictures for each in found.tags] == sorted((each.pictures for each in found.tags), reverse=True)


def test_facets_of_a_search_count_what_was_found(kept):
    page = kept.gallery.page("boat", limit=5000)
    assert 0 < page.n_likely < page.total
    assert kept.gallery.facets("boat").total == page.n_likely


def test_a_picture_of_which_people_only_denied_something_is_labelled_nowhere(photos):
    number = photos.gallery.page("", Filters(state="unlabelled")).ids[0]
    before = photos.overview()
    photos.decide([Decision(number, "tag", "sky", "rejected")])
    told, (suggested, accepted, _, unlabelled) = photos.overview(), photos.gallery.facets().states
    assert (told.labelled, told.pictures) == (before.labelled, before.pictures)
    assert (told.labelled, told.suggested) == (accepted.pictures, suggested.pictures)
    assert told.pictures - told.labelled == unlabelled.pictures == photos.reviewer.groups().pictures


def test_every_count_is_that_of_the_list_behind_it(photos, tmp_path):
    """Folders in folders, a dropped class, a denied tag: what a facet says is what a click shows."""
    inner = tmp_path / "inner" / "most"
    inner.mkdir(parents=True)
    for folder, colour in ((inner, "red"), (inner.parent, "blue")):
        Image.new("RGB", (32, 24), colour).save(folder / f"{colour}.png")
    photos.add([tmp_path / "inner"])
    likely = [one.suggested_class for one in photos.labels_of(photos.gallery.page().ids).pictures]
    dropped = next(each.name for each in likely if each is not None)
    photos.drop([dropped], kind="class")
    photos.label([photos.gallery.page().keys[0]], no_tags=["sky"], new=True)
    counts = photos.gallery.facets()
    listed = {"class_name": counts.classes, "suggested_tag": counts.suggested, "by": counts.by}
    for name, entries in (listed | {"state": counts.states, "folder": counts.folders}).items():
        for each in entries:
            assert photos.gallery.page("", Filters(**{name: each.value})).total == each.pictures, f"{name} {each}"
    for each in counts.tags:
        assert photos.gallery.page("", Filters(tags=(each.value,))).total == each.pictures
    for one in photos.labels_of(photos.gallery.page("", Filters(state="suggested")).ids).pictures:
        assert one.suggested_class or one.suggested_tags
        assert one.suggested_class is None or one.suggested_class.name not in ("", dropped)


def test_an_order_does_not_hide_pictures_with_some_of_the_words(photos):
    shutil.rmtree(photos.state / "models")
    tags = {n: entry["tags"] for n, entry in brute(photos).items()}
    query = " ".join(_apart(tags))
    page, by_name = photos.gallery.page(query), photos.gallery.page(query, sort="name")
    assert page.understood.partial
    assert set(by_name.ids) == set(page.ids) != set()
    assert photos.gallery.facets(query).total == page.total
    assert (page.n_likely, by_name.n_likely) == (0, 0)


def test_orders(kept):
    known, view = brute(kept), kept.views.newest()
    names = [known[n]["path"].casefold() for n in kept.gallery.page(sort="name").ids]
    assert names == sorted(names)
    added = dict(zip(view.listing.ids.tolist(), view.listing.added.tolist(), strict=True))
    newest = kept.gallery.page(sort="newest").ids
    assert [(-added[n], n) for n in newest] == sorted((-added[n], n) for n in newest)
    assert kept.gallery.page().ids == newest
    doubt = [float(view.doubt[view.row_of[n]]) for n in kept.gallery.page(sort="unsure").ids]
    assert doubt == sorted(doubt, reverse=True)
    assert doubt[0] > 0 == doubt[-1]
    with pytest.raises(InputError, match="cannot be sorted by 'beauty'"):
        kept.gallery.page(sort="beauty")


def test_a_page_has_one_entry_of_every_column_each_picture(kept):
    page = kept.gallery.page(limit=7)
    known = {picture.id: picture for picture in kept.catalogue.pictures()}
    assert len(page.ids) == 7
    for place, number in enumerate(page.ids):
        picture = known[number]
        assert (page.keys[place], page.widths[place], page.heights[place]) == (
            picture.sha256,
            picture.width,
            picture.height,
        )
    assert (page.total, page.start, page.understood, page.probabilities) == (50, 0, None, [])


def pages(photos, query="", limit=7, **options):
    """All pages of a list."""
    cursor, found = None, []
    while True:
        page = photos.gallery.page(query, cursor=cursor, limit=limit, **options)
        assert page.start == sum(len(each.ids) for each in found)
        found.append(page)
        cursor = page.next
        if cursor is None:
            return found


@pytest.mark.parametrize("query", ["", "boat", "sky -sea"])
def test_pages_together_are_the_list(kept, query):
    whole = kept.gallery.page(query, limit=5000)
    assert [n for page in pages(kept, query) for n in page.ids] == whole.ids
    assert [p for page in pages(kept, query) for p in page.probabilities] == whole.probabilities
    assert whole.next is None


def test_later_pages_stay_those_of_the_first(photos):
    first = photos.gallery.page("", Filters(state="unlabelled"), limit=4)
    whole = photos.gallery.page("", Filters(state="unlabelled"), limit=5000).ids
    photos.label([first.keys[0]], class_name="forest")
    second = photos.gallery.page("", Filters(state="unlabelled"), cursor=first.next, limit=5000)
    assert first.ids + second.ids == whole
    assert second.version == first.version
    again = photos.gallery.page("", Filters(state="unlabelled"), limit=5000)
    assert again.ids == whole[1:]
    assert again.version > first.version


def test_the_page_of_a_list_that_is_no_longer_kept_is_made_anew(photos):
    first = photos.gallery.page(limit=4)
    photos.gallery._kept.clear()
    assert photos.gallery.page(cursor=first.next, limit=4).ids == photos.gallery.page(limit=8).ids[4:]


@pytest.mark.parametrize(
    "cursor", ["", "x", "W10=", "WzEsIDJd" * 4, "WyJhIiwgMV0=", "Wy0xLCAxXQ==", "ä", "bnVsbA==", "WzEuNSwgMV0="]
)
def test_a_cursor_that_no_page_gave_is_refused(kept, cursor):
    with pytest.raises(InputError, match="cursor"):
        kept.gallery.page(cursor=cursor)


def test_lists_by_what_models_say_follow_the_models(photos):
    before = photos.gallery.page("", Filters(state="suggested"))
    photos.label([photos.gallery.page().keys[0]], tags=["sky"])
    photos.undo()
    photos.gallery.page("", Filters(state="suggested"))
    n_lists = len(photos.gallery._kept)
    photos.train("knn-tags")
    assert photos.views.newest().tag_judgements.age.by == "knn-tags@2"
    after = photos.gallery.page("", Filters(state="suggested"))
    assert after.total == int(photos.views.newest().has_suggestion.sum())
    assert len(photos.gallery._kept) == n_lists + 1  # made anew, although the catalogue is the same
    assert before.version < after.version


# Searches


def test_a_search_lists_the_likely_first_and_says_so(kept):
    page = kept.gallery.page("boat", limit=5000)
    asked = kept.search("boat", limit=5000, unlikely=True)
    paths = {n: entry["path"] for n, entry in brute(kept).items()}
    assert [paths[n] for n in page.ids] == [each.path for each in asked.found]
    assert page.n_likely == sum(each.likely for each in asked.found)
    assert page.told == [each.told for each in asked.found]
    assert np.allclose(page.probabilities, [each.score for each in asked.found], atol=5e-5)
    assert page.understood.model == asked.model
    assert all(page.told[: page.told.index(False)])


def test_a_search_says_that_nothing_fits_well(kept, monkeypatch):
    untold = "is:untagged boat"  # nobody says so
    assert kept.gallery.page(untold).understood.weak is kept.search(untold, unlikely=True).weak
    monkeypatch.setattr("visterm.find.searching._WEAK", 1.01)
    assert kept.gallery.page("is:untagged sky").understood.weak
    assert not kept.gallery.page("sky").understood.weak, "people say so"
    assert not kept.gallery.page("zeppelin").understood.weak, "nothing is likely"


def test_a_search_says_that_nothing_was_found(kept):
    page = kept.gallery.page("filename:zeppelin")
    assert (page.total, page.n_likely, page.understood.unknown) == (0, 0, ["zeppelin"])
    assert page.understood.read_as == "filename:zeppelin (unknown)"
    assert page.understood.notes
    page = kept.gallery.page("zeppelin")  # all that look most like it are listed, and none counts as found
    assert (page.total, page.n_likely, page.understood.guessed) == (50, 0, True)
    assert page.understood.notes


def test_a_search_for_too_much_finds_pictures_with_some_of_the_words(photos):
    shutil.rmtree(photos.state / "models")
    tags = {n: entry["tags"] for n, entry in brute(photos).items()}
    apart = _apart(tags)
    page = photos.gallery.page(" ".join(apart))
    assert page.understood.partial
    assert page.n_likely == 0 < page.total
    assert set(page.understood.missing) == set(apart)


def _apart(tags):
    """Two tags that no picture has both of."""
    pairs = combinations(sorted(set().union(*tags.values())), 2)
    return next(pair for pair in pairs if not any(set(pair) <= own for own in tags.values()))


def test_a_search_can_be_narrowed_down_and_sorted(kept):
    everything = kept.gallery.page("sky", limit=5000)
    found = set(everything.ids[: everything.n_likely])
    narrow = kept.gallery.page("sky", Filters(state="unlabelled"), limit=5000)
    assert set(narrow.ids[: narrow.n_likely]) == found & ids(kept, state="unlabelled")
    by_name = kept.gallery.page("sky", sort="name", limit=5000)
    assert set(by_name.ids) == found
    assert by_name.n_likely == by_name.total
    probability = dict(zip(everything.ids, everything.probabilities, strict=True))
    assert by_name.probabilities == [probability[n] for n in by_name.ids]


def test_like_means_a_picture_of_the_collection(kept):
    number, key = next((n, k) for n, k in zip(*(lambda p: (p.ids, p.keys))(kept.gallery.page(limit=1)), strict=True))
    page = kept.gallery.page(f"like:{key}", limit=5000)
    assert page.total
    assert number not in page.ids


# The whole


def test_the_overview_counts(kept):
    told = kept.overview()
    known = brute(kept)
    assert (told.pictures, told.unreadable, told.unlooked) == (50, 0, 0)
    assert told.labelled == sum(bool(e["by"]) for e in known.values())
    assert told.classes == len({e["class"] for e in known.values() if e["class"]})
    assert told.suggested == len(ids(kept, state="suggested"))
    assert (told.class_model, told.tag_model) == ("knn@1", "knn-tags@1")
    assert told.changes == kept.catalogue.version()[1]


def test_an_empty_collection(tmp_path):
    from visterm.workspace import Workspace

    with Workspace.create(tmp_path / "empty") as photos:
        assert photos.gallery.page().ids == []
        assert photos.gallery.page("boat").ids == []
        assert photos.gallery.facets().total == 0
        told = photos.overview()
        assert (told.pictures, told.class_model, told.tag_model, told.unlooked) == (0, None, None, 0)
        assert photos.reviewer.state().ready is False

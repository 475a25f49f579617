"""The catalogue: files and pictures, whose word counts, imports, transactions, migrations, damage."""

from __future__ import annotations

import hashlib
import sqlite3
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visterm.catalogue import pictures as pictures_module
from visterm.catalogue.catalogue import Catalogue
from visterm.catalogue.pictures import Examined
from visterm.catalogue.records import IMPORT, PERSON, Reading, Record, Region, model_source
from visterm.catalogue.removals import Forgotten
from visterm.errors import InputError


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as opened:
        yield opened
        assert opened.check() == []


def examined(path: Path | str, content: str, *, reason: str | None = None) -> Examined:
    size = {} if reason else {"width": 40, "height": 30, "orientation": 1}
    return Examined(str(path), digest(content), len(content), 1, **size, reason=reason)


def digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def fill(catalogue: Catalogue, *names: str) -> list[int]:
    """Pictures called ``names``, each of other content; their ids."""
    catalogue.add(examined(catalogue.root / name, name) for name in names)
    return [catalogue.picture(name).id for name in names]  # type: ignore[union-attr]


def apply(catalogue: Catalogue, *records: Record, source: str = IMPORT, base: Path | None = None) -> list[str]:
    reading = Reading("labels", "test")
    catalogue.apply(records, base=base or catalogue.root, source=source, reading=reading)
    return [str(skipped) for skipped in reading.skips]


def tags_of(catalogue: Catalogue, name: str, state: str = "accepted") -> list[str]:
    picture = catalogue.picture(name)
    assert picture is not None
    return [label.name for label in picture.tags if label.state == state]


def class_of(catalogue: Catalogue, name: str) -> str | None:
    picture = catalogue.picture(name)
    assert picture is not None
    return None if picture.class_label is None else picture.class_label.name


class TestPictures:
    def test_a_picture_is_found_by_any_form_of_its_path_and_by_its_hash(
        self, catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(catalogue, "sub/a.jpg", "b.jpg")
        monkeypatch.chdir(tmp_path)
        (tmp_path / "sub").mkdir()
        monkeypatch.chdir(tmp_path / "sub")
        forms = ["sub/a.jpg", "a.jpg", tmp_path / "sub" / "a.jpg", "../sub/./a.jpg", digest("sub/a.jpg")]
        forms.append(digest("sub/a.jpg")[:8].upper())
        for form in forms:
            picture = catalogue.picture(form)
            assert picture is not None, form
            assert picture.paths == ("sub/a.jpg",)
        for unknown in ["c.jpg", "abcdef", "00000000", "../../etc/passwd", "nul\0byte", "\udcff.jpg"]:
            assert catalogue.picture(unknown) is None

    def test_an_ambiguous_hash_is_refused(self, catalogue: Catalogue) -> None:
        for number, path in enumerate(["a.jpg", "b.jpg"]):
            catalogue.add([Examined(path, f"{number:064x}", 1, 1, 1, 1, 1)])
        with pytest.raises(InputError, match="several pictures"):
            catalogue.picture("00000000")

    def test_paths_are_relative_inside_the_root_and_absolute_outside(self, tmp_path: Path) -> None:
        root, elsewhere, link = tmp_path / "root", tmp_path / "elsewhere", tmp_path / "link"
        root.mkdir()
        link.symlink_to(root)
        with Catalogue.create(tmp_path / "c.sqlite", root=link) as catalogue:
            catalogue.add(
                [examined(root / "a.jpg", "a"), examined(link / "b.jpg", "b"), examined(elsewhere / "c", "c")]
            )
            assert set(catalogue.known_files()) == {"a.jpg", "b.jpg", (elsewhere / "c").as_posix()}
            assert set(catalogue.known_files(root)) == set(catalogue.known_files(link)) == {"a.jpg", "b.jpg"}
            assert set(catalogue.known_files(elsewhere)) == {(elsewhere / "c").as_posix()}
            assert len(catalogue.known_files(tmp_path)) == 3

    def test_known_files_below_a_folder_are_not_those_of_a_like_named_one(self, catalogue: Catalogue) -> None:
        fill(catalogue, "a/1.jpg", "a/b/2.jpg", "ab/3.jpg", "a-b/4.jpg", "a.jpg")
        assert set(catalogue.known_files(catalogue.root / "a")) == {"a/1.jpg", "a/b/2.jpg"}
        assert set(catalogue.known_files(catalogue.root / "a.jpg")) == {"a.jpg"}

    def test_pictures_stream_in_blocks_with_everything_said_of_them(
        self, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pictures_module, "BLOCK", 3)
        names = [f"{number:02}.jpg" for number in range(10)]
        fill(catalogue, *names)
        catalogue.add([examined("broken.jpg", "broken", reason="damaged")])
        box = Region("sea", 1, 2, 3, 4)
        apply(catalogue, *(Record(name, name[0], ("sea", name), regions=(box,)) for name in names))
        read = []
        for picture in catalogue.pictures(state="ok"):
            catalogue.label(picture, "tag", "seen")  # writing while reading is fine
            read.append(picture)
        assert [picture.paths for picture in read] == [(name,) for name in names]
        assert all([label.name for label in picture.tags] == [picture.paths[0], "sea"] for picture in read)
        assert all(picture.regions == (box,) and picture.class_label for picture in read)
        assert [picture.reason for picture in catalogue.pictures(state="unreadable")] == ["damaged"]
        assert len(list(catalogue.pictures())) == 11
        assert list(catalogue.unreadable()) == [(str(Path("broken.jpg").absolute()), "damaged")]

    def test_removing_forgets_files_folders_and_pictures(self, catalogue: Catalogue) -> None:
        for name in ("a/1.jpg", "copy.jpg"):
            (catalogue.root / name).parent.mkdir(exist_ok=True)
            (catalogue.root / name).touch()
        fill(catalogue, "a/1.jpg", "a/2.jpg", "b.jpg", "c.jpg")
        catalogue.add([examined(catalogue.root / "copy.jpg", "a/1.jpg")])
        catalogue.label(catalogue.picture("b.jpg"), "tag", "sea")  # type: ignore[arg-type]
        assert catalogue.remove(["a"]) == Forgotten(1, 1, ("copy.jpg",))  # the copy keeps picture 1
        assert catalogue.remove([digest("b.jpg")[:10], catalogue.root / "c.jpg"]).n_pictures == 2
        assert set(catalogue.known_files()) == {"copy.jpg"}
        with pytest.raises(InputError, match="nowhere"):
            catalogue.remove(["copy.jpg", "nowhere.jpg"])
        assert set(catalogue.known_files()) == {"copy.jpg"}  # all or nothing

    def test_a_missing_picture_keeps_its_labels_and_its_last_place(self, catalogue: Catalogue) -> None:
        (number,) = fill(catalogue, "a.jpg")
        catalogue.label(number, "tag", "sea")
        assert catalogue.mark_missing(["a.jpg", "unknown.jpg"]) == 1
        picture = catalogue.picture("a.jpg")
        assert picture is not None
        assert picture.missing
        assert tags_of(catalogue, "a.jpg") == ["sea"]
        assert catalogue.counts().n_missing == 1
        with pytest.raises(InputError, match=r"last seen at a\.jpg"):
            catalogue.file_of(picture)
        catalogue.mark_present(["a.jpg"])
        (catalogue.root / "a.jpg").touch()
        assert catalogue.file_of(picture) == catalogue.root / "a.jpg"
        assert catalogue.counts().n_missing == 0


class TestLabels:
    def test_a_person_outranks_an_import_and_that_a_model(self, catalogue: Catalogue) -> None:
        (a,) = fill(catalogue, "a.jpg")
        for source, state in [(PERSON, "rejected"), (IMPORT, "accepted"), (model_source("m", 1), "suggested")]:
            catalogue.label(a, "tag", "sea", source=source, state=state)  # type: ignore[arg-type]
            assert tags_of(catalogue, "a.jpg", "rejected") == ["sea"]
        catalogue.unlabel(a, "tag", "sea")
        assert tags_of(catalogue, "a.jpg") == ["sea"]
        assert catalogue.unlabel(a, "tag", source=IMPORT) == 1
        assert tags_of(catalogue, "a.jpg", "suggested") == ["sea"]

    def test_accepting_a_class_replaces_the_one_the_source_accepted_before(self, catalogue: Catalogue) -> None:
        (a,) = fill(catalogue, "a.jpg")
        catalogue.label(a, "class", "coast", source=IMPORT)
        catalogue.label(a, "class", "forest")
        catalogue.label(a, "class", "street")
        assert class_of(catalogue, "a.jpg") == "street"
        catalogue.unlabel(a, "class", "street")
        assert class_of(catalogue, "a.jpg") == "coast"  # not forest
        catalogue.label(a, "class", "coast", state="rejected")
        assert class_of(catalogue, "a.jpg") is None

    def test_a_new_version_of_a_model_withdraws_the_labels_of_the_others(self, catalogue: Catalogue) -> None:
        a, b = fill(catalogue, "a.jpg", "b.jpg")
        catalogue.write_labels([(a, "tag", "sea", "suggested", 0.5)], source=model_source("m", 1))
        catalogue.write_labels([(a, "tag", "sky", "suggested", 0.5)], source=model_source("other", 1))
        catalogue.write_labels([(b, "tag", "sun", "suggested", 0.5)], source=model_source("m", 2))
        assert tags_of(catalogue, "a.jpg", "suggested") == ["sky"]
        assert catalogue.counts().label_sources == {"model m@2": 1, "model other@1": 1}

    def test_numpy_scalars_are_welcome(self, catalogue: Catalogue) -> None:
        (a,) = fill(catalogue, "a.jpg")
        rows = [(np.int64(a), "tag", "sea", "suggested", np.float32(0.25))]
        assert catalogue.write_labels(rows, source="model m@1") == 1  # type: ignore[arg-type]
        assert next(catalogue.pictures()).tags[0].score == 0.25

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"source": "somebody"}, "unknown source"),
            ({"source": "model m"}, "unknown source"),
            ({"kind": "colour"}, "unknown kind"),
            ({"state": "maybe"}, "unknown state"),
            ({"name": " "}, "name is empty"),
            ({"name": "a\nb"}, "control characters"),
            ({"name": "\udcff"}, "invalid Unicode"),
            ({"name": "x" * 1001}, "1001 characters"),
            ({"score": float("nan")}, "not a number"),
            ({"picture": 77}, "picture 77"),
        ],
    )
    def test_bad_labels_are_refused_and_nothing_is_kept(
        self, catalogue: Catalogue, change: dict[str, object], message: str
    ) -> None:
        (a,) = fill(catalogue, "a.jpg")
        label = {"picture": a, "kind": "tag", "name": "sea", "state": "accepted", "source": PERSON, "score": None}
        label |= change
        good = (a, "tag", "sky", "accepted", None)
        bad = tuple(label[key] for key in ("picture", "kind", "name", "state", "score"))
        with pytest.raises(InputError, match=message):
            catalogue.write_labels([good, bad], source=label["source"])  # type: ignore[list-item, arg-type]
        assert tags_of(catalogue, "a.jpg") == []


SOURCES = [PERSON, IMPORT, "model a@1", "model a@2", "model b@1"]
WRITES = st.tuples(
    st.sampled_from(["label", "label", "label", "unlabel", "clear"]),
    st.sampled_from(SOURCES),
    st.sampled_from(["class", "tag"]),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from(["accepted", "rejected", "suggested"]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WRITES, max_size=12))
def test_precedence_agrees_with_a_plain_model(tmp_path_factory: pytest.TempPathFactory, writes: list[tuple]) -> None:
    """The effective labels after any sequence of writes are those a dictionary and the rules give."""
    said: dict[tuple[str, str, str], tuple[str, int]] = {}  # (source, kind, name) -> state, time
    folder = tmp_path_factory.mktemp("precedence")
    with Catalogue.create(folder / "c.sqlite", root=folder) as catalogue:
        (a,) = fill(catalogue, "a.jpg")
        for time, (verb, source, kind, name, state) in enumerate(writes):
            versions = {other for other in SOURCES if other.startswith("model a") and source.startswith("model a")}
            said = {key: value for key, value in said.items() if key[0] not in versions - {source}}
            if verb == "clear":
                catalogue.unlabel(a, "class", source=source)
                catalogue.unlabel(a, "tag", source=source)
                said = {key: value for key, value in said.items() if key[0] != source}
                continue
            if verb == "unlabel":
                catalogue.unlabel(a, kind, name, source=source)
                said.pop((source, kind, name), None)
                continue
            catalogue.label(a, kind, name, state=state, source=source)
            if kind == "class" and state == "accepted":
                before = [key for key, value in said.items() if key[:2] == (source, "class") and value[0] == "accepted"]
                for key in before:
                    del said[key]
            said[source, kind, name] = (state, time)

        def precedence(source: str, time: int) -> tuple[int, int]:
            return {PERSON: 2, IMPORT: 1}.get(source, 0), time

        effective: dict[tuple[str, str], tuple[tuple[int, int], str, str]] = {}
        for (source, kind, name), (state, time) in said.items():
            candidate = (precedence(source, time), source, state)
            effective[kind, name] = max(candidate, effective.get((kind, name), candidate))
        accepted = [(key[1], value) for key, value in effective.items() if key[0] == "class" and value[2] == "accepted"]
        picture = catalogue.picture("a.jpg")
        assert picture is not None
        for kind, labels in (("class", picture.classes), ("tag", picture.tags)):
            expected = {name: value[1:] for (of_kind, name), value in effective.items() if of_kind == kind}
            assert {label.name: (label.source, label.state) for label in labels} == expected
        # among import's and person's one accepted class each, and models' one each, the highest and newest
        expected_class = max(accepted, key=lambda pair: pair[1][0])[0] if accepted else None
        assert (picture.class_label and picture.class_label.name) == expected_class
        assert catalogue.truth().classes == [
            max((pair for pair in accepted if pair[1][0][0] > 0), key=lambda pair: pair[1][0], default=(None,))[0]
        ]


class TestApply:
    def test_what_cannot_be_used_is_skipped_with_the_reason_and_the_rest_is_done(self, catalogue: Catalogue) -> None:
        fill(catalogue, "in/a.jpg", "in/b.jpg", "out.jpg")
        skipped = apply(
            catalogue,
            Record("a.jpg", "coast", ("sea", "bad\nname", "sky")),
            Record("../out.jpg", "forest"),
            Record(str(catalogue.root / "out.jpg"), "forest"),
            Record("absent.jpg", "forest"),
            Record("\udcff.jpg", "forest"),
            Record("nul\0.jpg", "forest"),
            Record(
                "./x/../b.jpg", "street", caption="a \udcff caption", regions=(Region("car", 0, 0, float("nan"), 9),)
            ),
            base=catalogue.root / "in",
        )
        assert skipped == [
            "a.jpg: the name 'bad\\nname' contains control characters or invalid Unicode",
            "../out.jpg: the path leads out of the folder that the labels belong to",
            f"{catalogue.root}/out.jpg: the path leads out of the folder that the labels belong to",
            "absent.jpg: no such picture in the catalogue",
            "\\udcff.jpg: no such picture in the catalogue",
            "nul\0.jpg: no such picture in the catalogue",
            "./x/../b.jpg: the caption contains invalid Unicode",
            "./x/../b.jpg: the region 'car' has no area: (0.0, 0.0, nan, 9.0)",
        ]
        assert tags_of(catalogue, "in/a.jpg") == ["sea", "sky"]
        assert [class_of(catalogue, name) for name in ("in/a.jpg", "in/b.jpg", "out.jpg")] == ["coast", "street", None]

    def test_rows_about_one_picture_add_up_unless_they_repeat_or_contradict(self, catalogue: Catalogue) -> None:
        fill(catalogue, "a.jpg")
        first = Record(
            "a.jpg", "coast", ("sea",), caption="a boat", split="train", regions=(Region("sea", 0, 0, 5, 5),)
        )
        second = Record("a.jpg", None, ("sky",), caption="the sky", regions=(Region("sky", 0, 0, 2, 2),))
        for _ in range(2):
            skipped = apply(
                catalogue, first, second, first, Record("a.jpg", "forest", ("tree",)), Record("a.jpg", split="test")
            )
            assert skipped == [
                "a.jpg: the row repeats an earlier row, so it is counted once",
                "a.jpg: the class is 'forest' here but 'coast' in an earlier row; the earlier row counts",
                "a.jpg: the split is 'test' here but 'train' in an earlier row; the earlier row counts",
            ]
            picture = catalogue.picture("a.jpg")
            assert picture is not None
            assert (picture.caption, picture.split, class_of(catalogue, "a.jpg")) == (
                "a boat\nthe sky",
                "train",
                "coast",
            )
            assert tags_of(catalogue, "a.jpg") == ["sea", "sky"]
            assert picture.regions == (Region("sea", 0, 0, 5, 5), Region("sky", 0, 0, 2, 2))

    def test_a_later_import_replaces_class_caption_and_regions_but_not_a_persons_word(
        self, catalogue: Catalogue
    ) -> None:
        fill(catalogue, "a.jpg", "b.jpg")
        box = Region("sea", 0, 0, 5, 5)
        both = [Record(name, "coast", ("sea",), "first", regions=(box,)) for name in ("a.jpg", "b.jpg")]
        apply(catalogue, *both)
        apply(catalogue, Record("a.jpg", "street", caption="a person's"), source=PERSON)
        apply(catalogue, *(Record(name, "forest", caption="next", regions=(box, box)) for name in ("a.jpg", "b.jpg")))
        assert [class_of(catalogue, name) for name in ("a.jpg", "b.jpg")] == ["street", "forest"]
        assert [picture.caption for picture in catalogue.pictures()] == ["a person's", "next"]
        assert [len(picture.regions) for picture in catalogue.pictures()] == [2, 2]

    def test_applying_the_same_again_writes_nothing(self, catalogue: Catalogue, tmp_path: Path) -> None:
        fill(catalogue, "a.jpg", "b.jpg")
        record = Record("a.jpg", "coast", ("sea", "sky"), "a boat", "train", (Region("sea", 0, 0, 5, 5),))
        apply(catalogue, record)
        before = catalogue._connection.total_changes
        assert apply(catalogue, record) == []
        assert catalogue._connection.total_changes == before

    def test_an_error_in_the_source_takes_everything_back(self, catalogue: Catalogue) -> None:
        fill(catalogue, "a.jpg", "b.jpg")

        def records() -> Iterator[Record]:
            yield Record("a.jpg", "coast", ("sea",))
            raise InputError("the file ends in the middle")

        with pytest.raises(InputError, match="in the middle"):
            catalogue.apply(records(), base=catalogue.root, reading=Reading("labels", "test"))
        assert class_of(catalogue, "a.jpg") is None
        assert catalogue.vocabulary("tag") == []

    def test_a_name_in_another_unicode_form_is_the_same_file(self, catalogue: Catalogue) -> None:
        name = unicodedata.normalize("NFD", "café.jpg")
        fill(catalogue, name)
        assert apply(catalogue, Record(unicodedata.normalize("NFC", name), tags=("cafe\u0301",))) == []
        assert tags_of(catalogue, name) == ["café"]

    def test_captions_become_tags(self, catalogue: Catalogue) -> None:
        class Words:
            def tags(self, captions: Iterator[str]) -> list[list[str]]:
                return [caption.split() for caption in captions]

        fill(catalogue, "a.jpg", "b.jpg", "c.jpg")
        apply(catalogue, Record("a.jpg", caption="boat sea"), Record("c.jpg", caption="sea"))
        assert catalogue.derive_tags(Words()) == 3
        assert [tags_of(catalogue, name) for name in ("a.jpg", "b.jpg", "c.jpg")] == [["boat", "sea"], [], ["sea"]]


class TestWhole:
    def test_truth_is_what_people_and_imports_say_of_readable_pictures(self, catalogue: Catalogue) -> None:
        a, b, c = fill(catalogue, "a.jpg", "b.jpg", "c.jpg")
        catalogue.add([examined(catalogue.root / "broken.jpg", "broken", reason="damaged")])
        apply(
            catalogue, Record("a.jpg", "coast", ("sky", "sea"), split="train"), Record("broken.jpg", "street", ("x",))
        )
        catalogue.label(b, "tag", "sea")
        catalogue.label(b, "tag", "sky", state="rejected")
        catalogue.label(a, "tag", "sky", state="rejected")
        catalogue.write_labels(
            [(c, "tag", "sun", "accepted", 0.9), (c, "class", "forest", "accepted", 0.9)], source="model m@1"
        )
        catalogue.mark_missing(["b.jpg"])
        truth = catalogue.truth()
        assert truth.ids.tolist() == [a, b, c]
        assert truth.sha256 == [digest(name) for name in ("a.jpg", "b.jpg", "c.jpg")]
        assert truth.paths == ["a.jpg", None, "c.jpg"]
        assert truth.classes == ["coast", None, None]
        assert truth.splits == ["train", None, None]
        assert truth.tag_names == ["sea", "sky"]
        assert truth.tags.toarray().tolist() == [[1, 0], [1, 0], [0, 0]]
        assert truth.rejected.toarray().tolist() == [[0, 1], [0, 1], [0, 0]]

    def test_truth_has_every_path_of_a_picture(self, catalogue: Catalogue) -> None:
        fill(catalogue, "a.jpg", "b.jpg", "c.jpg")
        for name in ("z.jpg", "d.jpg", "A.jpg", "gone.jpg", "b.jpg"):
            (catalogue.root / name).touch()  # where no file is, another path of the content would be a move
        catalogue.add(examined(catalogue.root / name, "b.jpg") for name in ("z.jpg", "d.jpg", "A.jpg", "gone.jpg"))
        catalogue.mark_missing(["gone.jpg", "c.jpg"])
        truth = catalogue.truth()
        assert truth.paths == ["a.jpg", "A.jpg", None]
        assert truth.copies == {1: ["b.jpg", "d.jpg", "z.jpg"]}

    def test_truth_of_nothing(self, catalogue: Catalogue) -> None:
        truth = catalogue.truth()
        assert len(truth) == 0
        assert truth.tags.shape == (0, 0)

    def test_counts(self, catalogue: Catalogue) -> None:
        fill(catalogue, "a.jpg", "b.jpg")
        catalogue.add([examined(catalogue.root / "broken.jpg", "broken", reason="damaged")])
        apply(catalogue, Record("a.jpg", "coast", ("sea", "sky"), "a boat", "train"), Record("b.jpg", tags=("sea",)))
        counts = catalogue.counts()
        assert (counts.n_pictures, counts.n_ok, counts.n_unreadable, counts.n_paths) == (3, 2, 1, 3)
        assert (counts.n_with_class, counts.n_with_tags, counts.n_with_caption) == (1, 2, 1)
        assert (counts.n_classes, counts.n_tags) == (1, 2)
        assert list(counts.frequent_tags.items()) == [("sea", 2), ("sky", 1)]
        assert (counts.label_sources, counts.splits) == ({"import": 4}, {"train": 1})

    def test_check_finds_broken_references_and_impossible_contents(self, tmp_path: Path) -> None:
        file = tmp_path / "c.sqlite"
        with Catalogue.create(file, root=tmp_path) as catalogue:
            (a,) = fill(catalogue, "a.jpg")
            catalogue.label(a, "class", "coast")
        raw = sqlite3.connect(file)
        raw.execute("INSERT INTO term VALUES (50, 'class', 'forest', 0)")
        raw.execute("INSERT INTO label SELECT picture_id, 50, source_id, state, score, time, sequence, act FROM label")
        raw.execute("UPDATE path SET picture_id = 99")
        raw.commit()
        raw.close()
        with Catalogue.create(file, root=tmp_path) as catalogue:
            problems = catalogue.check()
        assert any("picture that does not exist" in problem for problem in problems)
        assert "1 pictures with two accepted classes from one source" in problems

    def test_check_reports_a_damaged_file(self, tmp_path: Path) -> None:
        file = tmp_path / "c.sqlite"
        with Catalogue.create(file, root=tmp_path) as catalogue:
            fill(catalogue, *(f"{number}.jpg" for number in range(300)))
        data = bytearray(file.read_bytes())
        data[8192:-4096] = b"\xa5" * len(data[8192:-4096])
        file.write_bytes(data)
        try:
            with Catalogue.create(file, root=tmp_path) as catalogue:
                assert catalogue.check()
        except InputError as error:
            assert "damaged" in str(error)  # noqa: PT017 - either answer will do


def test_a_picture_is_found_by_its_hash_without_going_through_all(tmp_path):
    steps = []
    with Catalogue.create(tmp_path / "catalogue.sqlite", root=tmp_path) as catalogue:
        catalogue.add(Examined(f"{tmp_path}/{row}.jpg", f"{row:064x}", 1, 1, 4, 3, 1) for row in range(3000))
        catalogue._connection.set_progress_handler(lambda: steps.append(1) and 0, 1000)
        found = catalogue.picture(f"{17:064x}")
        catalogue._connection.set_progress_handler(None, 0)
    assert found.paths == ("17.jpg",)
    assert len(steps) < 5  # thousands of instructions

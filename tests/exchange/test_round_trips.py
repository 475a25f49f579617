"""Tags of any spelling go out and come back unchanged, in every format."""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visterm.catalogue.pictures import Label, Picture
from visterm.catalogue.records import Reading, Record
from visterm.exchange import FORMATS, export, open_labels
from visterm.postcards import make_postcards
from visterm.workspace import Workspace

STRANGE = [
    "*", "?", "C++", "OR", "AND", "NOT", "-x", "--tag", "a,b", "a;b", "a|b", "a/b", "a\\b", '"quoted"', "'a'", '"',
    '["a", "b"]', "[]", "{}", "null", "true", "nan", "1", "1.0", "=1+1", "@x", "#x", "%", "<b>", "&amp;", "]]>", "a  b",
    "..", "Places|Italy", "tag:x", "class:y", "(a)", "a:b", "\u200d", "é", "e\u0301", "שלום", "🌊", "ß", "İ",
]  # fmt: skip
NAMES = st.sampled_from(STRANGE) | st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufffe\uffff"),
    min_size=1,
    max_size=12,
).map(str.strip).filter(bool)
SUFFIXES = {"coco": "json"}


def picture(number: int, tags: list[str], class_name: str | None, caption: str | None) -> Picture:
    labels = tuple(Label(tag, "person", "accepted", None, "") for tag in tags)
    class_label = None if class_name is None else Label(class_name, "person", "accepted", None, "")
    return Picture(
        id=number,
        sha256=f"{number:064x}",
        paths=(f"{number}.jpg",),
        size=1,
        width=40,
        height=30,
        orientation=1,
        state="ok",
        reason=None,
        split=None,
        caption=caption,
        class_label=class_label,
        classes=() if class_label is None else (class_label,),
        tags=labels,
        regions=(),
        missing=False,
    )


def read_back(
    folder: Path, format: str, pictures: list[Picture]
) -> dict[str, tuple[list[str], str | None, str | None]]:
    """What a reader finds after ``pictures`` were exported."""
    if format == "xmp":
        for item in pictures:
            (folder / item.paths[0]).touch()
        export(pictures, folder, "xmp")
        reading, _, records = open_labels(folder, "xmp")
    else:
        file = folder / f"labels.{SUFFIXES.get(format, format)}"
        export(pictures, file, format)
        reading, _, records = open_labels(file)
    found = {record.path: (sorted(record.tags), record.class_name, record.caption) for record in records}
    assert reading.skips == []
    return found


@pytest.mark.parametrize("format", FORMATS)
@given(
    rows=st.lists(
        st.tuples(st.lists(NAMES, min_size=1, max_size=5, unique=True), st.none() | NAMES, st.none() | NAMES),
        max_size=3,
    )
)
@settings(max_examples=40, deadline=None)
def test_labels_come_back_as_they_were(format: str, rows: list[tuple[list[str], str | None, str | None]]) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    pictures = [picture(number, *row) for number, row in enumerate(rows, start=1)]
    with TemporaryDirectory() as folder:
        found = read_back(Path(folder), format, pictures)
    assert found == {f"{number}.jpg": (sorted(tags), *others) for number, (tags, *others) in enumerate(rows, start=1)}


@pytest.mark.parametrize("format", FORMATS)
def test_every_strange_tag_comes_back(tmp_path: Path, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    pictures = [picture(1, STRANGE, "a,b", None), *(picture(n, [tag], tag, tag) for n, tag in enumerate(STRANGE, 2))]
    found = read_back(tmp_path, format, pictures)
    assert found["1.jpg"] == (sorted(STRANGE), "a,b", None)
    for number, tag in enumerate(STRANGE, start=2):
        assert found[f"{number}.jpg"][:2] == ([tag], tag)


@pytest.mark.parametrize("format", FORMATS)
def test_strange_tags_travel_from_one_workspace_to_another(tmp_path: Path, format: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    folder = tmp_path / "pictures"
    make_postcards(folder, 2)
    (folder / "metadata.jsonl").unlink()
    names = ["*", "?", "C++", "OR", "-x", "a,b", '"quoted"', "it's"]
    file = folder / f"labels.{SUFFIXES.get(format, format)}"

    def said(photos: Workspace) -> list[list[str]]:
        return [sorted(tag.name for tag in found.tags) for found in photos.catalogue.pictures()]

    with Workspace.create(tmp_path / "first") as first, Workspace.create(tmp_path / "second") as second:
        first.add([folder])
        first.label([item.sha256 for item in first.catalogue.pictures()], tags=names, new=True)
        second.add([folder])
        with Workspace.create(
            folder
        ) as third:  # its paths are relative to the folder, so that tables can be read there
            third.add()
            third.label([item.sha256 for item in third.catalogue.pictures()], tags=names, new=True)
            third.export(folder if format == "xmp" else file, format=format)
        second.add([folder], labels=[] if format == "xmp" else [file])
        assert said(second) == said(first) == [sorted(names)] * 2


FORMULAS = ("=1+1", "+49 30 1", "-1", "@SUM(A1)", "\t=1", "'=1", "''", "'quoted'", "plain", "=cmd|' /C calc'!A0")


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_no_cell_is_a_formula_and_all_come_back(tmp_path, format):
    """A spreadsheet takes a cell that begins with one of these signs for a program."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(len(FORMULAS)):
        Image.new("RGB", (20, 10), (20 * number, 0, 0)).save(folder / f"={number}.png")
    with Workspace.create(folder) as photos:
        photos.add()
        for number, text in enumerate(FORMULAS):
            photos.label([folder / f"={number}.png"], class_name=text, tags=[text], new=True)
        photos.catalogue.apply(
            [Record(f"={number}.png", caption=text) for number, text in enumerate(FORMULAS)],
            base=folder,
            reading=Reading("captions", "captions"),
        )
        file = folder / f"labels.{format}"
        photos.export(file)
        said = [(p.paths, p.class_label.name, [t.name for t in p.tags], p.caption) for p in photos.catalogue.pictures()]
    with file.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t" if format == "tsv" else ","))
    assert len(rows) == 1 + len(FORMULAS)
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    with Workspace.create(folder / "other") as photos:
        photos.add([folder])
        photos.add([folder], labels=[file])
        back = [(p.paths, p.class_label.name, [t.name for t in p.tags], p.caption) for p in photos.catalogue.pictures()]
    assert [row[1:] for row in back] == [row[1:] for row in said]

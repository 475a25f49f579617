from __future__ import annotations

import sys

import pytest

from visterm.catalogue.records import Record, Region
from visterm.errors import InputError, MissingExtraError
from visterm.exchange.readers import READERS

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write(path, columns):
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def test_rows_become_records(read, tmp_path):
    path = write(
        tmp_path / "a.parquet",
        {
            "file_name": ["1.jpg", "2.jpg", None],
            "Label": ["coast", None, "x"],
            "tags": [["sea", "a, b"], None, []],
            "caption": [None, "A boat.", None],
            "regions": [[{"name": "boat", "box": [1.0, 2.0, 3.0, 4.0]}], None, None],
            "other": [1, 2, 3],
        },
    )
    records, reading = read("parquet", path)
    assert records == [
        Record("1.jpg", "coast", ("sea", "a, b"), regions=(Region("boat", 1, 2, 3, 4),)),
        Record("2.jpg", caption="A boat."),
    ]
    assert [str(item) for item in reading.skips] == ["a.parquet, row 3: it has no file_name"]
    assert READERS["parquet"].detect(path)
    assert READERS["parquet"].base(path) == tmp_path


def test_invalid_text_costs_its_row(read, tmp_path):
    names = pyarrow.Array.from_buffers(
        pyarrow.string(),
        2,
        [None, pyarrow.py_buffer(b"\0\0\0\0\5\0\0\0\12\0\0\0"), pyarrow.py_buffer(b"1.jpg\xff.jpg")],
    )
    records, reading = read("parquet", write(tmp_path / "a.parquet", {"file_name": names}))
    assert records == [Record("1.jpg")]
    assert reading.skips[0].where == "a.parquet, row 2"


def test_another_content_is_refused(read, tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read("parquet", tmp_path / "a.parquet")
    pictures = write(tmp_path / "b.parquet", {"image": [{"bytes": b"x", "path": "1.jpg"}]})
    with pytest.raises(InputError, match="no text column 'file_name'"):
        read("parquet", pictures)


def test_missing_extra_is_named(read, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"visterm\[parquet\]"):
        read("parquet", tmp_path / "a.parquet")


def test_a_column_whose_name_is_no_text_is_refused(read, tmp_path):
    path = write(tmp_path / "a.parquet", {"file_name": ["1.jpg"], "strange": [1]})
    data = path.read_bytes()
    assert b"strange" in data
    path.write_bytes(data.replace(b"strange", b"str\xff\xfege"))
    with pytest.raises(InputError, match="name of a column is not valid UTF-8"):
        read("parquet", path)


def test_a_value_that_python_cannot_express_costs_one_line(read, tmp_path):
    moments = pyarrow.array([2**62, 0], pyarrow.timestamp("ms"))
    records, reading = read(
        "parquet", write(tmp_path / "a.parquet", {"file_name": ["1.jpg", "2.jpg"], "class": moments})
    )
    assert [record.path for record in records] == ["2.jpg"]
    assert "row 1: a value cannot be read" in str(reading.skips[0])

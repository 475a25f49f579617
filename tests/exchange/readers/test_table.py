from __future__ import annotations

import csv
import json
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from visterm.catalogue.records import Reading, Record, Region
from visterm.errors import InputError
from visterm.exchange.readers import READERS, open_labels

LABELS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), max_size=20).map(str.strip)
TAGS = st.lists(LABELS.filter(bool), unique=True, max_size=4)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'file_name,class,tags,caption,split\nx/1.jpg,coast,"sea, sky",A boat.,training\n'),
        ("a.csv", "Path;Label;Keywords;Text;Split\nx/1.jpg;coast;sea|sky;A boat.;train\n"),
        ("a.tsv", "image\tclass\ttags\tdescription\tsplit\nx\\1.jpg\tcoast\tsea;sky\tA boat.\ttrain\n"),
        (
            "a.csv",
            '\ufefffile_name,extra,class,tags,caption,split\r\nx/1.jpg,7,coast,"[""sea"",""sky""]",A boat.,train',
        ),
        ("a.jsonl", '{"file_name":"x/1.jpg","label":"coast","tags":["sea","sky"],"text":"A boat.","split":"TRAIN"}'),
        ("a.ndjson", '\n{"file":"x/1.jpg","class":"coast","keywords":"sea,sky","caption":["A boat."],"split":"train"}'),
    ],
)
def test_same_row_in_every_dress(read, tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    records, reading = read("table", path)
    assert records == [Record("x/1.jpg", "coast", ("sea", "sky"), "A boat.", "train")]
    assert reading.skips == []
    assert READERS["table"].detect(path)
    assert READERS["table"].base(path) == tmp_path


def test_items_of_a_list_are_never_split(read, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"file_name": "1.jpg", "tags": ["salt, pepper", "a|b", " ", null, "salt, pepper", 7]}')
    records, reading = read("table", path)
    assert records[0].tags == ("salt, pepper", "a|b", "7")
    assert not reading.skips


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ("sea, sky", ("sea", "sky")),
        ("salt, pepper; sea", ("salt, pepper", "sea")),
        ("a; b, c | d", ("a; b, c", "d")),
        ('["a|b", "c, d"]', ("a|b", "c, d")),
        ("[sea, sky", ("[sea", "sky")),
        ('{"a": 1}', ('{"a": 1}',)),
        (" ; ;", ()),
    ],
)
def test_tags_in_one_cell(read, tmp_path, cell, tags):
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["file_name", "tags"], ["1.jpg", cell]])
    assert read("table", tmp_path / "a.csv")[0] == [Record("1.jpg", tags=tags)]


def test_regions(read, tmp_path):
    box = {"name": "boat", "box": [1, 2.5, 30, 40]}
    bad = [
        {"name": "boat", "box": [1, 2, float("nan"), 4]},
        {"name": "boat", "box": [1, 2, 10**400, 4]},
        {"name": "boat", "box": [5, 2, 1, 4]},
        {"name": "boat", "box": [5, 2]},
        {"name": "boat", "box": "wide"},
        {"name": "boat", "box": [1, 2, None, 4]},
        {"name": "", "box": [1, 2, 3, 4]},
        {"box": [1, 2, 3, 4]},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"file_name": "1.jpg", "regions": [box, *bad]}))
    records, reading = read("table", path)
    assert records == [Record("1.jpg", regions=(Region("boat", 1, 2.5, 30, 40),))]
    assert len(reading.skips) == len(bad)
    assert all("region" in item.reason for item in reading.skips)

    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["file_name", "regions"], ["1.jpg", json.dumps([box])], ["2.jpg", ""], ["3.jpg", "{"]]
        )
    records, reading = read("table", tmp_path / "a.csv")
    assert [len(record.regions) for record in records] == [1, 0]
    assert reading.skips[0].where == "a.csv, line 4"


def test_reading_is_lazy(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"file_name": "1.jpg"}\n' * 3 + "not JSON\n")
    reading = Reading(str(path), "table")
    records = READERS["table"].read(path, reading)
    assert list(islice(records, 3)) == [Record("1.jpg")] * 3
    assert reading.skips == []
    assert list(records) == []
    assert len(reading.skips) == 1


def test_bad_lines_cost_themselves_only(read, tmp_path):
    good = b'{"file_name": "1.jpg", "tags": ["sea"]}\n'
    bad = [
        b"{broken\n",
        b"[1, 2]\n",
        b'{"tags": ["no name"]}\n',
        b'{"file_name": 3}\n',
        b'{"file_name": "a\\u0000.jpg"}\n',
        b'{"file_name": "a\\ud800.jpg"}\n',
        b'{"file_name": "caf\xe9.jpg"}\n',
        b'{"file_name": "1.jpg", "tags": {"sea": 1}}\n',
        b'{"file_name": "1.jpg", "regions": [3]}\n',
        b"[" * 100_000 + b"\n",
        b'{"file_name": "1.jpg", "n": ' + b"9" * 5000 + b"}\n",
        b'{"file_name": "' + b"a" * 2**20 + b'.jpg"}\n',
    ]
    path = tmp_path / "a.jsonl"
    path.write_bytes(good + b"".join(line + good for line in bad))
    records, reading = read("table", path)
    assert records == [Record("1.jpg", tags=("sea",))] * (len(bad) + 1)
    assert [item.where for item in reading.skips] == [f"a.jsonl, line {2 * i + 2}" for i in range(len(bad))]
    assert all("\n" not in str(item) for item in reading.skips)


def test_bad_values_cost_themselves_only(read, tmp_path):
    path = tmp_path / "a.jsonl"
    row = {
        "file_name": "1.jpg",
        "class": ["coast"],
        "caption": 3,
        "tags": ["sea\x00\x1b", "x" * 1001, ["nested"], "\ud800"],
    }
    path.write_text(json.dumps(row))
    records, reading = read("table", path)
    assert records == [Record("1.jpg", tags=("sea",))]
    assert sorted(item.reason.partition(":")[0] for item in reading.skips) == ["caption", "class", "tag", "tag"]


def test_csv_oddities(read, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(
        b"file_name,class,caption\n"
        b'1.jpg,coast,"two\nlines"\n'
        b"\n"
        b"2.jpg\n"
        b"3.jpg,coast,sea,sky\n"
        b"4.jpg,coast,sea,,\n"
        b",coast,sea\n"
        b"5.jpg,caf\xe9,sea\n"
        b'"6.jpg" x,coast,sea\n'
        b'7.jpg,"coast,never closed\n'
        b"8.jpg,coast,sea\n" + b"9.jpg," + b"x" * 2**20 + b"\n"
        b'10.jpg,coast,"again never closed\n'
        b"11.jpg,coast,sea\n"
    )
    records, reading = read("table", path)
    assert [record.path for record in records] == [f"{n}.jpg" for n in (1, 2, 4, 8, 11)]
    assert records[0].caption == "two\nlines"
    lines = sorted(int(item.where.rpartition(" ")[2]) for item in reading.skips if "characters" not in item.reason)
    assert lines == [6, 8, 9, 10, 11, 14]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "no column 'file_name'"),
        ("a.csv", b"x,y\n1,2\n", "no column 'file_name'.*'x', 'y'"),
        ("a.csv", bytes(range(256)) * 50, "no column 'file_name'"),
        ("a.csv", b"x" * 200_000 + b"\n", "the first line cannot be read"),
        ("a.jsonl", b"\x89PNG\r\n\x1a\n" + b"{\n" * 1000, "not JSON lines"),
        ("a.jsonl", b"one\ntwo\n", "not JSON lines"),
    ],
)
def test_another_format_is_refused(read, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read("table", tmp_path / name)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_every_way_of_saving_a_table_is_read(read, tmp_path, encoding, newline, delimiter):
    rows = [("file_name", "tags", "caption"), ("1.jpg", "Łódź|Ċ", "A\u0a0d boat"), ("2.jpg", "sea", "")]
    text = newline.join(delimiter.join(row) for row in rows) + newline
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    records, reading = read("table", tmp_path / "a.csv")
    assert records == [Record("1.jpg", tags=("Łódź", "Ċ"), caption="A\u0a0d boat"), Record("2.jpg", tags=("sea",))]
    assert reading.skips == []
    lines = newline.join(json.dumps({"file_name": name, "tags": [tags]}) for name, tags, _ in rows[1:])
    (tmp_path / "a.jsonl").write_bytes(lines.encode(encoding))
    assert [record.tags for record in read("table", tmp_path / "a.jsonl")[0]] == [("Łódź|Ċ",), ("sea",)]


def test_a_line_feed_inside_a_table_of_carriage_returns(read, tmp_path):
    (tmp_path / "a.csv").write_bytes(b'file_name,caption\r1.jpg,"two\nlines"\r2.jpg,one\r')
    records, reading = read("table", tmp_path / "a.csv")
    assert [record.caption for record in records] == ["two\nlines", "one"]
    assert reading.skips == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_damage_in_utf16_costs_one_line(read, tmp_path, encoding):
    text = "file_name\n1.jpg\n".encode(encoding) + "\ud800x\n".encode(encoding, "surrogatepass")
    (tmp_path / "a.csv").write_bytes(text + "2.jpg\n".encode(encoding) + b"x")
    records, reading = read("table", tmp_path / "a.csv")
    assert [record.path for record in records] == ["1.jpg", "2.jpg"]
    assert [str(item) for item in reading.skips] == [
        f"a.csv, line {number}: not valid {encoding.upper()}: save the file as UTF-8" for number in (3, 5)
    ]


def test_empty_json_lines_say_nothing(read, tmp_path):
    (tmp_path / "a.jsonl").write_text("\n\n")
    assert read("table", tmp_path / "a.jsonl")[0] == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(LABELS, TAGS, LABELS), max_size=5), delimiter=st.sampled_from(",;\t"))
def test_what_csv_and_json_write_reads_back(read, tmp_path, rows, delimiter):
    expected = [
        Record(f"{i}.jpg", class_name or None, tuple(tags), caption or None)
        for i, (class_name, tags, caption) in enumerate(rows)
    ]
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, delimiter=delimiter)
        table.writerow(["file_name", "class", "tags", "caption"])
        table.writerows([r.path, r.class_name, json.dumps(r.tags, ensure_ascii=False), r.caption] for r in expected)
    with (tmp_path / "a.jsonl").open("w", encoding="utf-8") as file:
        for r in expected:
            row = {"file_name": r.path, "class": r.class_name, "tags": r.tags, "caption": r.caption}
            file.write(json.dumps(row) + "\n")
    for name in ("a.csv", "a.jsonl"):
        records, reading = read("table", tmp_path / name)
        assert records == expected
        assert reading.skips == []


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300), name=st.sampled_from(["a.csv", "a.jsonl"]))
def test_any_bytes_give_records_or_one_named_error(read, tmp_path, content, name):
    (tmp_path / name).write_bytes((b"file_name,tags\n" if name == "a.csv" else b'{"file_name": "1.jpg"}\n') + content)
    records, _ = read("table", tmp_path / name)
    for record in records:
        "\n".join([record.path, *record.tags]).encode()


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    """Which of the two counts, nobody knows."""
    file = tmp_path / "labels.csv"
    for header in ("file_name,class,Class", "file_name,tags,class,TAGS", "file_name,file_name,class"):
        file.write_text(f"{header}\na.jpg,coast,beach,sea\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"the column '\w+' is there twice"):
            list(open_labels(file)[2])
    file.write_text("file_name,notes,notes,class\na.jpg,1,2,coast\n", encoding="utf-8")  # of no importance
    assert [record.class_name for record in open_labels(file)[2]] == ["coast"]

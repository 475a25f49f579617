from __future__ import annotations

import os
import subprocess
import sys

import pytest

from visterm.catalogue.records import Record
from visterm.errors import InputError
from visterm.exchange.readers import READERS, find_labels, open_labels

VOC = "<annotation><filename>1.jpg</filename><object><name>dog</name><bndbox/></object></annotation>"


def test_every_reader_has_the_same_shape():
    for reader in READERS.values():
        assert all(callable(getattr(reader, function)) for function in ("detect", "read", "base"))
    with pytest.raises(KeyError):
        READERS["os"]


def test_readers_are_imported_when_needed():
    code = (
        "import sys; from visterm.exchange.readers import hvecs, ldac, parquet, voc; "
        "print(sorted({'numpy', 'pyarrow', 'defusedxml', 'visterm.exchange.readers.coco'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "[]"


def test_nothing_makes_detection_fail(tmp_path):
    (tmp_path / "a.json").write_bytes(b"\x00\xff" * 100)
    (tmp_path / "a.xml").write_bytes(b"\x00\xff" * 100)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path, tmp_path / "a.json", tmp_path / "a.xml", tmp_path / "missing", tmp_path / "loop"):
        assert not any(reader.detect(path) for reader in READERS.values())


def test_the_format_is_recognised_and_counted(tmp_path):
    (tmp_path / "labels.csv").write_text("file_name,class,tags\n1.jpg,coast,sea;sky\n,,x\n")
    reading, base, records = open_labels(tmp_path / "labels.csv")
    assert (reading.format, base) == ("table", tmp_path)
    assert list(records) == [Record("1.jpg", "coast", ("sea", "sky"))]
    assert (reading.pictures, dict(reading.class_names), reading.skipped) == (1, {"coast": 1}, 1)
    assert reading.tag_names == {"sea": 1, "sky": 1}

    (tmp_path / "xml").mkdir()
    (tmp_path / "xml" / "1.xml").write_text(VOC)
    assert open_labels(tmp_path / "xml")[0].format == "voc"

    (tmp_path / "pictures" / "coast").mkdir(parents=True)
    (tmp_path / "pictures" / "coast" / "1.jpg").touch()
    assert open_labels(tmp_path / "pictures")[0].format == "folders"
    (tmp_path / "pictures" / "coast" / "1.txt").write_text("A boat.")
    assert open_labels(tmp_path / "pictures")[0].format == "captions"
    assert open_labels(tmp_path / "pictures", "folders")[0].format == "folders"


def test_refusals_say_what_to_do(tmp_path):
    with pytest.raises(InputError, match="no file or folder"):
        open_labels(tmp_path / "missing.csv")
    (tmp_path / "a.xyz").touch()
    with pytest.raises(InputError, match=r"was not recognised: choose one of table, .*folders"):
        open_labels(tmp_path / "a.xyz")
    with pytest.raises(InputError, match=r"unknown label format 'yaml': choose one of table"):
        open_labels(tmp_path / "a.xyz", "yaml")
    with pytest.raises(InputError, match="cannot read"):
        list(open_labels(tmp_path, "coco")[2])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(tmp_path):
    (tmp_path / "a.csv").touch(mode=0)
    with pytest.raises(InputError, match=r"cannot read .*Permission denied"):
        list(open_labels(tmp_path / "a.csv")[2])


def test_labels_that_lie_with_the_pictures(tmp_path):
    for name in ("coast/1.jpg", "coast/metadata.jsonl", "metadata.csv", "other.csv", "a.json", ".x/metadata.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "coast" / "metadata.csv")
    tables = [(tmp_path / "metadata.csv", "table"), (tmp_path / "coast" / "metadata.jsonl", "table")]
    inside = (tmp_path, "xmp")
    assert find_labels(tmp_path) == [*tables, inside]
    (tmp_path / "coast" / "1.txt").write_text("A boat.")
    assert find_labels(tmp_path) == [*tables, (tmp_path, "captions"), inside]
    assert find_labels(tmp_path / "missing") == []


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "labels.csv")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        open_labels(tmp_path / "labels.csv", "table")

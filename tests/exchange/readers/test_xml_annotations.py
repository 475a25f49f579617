"""Pascal VOC and LabelMe, which share the shape of a file for each picture."""

from __future__ import annotations

import pytest

from visterm.catalogue.records import Record, Region
from visterm.errors import InputError
from visterm.exchange.readers import READERS

VOC = """<?xml version="1.0"?><annotation><folder>VOC2007</folder><filename>1.jpg</filename>
<object><name> dog </name><bndbox><xmin>48</xmin><ymin>0</ymin><xmax>195</xmax><ymax>371.5</ymax></bndbox>
<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></part></object>
<object><name>dog</name></object></annotation>"""
LABELME = """<annotation><filename>\n1.jpg\n</filename><folder>\ncoast\n</folder>
<object><name>\ntall building\n</name><deleted>0</deleted><polygon><username>u</username>
<pt><x>10</x><y>20</y></pt><pt><x>30</x><y>5</y></pt><pt><x>12</x><y>44.5</y></pt></polygon></object>
<object><name>car</name><deleted>1</deleted><polygon><pt><x>1</x><y>1</y></pt></polygon></object></annotation>"""
BOMB = """<!DOCTYPE a [<!ENTITY b "xx"><!ENTITY c "&b;&b;">]><annotation><filename>&c;</filename></annotation>"""


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_voc(read, tmp_path):
    path = write(tmp_path / "Annotations" / "1.xml", VOC)
    expected = Record("1.jpg", tags=("dog",), regions=(Region("dog", 47, 0, 195, 371.5),))
    for where in (path, path.parent):
        assert read("voc", where)[0] == [expected]
        assert READERS["voc"].detect(where)
        assert not READERS["labelme"].detect(where)
        assert READERS["voc"].base(where) == path.parent
    (tmp_path / "JPEGImages").mkdir()
    assert READERS["voc"].base(path) == READERS["voc"].base(path.parent) == tmp_path / "JPEGImages"


def test_voc_subfolders_name_pictures_beside_their_files(read, tmp_path):
    write(tmp_path / "sub" / "1.xml", VOC)
    assert read("voc", tmp_path)[0][0].path == "sub/1.jpg"


def test_labelme(read, tmp_path):
    path = write(tmp_path / "Annotations" / "coast" / "1.xml", LABELME)
    region = Region("tall building", 10, 5, 30, 44.5)
    expected = Record("coast/1.jpg", tags=("tall building",), regions=(region,))
    assert read("labelme", tmp_path / "Annotations")[0] == [expected]
    assert READERS["labelme"].base(tmp_path / "Annotations") == tmp_path / "Annotations"
    assert read("labelme", path)[0][0].path == "1.jpg"
    (tmp_path / "Images").mkdir()
    for where in (path, path.parent, tmp_path / "Annotations"):
        assert read("labelme", where)[0] == [expected]
        assert READERS["labelme"].base(where) == tmp_path / "Images"
        assert READERS["labelme"].detect(where)
        assert not READERS["voc"].detect(where)


@pytest.mark.parametrize(("format", "content"), [("voc", VOC), ("labelme", LABELME)])
def test_bad_files_cost_one_line_each(read, tmp_path, format, content):
    bad = {
        "bomb": BOMB,
        "cut": content[:-20],
        "empty": "",
        "html": "<html/>",
        "nameless": "<annotation><object><name>x</name></object></annotation>",
        "encoding": '<?xml version="1.0" encoding="no-such"?><annotation/>',
    }
    for name, text in bad.items():
        write(tmp_path / f"{name}.xml", text)
    write(tmp_path / "ok.xml", content)
    records, reading = read(format, tmp_path)
    assert len(records) == 1
    assert sorted(item.where for item in reading.skips) == sorted(f"{name}.xml" for name in bad)
    assert any("EntitiesForbidden" in item.reason for item in reading.skips)
    with pytest.raises(InputError, match="refused for safety"):
        read(format, tmp_path / "bomb.xml")


def test_bad_boxes_keep_the_tag(read, tmp_path):
    box = VOC[VOC.index("<bndbox>") : VOC.index("</bndbox>")]
    for position, value in enumerate(("nan", "1e999", "wide", "")):
        write(tmp_path / "voc" / f"{position}.xml", VOC.replace(box, box.replace("195", value)))
    write(tmp_path / "voc" / "4.xml", VOC.replace("<xmin>48</xmin>", "<xmin>left</xmin>"))
    records, reading = read("voc", tmp_path / "voc")
    assert [(record.tags, record.regions) for record in records] == [(("dog",), ())] * 5
    assert len(reading.skips) == 5

    points = LABELME[LABELME.index("<pt>") : LABELME.index("</polygon>")]
    for position, text in enumerate(("<pt><x>wide</x></pt>", "<pt><x>1</x><y>nan</y></pt>", "<pt/>", "")):
        write(tmp_path / "labelme" / f"{position}.xml", LABELME.replace(points, text))
    records, reading = read("labelme", tmp_path / "labelme")
    assert [(record.tags, record.regions) for record in records] == [(("tall building",), ())] * 4
    assert len(reading.skips) == 4


@pytest.mark.parametrize("format", ["voc", "labelme"])
def test_a_folder_without_annotations_is_refused(read, tmp_path, format):
    write(tmp_path / "a.txt", VOC)
    assert not READERS[format].detect(tmp_path)
    assert not READERS[format].detect(tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"no \.xml files"):
        read(format, tmp_path)

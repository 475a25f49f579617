"""What a command says that it did is what it did: counts, names and reasons."""

from __future__ import annotations

import shutil

# Making a workspace


def test_a_workspace_inside_another_is_told(folder, visterm, visterm_json):
    (folder / "inner").mkdir()
    told = visterm("init", ".", cwd=folder / "inner").stdout
    assert f"note: this is inside the workspace {folder}; commands in this folder use the new one" in told
    assert "note" not in visterm("init", ".", cwd=folder / "inner").stdout  # known already
    assert visterm_json("init", ".", cwd=folder / "inner")["outer"] == str(folder)
    assert visterm_json("init", ".", cwd=folder)["outer"] is None


# Adding


def test_rows_about_one_picture_are_one_picture(folder, visterm, visterm_json):
    rows = ["0.png,sea", "0.png,sky", "1.png,sea", "1.png,sea", "2.png,boat"]
    (folder / "metadata.csv").write_text("\n".join(["file_name,tags", *rows]))
    assert "(table): 3 pictures, 0 classes, 3 tags, 1 skipped" in visterm("add", cwd=folder).stdout
    assert [source["pictures"] for source in visterm_json("add", cwd=folder)["labels"]] == [3]


def test_a_picture_whose_rows_are_all_skipped_is_not_counted(folder, visterm_json):
    (folder / "metadata.csv").write_text("file_name,tags\n0.png,sea\nabsent.png,sea\nabsent.png,sky\n")
    (source,) = visterm_json("add", cwd=folder)["labels"]
    assert (source["pictures"], source["tags"], source["skipped"]) == (1, 1, 2)


def test_a_table_under_another_name_is_told_beside_metadata(folder, visterm, visterm_json):
    (folder / "metadata.csv").write_text("file_name,tags\n0.png,sea\n")
    (folder / "my_labels.csv").write_text("file_name,tags\n1.png,sky\n")
    (folder / "expenses.csv").write_text("day,amount\nMonday,12\n")  # names no picture
    visterm("export", "exported.csv", cwd=folder)  # Visterm's own
    table = str(folder / "my_labels.csv")
    assert f"{table} was not read; if it has labels: visterm add --labels {table}" in visterm("add", cwd=folder).stdout
    assert visterm_json("add", cwd=folder)["tables"] == [table]
    assert visterm_json("add", "--no-look", cwd=folder)["tables"] == []
    assert visterm_json("add", "--labels", "my_labels.csv", cwd=folder)["tables"] == []
    assert visterm_json("add", cwd=folder)["tables"] == []  # known as a source


# History


def test_undo_counts_labels_and_not_the_vocabulary(folder, visterm):
    visterm("label", "0.png", "1.png", "--tag", "marvellous", cwd=folder)
    assert "undone: label 2 pictures: tag marvellous (2 changes, " in visterm("undo", cwd=folder).stdout
    visterm("redo", cwd=folder)
    visterm("vocabulary", "rename", "marvellous", "wonderful", cwd=folder)
    assert "undone: rename tag marvellous to wonderful (20" in visterm("undo", cwd=folder).stdout  # only the time


# Removing


def test_a_removed_copy_is_told_from_a_picture(folder, visterm, visterm_json):
    (folder / "two").mkdir()
    for number in range(3):
        shutil.copy(folder / f"{number}.png", folder / "two")
    visterm("add", cwd=folder)
    rehearsed = visterm("remove", "two/0.png", "--dry-run", cwd=folder).stdout
    assert rehearsed == "1 copy would be forgotten; the picture stays at 0.png; no file was touched\n"
    assert visterm("remove", "two/0.png", cwd=folder).stdout.splitlines() == [
        "1 copy forgotten; the picture stays at 0.png; no file was touched",
        "visterm add leaves it out from now on; --again brings it back",
    ]
    assert "1 file removed earlier; add it with --again" in visterm("add", cwd=folder).stdout
    done = visterm("remove", "two", "0.png", cwd=folder).stdout
    assert "1 picture and 2 copies forgotten; their pictures stay, at 1.png and 1 other place; no file was" in done
    assert "leaves them out" in done
    again = visterm_json("add", "--again", cwd=folder)["files"]
    assert (again["added"], again["unchanged"], again["copies"], again["removed"]) == (1, 2, 3, 0)


# Labelling


def test_clearing_where_there_is_nothing_of_a_person(folder, visterm, visterm_json):
    (folder / "metadata.csv").write_text("file_name,class,tags\n0.png,coast,sea|sky\n1.png,,sea\n")
    visterm("add", cwd=folder)
    visterm("label", "2.png", "--tag", "favourite", cwd=folder)
    said = visterm("label", "0.png", "1.png", "--clear", "tags", cwd=folder).stdout
    assert said.splitlines() == [
        "nothing that you said was there to clear (tags)",
        "an import says this, so it stays: tag sea of 2 pictures, tag sky (--no-tag NAME denies a tag)",
    ]
    said = visterm("label", "0.png", "--clear", "tag:favourite", "--clear", "class", cwd=folder).stdout
    assert said.splitlines() == [
        "nothing that you said was there to clear (tag:favourite, class)",
        "an import says this, so it stays: class coast (--no-tag NAME denies a tag)",
    ]
    done = visterm_json("label", "2.png", "--clear", "tags", "--clear", "class", cwd=folder)
    assert (done["cleared"], done["not_cleared"], done["imported"]) == (1, ["class"], {})


def test_what_was_said_before_is_not_noted_again(folder, visterm, visterm_json):
    visterm("label", "0.png", "--tag", "marvellous", "--class", "coast", cwd=folder)
    assert visterm("label", "0.png", "--tag", "marvellous", cwd=folder).stdout == (
        "you had said this before: tag marvellous\n"
    )
    done = visterm_json("label", "0.png", "1.png", "--tag", "marvellous", "--class", "coast", cwd=folder)
    assert (done["labels"], done["known"]) == (2, {"class coast": 1, "tag marvellous": 1})
    visterm("vocabulary", "rename", "marvellous", "wonderful", cwd=folder)
    done = visterm_json("label", "0.png", "--tag", "marvellous", cwd=folder)
    assert (done["labels"], done["known"], done["action"]) == (0, {"tag marvellous": 1}, None)
    assert visterm("label", "0.png", "--no-tag", "wonderful", cwd=folder).stdout == "1 label noted\n"
    assert visterm_json("label", "0.png", "--no-tag", "wonderful", cwd=folder)["known"] == {"not tag wonderful": 1}


# Exporting


def test_pictures_without_labels_need_no_sidecar(folder, visterm, visterm_json):
    visterm("label", "0.png", "--tag", "sea", cwd=folder)
    planned = visterm("export", "--format", "xmp", "--dry-run", cwd=folder).stdout.splitlines()
    assert planned[0] == "3 pictures: 1 new, 0 merged into existing ones, 0 unchanged, 2 without labels"
    assert planned[-1] == "nothing was written (--dry-run)"
    assert visterm("export", "--format", "xmp", "--yes", cwd=folder).stdout.splitlines()[-1] == (
        "3 pictures, 1 file written, 0 unchanged, 2 without labels"
    )
    again = visterm_json("export", "--format", "xmp", "--yes", cwd=folder)
    assert (again["files"], again["n_unchanged"], again["n_needless"]) == ([], 1, 2)
    assert "nothing was written (--dry-run)" in visterm("export", "labels.csv", "--dry-run", cwd=folder).stdout


# Wrong use


def test_a_share_just_above_one_is_no_percentage(folder, visterm):
    told = visterm("tag", "--precision", "1.5", cwd=folder, code=2).stderr
    assert told == "visterm: --precision is a share between 0 and 1, not 1.5\n"
    assert "did you mean 0.6?" in visterm("tag", "--precision", "60", cwd=folder, code=2).stderr

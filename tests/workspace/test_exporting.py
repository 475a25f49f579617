"""Sidecars through the workspace and the real command line: which, where, and only when a person says so."""

from __future__ import annotations

import pytest
from PIL import Image
from typer.testing import CliRunner

from visterm.errors import InputError
from visterm.faces.cli import app, exporting
from visterm.labels.backups import restore
from visterm.workspace import Workspace


@pytest.fixture
def home(tmp_path):
    """A workspace with pictures in a sub-folder of it, and others outside; all are tagged."""
    for number, folder in enumerate(("home/sub", "home", "outside/one", "outside/two")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 10), (60 * number, 0, 0)).save(tmp_path / folder / "a.png")
    with Workspace.create(tmp_path / "home") as photos:
        photos.add([tmp_path / "home", tmp_path / "outside"])
        photos.label([picture.sha256 for picture in photos.catalogue.pictures()], class_name="dark", tags=["sea"])
    return tmp_path / "home"


def sidecars(home):
    return sorted(file.relative_to(home.parent).as_posix() for file in home.parent.rglob("*.xmp"))


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("home/sub", ["home/sub/a.png.xmp"]),
        ("outside/one", ["outside/one/a.png.xmp"]),
        ("outside", ["outside/one/a.png.xmp", "outside/two/a.png.xmp"]),
        (None, ["home/a.png.xmp", "home/sub/a.png.xmp", "outside/one/a.png.xmp", "outside/two/a.png.xmp"]),
    ],
)
def test_a_folder_limits_the_sidecars(home, folder, expected):
    with Workspace.find(home) as photos:
        done = photos.export(None if folder is None else home.parent / folder, format="xmp")
    assert sidecars(home) == expected
    assert sum(item.sidecars for item in done.folders) == done.n_new == len(expected)


def test_a_folder_without_pictures_of_the_collection_is_refused(home, tmp_path):
    (tmp_path / "strange").mkdir()
    with Workspace.find(home) as photos, pytest.raises(InputError, match=r"no picture in .*strange"):
        photos.export(tmp_path / "strange", format="xmp")


def test_no_sidecar_without_a_yes(home, visterm, visterm_json):
    refused = visterm("export", home.parent / "outside", "--format", "xmp", "-w", home, code=2)
    assert "--yes" in refused.stderr
    assert "--yes" in visterm("export", "--format", "xmp", "--json", "-w", home, code=2).stderr
    planned = visterm("export", home.parent / "outside", "--format", "xmp", "--dry-run", "-w", home)
    assert sidecars(home) == []
    for said in (
        "2 pictures: 2 new, 0 merged into existing ones, 0 unchanged",
        f"1 sidecar in {home.parent / 'outside' / 'one'}",
        "a.png.xmp (new): tags sea; class dark",
    ):
        assert said in planned.stdout
    done = visterm("export", home.parent / "outside", "--format", "xmp", "--yes", "-w", home)
    plan, nothing, rest = planned.stdout.partition("nothing was written (--dry-run)\n")
    assert nothing
    assert not rest
    assert done.stdout.startswith(plan), "the same is shown before it is done"
    assert sidecars(home) == ["outside/one/a.png.xmp", "outside/two/a.png.xmp"]
    again = visterm_json("export", "--format", "xmp", "--yes", "-w", home)
    assert (len(again["files"]), again["n_unchanged"]) == (2, 2)


@pytest.mark.parametrize(("answer", "n_written"), [("y\n", 4), ("n\n", 0)])
def test_a_person_at_a_terminal_is_asked(home, monkeypatch, answer, n_written):
    monkeypatch.setattr(exporting, "at_a_terminal", lambda: True)
    done = CliRunner().invoke(app, ["export", "--format", "xmp", "-w", str(home)], input=answer)
    assert done.exit_code == 0
    assert "Write 4 sidecars?" in done.stderr
    assert len(sidecars(home)) == n_written
    if not n_written:
        assert "nothing was written" in done.stderr


def test_the_exit_code_tells_that_a_sidecar_is_missing(home, visterm):
    long = "n" * 248 + ".png"
    (home / "sub" / "a.png").rename(home / "sub" / long)
    visterm("add", "-w", home)
    done = visterm("export", "--format", "xmp", "--yes", "-w", home, code=1)
    assert "1 cannot be written" in done.stdout
    assert done.stderr.count("shorten the name of the picture") == 1
    assert "Traceback" not in done.stderr
    assert len(sidecars(home)) == 3


def test_only_exported_pictures_are_marked(home, tmp_path):
    """A catalogue from before an export reads its own sidecars, except where it has written them again."""
    with Workspace.find(home) as photos:
        photos.backup(tmp_path / "before.sqlite")
        photos.label(home / "sub" / "a.png", tags="quay")
        photos.label(tmp_path / "outside" / "one" / "a.png", tags="quay")
        photos.export(format="xmp")
    restore(home, tmp_path / "before.sqlite")
    with Workspace.find(home) as photos:
        photos.export(home / "sub", format="xmp")
        photos.add([home, tmp_path / "outside"])
        tags = {
            place: [tag.name for tag in photos.picture(place).tags] for place in (home / "sub/a.png", home / "a.png")
        }
        assert tags == {home / "sub/a.png": ["sea"], home / "a.png": ["sea"]}
        assert [tag.name for tag in photos.picture(tmp_path / "outside/one/a.png").tags] == ["quay", "sea"]


def test_two_ways_to_one_file_are_one_sidecar_planned_and_written(home, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    with Workspace.find(home) as photos:
        assert photos.add([tmp_path / "link"]).files.copies == 2
        plan = photos.export(format="xmp", dry_run=True)
        done = photos.export(format="xmp")
    assert (
        (len(plan.files), plan.n_new, plan.n_unchanged) == (len(done.files), done.n_new, done.n_unchanged) == (4, 4, 0)
    )


def test_a_file_that_no_export_wrote_is_replaced_only_with_a_yes(home, tmp_path, visterm):
    file = tmp_path / "labels.csv"
    file.write_text("my own notes")
    refused = visterm("export", file, "-w", home, code=2)
    assert "labels.csv exists and was not written by an export: name another file, or add --yes" in refused.stderr
    assert "add --yes" in visterm("export", file, "--json", "-w", home, code=2).stderr
    assert "which exists and is replaced" in visterm("export", file, "--dry-run", "-w", home).stdout
    assert file.read_text() == "my own notes"
    visterm("export", file, "--yes", "-w", home)
    assert "file_name,class,tags" in file.read_text()
    visterm("export", file, "-w", home)  # what an export wrote may be replaced by the next one
    file.write_text(file.read_text() + "corrected by hand")
    visterm("export", file, "-w", home, code=2)
    (home / ".visterm" / "exports.json").write_text("[damaged")
    visterm("export", file, "-w", home, code=2)
    file.unlink()
    visterm("export", file, "-w", home)


@pytest.mark.parametrize(("answer", "expected"), [("y\n", "file_name,class,tags"), ("n\n", "my own notes")])
def test_a_person_is_asked_before_a_file_is_replaced(home, tmp_path, monkeypatch, answer, expected):
    file = tmp_path / "labels.csv"
    file.write_text("my own notes")
    monkeypatch.setattr(exporting, "at_a_terminal", lambda: True)
    done = CliRunner().invoke(app, ["export", str(file), "-w", str(home)], input=answer)
    assert (done.exit_code, "Replace it?" in done.stderr) == (0, True)
    assert expected in file.read_text()


def test_no_link_leads_an_export_to_a_file_that_does_not_exist(home, visterm, tmp_path):
    link = home / "a.png.xmp"
    for target in (tmp_path / "planted.xmp", tmp_path / "no-folder" / "planted.xmp", link):
        link.symlink_to(target)
        for option in ("--dry-run", "--yes"):
            said = visterm("export", home, "-f", "xmp", option, "-w", home, code=1).stderr
            assert "a.png.xmp: it is a link to a file that does not exist" in said
        assert link.is_symlink()
        assert not target.exists()
        link.unlink()

"""What people say of pictures: slips are asked about, words can be withdrawn, and nothing is half done."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from visterm.catalogue.records import IMPORT, PERSON
from visterm.errors import InputError
from visterm.exchange import PacketLabels, merge_packet
from visterm.faces.cli import app, labelling
from visterm.labels import NewNameError
from visterm.workspace import Workspace

MODEL = "model ridge-tags@2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(4):
        Image.new("RGB", (8, 8), (60 * number, 9, 200)).save(tmp_path / f"{number}.png")
    return tmp_path


@pytest.fixture
def photos(folder: Path) -> Iterator[Workspace]:
    """Four pictures: an import says beach and boat of the first two, a model suggests for the others."""
    with Workspace.create(folder) as workspace:
        workspace.add()
        ids = [picture.id for picture in workspace.catalogue.pictures()]
        imported = [(ids[0], "class", "beach"), (ids[0], "tag", "boat"), (ids[1], "class", "beach")]
        workspace.catalogue.write_labels([(*row, "accepted", None) for row in imported], source=IMPORT)
        suggested = [
            (ids[2], "class", "beach", 0.6),
            (ids[2], "class", "street", 0.3),
            (ids[2], "tag", "boat", 0.9),
            (ids[3], "tag", "car", 0.8),
            (ids[0], "tag", "car", 0.7),
            (ids[0], "class", "street", 0.9),
        ]
        workspace.catalogue.write_labels([(*row[:3], "suggested", row[3]) for row in suggested], source=MODEL)
        yield workspace
        assert workspace.catalogue.check() == []


def said(photos: Workspace, name: str) -> dict[str, tuple[str, str]]:
    """Every effective label of a picture: its state and its source."""
    picture = photos.picture(name)
    assert picture is not None
    return {label.name: (label.state, label.source) for label in (*picture.classes, *picture.tags)}


# Slips


@pytest.mark.parametrize(
    ("labels", "slip"),
    [
        ({"class_name": "bech"}, ("class", "bech", "beach", 2)),
        ({"class_name": "Beaches"}, ("class", "Beaches", "beach", 2)),
        ({"tags": ["sea", "baot"]}, ("tag", "baot", "boat", 1)),
        ({"no_tags": "boats"}, ("tag", "boats", "boat", 1)),
    ],
)
def test_a_name_like_one_in_use_is_refused_and_nothing_is_changed(photos, folder, labels, slip):
    with pytest.raises(NewNameError, match=f"did you mean '{slip[2]}'") as caught:
        photos.label([folder / "2.png", folder / "3.png"], **labels)
    error = caught.value
    assert (error.kind, error.name, error.near, error.n_pictures) == slip
    assert "--" not in str(error)
    assert "sea" not in said(photos, "2.png")
    photos.label(folder / "2.png", **labels, new=True)
    assert said(photos, "2.png")[slip[1]][1] == PERSON
    photos.label(folder / "3.png", **labels)  # in use now: not asked again


def test_a_name_of_its_own_needs_no_word(photos, folder):
    photos.label(folder / "3.png", class_name="street", tags=["coat", "heirloom", "2019"])
    photos.label(folder / "3.png", tags=["2018", "goat"])  # another number, a word of the dictionary
    assert {"coat", "goat", "2018"} <= set(said(photos, "3.png"))


def test_a_slip_that_was_cleared_is_asked_about_again(photos, folder):
    photos.label(folder / "3.png", tags="baot", new=["baot"])
    photos.label(folder / "3.png", clear="tag:baot")
    with pytest.raises(NewNameError):
        photos.label(folder / "3.png", tags="baot")


def test_a_form_of_a_word_of_the_other_kind_is_asked_about(photos, folder, visterm):
    photos.label(folder / "0.png", tags=["mountains", "coast"])
    with pytest.raises(NewNameError, match=r"did you mean 'mountains' \(a tag of 1 picture\)") as caught:
        photos.label(folder / "1.png", class_name="mountain")
    assert (caught.value.kind, caught.value.near_kind, caught.value.near) == ("class", "tag", "mountains")
    with pytest.raises(NewNameError, match="a class of 2 pictures"):
        photos.label(folder / "1.png", tags="beaches")
    photos.label(folder / "1.png", class_name="coast")  # one word for both kinds is fine
    photos.label(folder / "1.png", class_name="mountain", new=["mountain"])


def test_a_denied_word_that_nobody_uses_is_asked_about(photos, folder, visterm):
    with pytest.raises(NewNameError, match="'sunst' is new: no picture has it, so there is nothing to deny"):
        photos.label(folder / "0.png", no_tags="sunst")
    assert "sunst" not in {use.name for use in photos.vocabulary().tag.terms}
    refused = visterm("label", folder / "0.png", "--no-tag", "sunst", "-w", folder, code=1).stderr
    assert "nothing to deny. If you mean 'sunst', add --new" in refused
    photos.label(folder / "0.png", no_tags="sunst", new=True)
    photos.label(folder / "1.png", tags="sunset")  # a word that is only denied is near to nothing


def test_a_comma_is_asked_about(photos, folder, visterm):
    refused = visterm("label", folder / "0.png", "--tag", "sea, sky", "-w", folder, code=1).stderr
    assert "'sea, sky' has a comma in it: give each name separately (--tag sea --tag sky)." in refused
    assert "add --new" in refused
    visterm("label", folder / "0.png", "--tag", "Bath, Somerset", "--new", "-w", folder)
    assert "Bath, Somerset" in said(photos, "0.png")


def test_a_picture_that_cannot_be_labelled_is_told_why(photos, folder):
    (folder / "broken.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"broken.png is not in the collection yet: add it with visterm add"):
        photos.label(folder / "broken.png", tags="sea")
    (folder / "my album").mkdir()
    with pytest.raises(InputError, match=r"my album is a folder: name the pictures in it, such as '.*my album'/\*"):
        photos.label(folder / "my album", tags="sea")
    photos.add()
    with pytest.raises(InputError, match=r"broken.png cannot be labelled, since it cannot be read: .*Replace the file"):
        photos.label([folder / "0.png", folder / "broken.png"], tags="sea")
    assert "sea" not in said(photos, "0.png")
    assert photos.label(folder / "broken.png", clear="tags").cleared == 0
    with pytest.raises(InputError, match=r"elsewhere/3.png does not exist.*did you mean 3.png\?"):
        photos.label("elsewhere/3.png", tags="sea")
    with pytest.raises(InputError, match=r"nowhere.png does not exist.*: check the name"):
        photos.label("nowhere.png", tags="sea")


def test_the_command_says_how_to_go_on(photos, folder, visterm, visterm_json):
    done = visterm("label", folder / "3.png", "--tag", "baot", "-w", folder, code=1)
    assert "'baot' is new; did you mean 'boat' (1 picture)? If you mean 'baot', add --new" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    visterm("label", folder / "3.png", "--tag", "baot", "-w", folder, "--json", code=1)
    assert visterm_json("label", folder / "3.png", "--tag", "baot", "--new", "-w", folder)["labels"] == 1


@pytest.mark.parametrize(
    ("answers", "found", "code"),
    [
        ("use\n", {"boat"}, 0),
        ("what\nu\n", {"boat"}, 0),
        ("make\n", {"baot"}, 0),
        ("stop\n", set(), 1),
        ("", set(), 1),
    ],
)
def test_a_person_at_a_terminal_is_asked(photos, folder, monkeypatch, answers, found, code):
    monkeypatch.setattr(labelling, "at_a_terminal", lambda: True)
    arguments = ["label", str(folder / "1.png"), "--tag", "baot", "-w", str(folder)]
    done = CliRunner().invoke(app, arguments, input=answers)
    assert done.exit_code == code
    assert done.exception is None or isinstance(done.exception, SystemExit)  # a traceback has exit code 1, too
    assert "[use boat / make baot / stop]" in done.stderr
    assert ("type use, make or stop:" in done.stderr) == answers.startswith("what")
    assert set(said(photos, "1.png")) == {"beach", *found}


# Withdrawing, accepting


def test_what_is_cleared_lets_others_count_again(photos, folder):
    photos.label(folder / "0.png", class_name="street", tags=["sea", "car"], no_tags=["boat"])
    done = photos.label(folder / "0.png", clear=["class", "tag:boat", "tag:car"])
    assert (done.labels, done.cleared) == (0, 3)
    assert said(photos, "0.png") == {
        "beach": ("accepted", IMPORT),
        "street": ("suggested", MODEL),
        "boat": ("accepted", IMPORT),
        "car": ("suggested", MODEL),
        "sea": ("accepted", PERSON),
    }
    assert photos.label([folder / "0.png", folder / "1.png"], clear="tags", tags="sky").cleared == 1
    assert {"sky", "boat"} <= set(said(photos, "0.png"))
    assert "sea" not in said(photos, "0.png")


def test_clearing_is_not_denying_and_touches_no_other_source(photos, folder):
    before = said(photos, "0.png")
    assert photos.label(folder / "0.png", clear=["class", "tags"]).cleared == 0
    assert said(photos, "0.png") == before


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"clear": "colour"}, "cannot be cleared"),
        ({"clear": "tag:"}, "cannot be cleared"),
        ({"clear": "tag:yacht"}, "no tag 'yacht'"),
        ({"tags": "sea", "no_tags": " sea"}, "both given and denied"),
        ({}, "say what to note"),
    ],
)
def test_what_makes_no_sense_is_refused(photos, folder, wrong, reason):
    with pytest.raises(InputError, match=reason) as caught:
        photos.label(folder / "0.png", **wrong)
    assert "--" not in str(caught.value)


def test_suggestions_become_a_persons_words(photos, folder):
    done = photos.label([folder / f"{number}.png" for number in (0, 2, 3)], accept=True, no_tags="car")
    assert (done.labels, done.accepted) == (5, 2)  # what is denied is not accepted, too
    assert done.taken == {"class beach": 1, "tag boat": 1}
    # an import had decided the class of the first picture
    assert said(photos, "0.png")["beach"] == ("accepted", IMPORT)
    assert said(photos, "0.png")["street"] == ("suggested", MODEL)
    assert said(photos, "2.png")["beach"] == said(photos, "2.png")["boat"] == ("accepted", PERSON)
    assert said(photos, "2.png")["street"] == ("suggested", MODEL)
    assert said(photos, "3.png")["car"] == ("rejected", PERSON)  # denied in the same breath
    assert photos.label(folder / "2.png", accept=True).labels == 0


@pytest.mark.parametrize("order", [("beach", "street"), ("street", "beach")])
@pytest.mark.parametrize("score", [0.5, 0.0, None])
def test_of_equally_likely_classes_the_first_by_name_is_accepted_and_exported(photos, folder, order, score):
    """docs/guide.md, whichever was suggested last, and whatever both are worth."""
    number = photos.picture("3.png").id
    for name in order:
        photos.catalogue.write_labels([(number, "class", name, "suggested", score)], source=f"model of-{name}@1")
    photos.export(folder / "labels.jsonl")
    rows = map(json.loads, (folder / "labels.jsonl").read_text().splitlines())
    assert {row["suggested_class"] for row in rows if row["file_name"] == "3.png"} == {"beach"}
    assert photos.label(folder / "3.png", accept=True).taken["class beach"] == 1


def test_a_class_of_unknown_probability_is_the_last_to_be_accepted(photos, folder):
    number = photos.picture("3.png").id
    for name, score in (("beach", None), ("street", 0.0)):
        photos.catalogue.write_labels([(number, "class", name, "suggested", score)], source=f"model of-{name}@1")
    assert photos.picture("3.png").suggested_class.name == "street"
    assert "class street" in photos.label(folder / "3.png", accept=True).taken


def test_a_correction_counts_once(photos, folder):
    done = photos.label([folder / "2.png", folder / "2.png"], accept=True, class_name="street", tags=["sea", "sea"])
    assert (done.labels, done.accepted) == (3, 1)  # street and sea, and boat of the model
    assert said(photos, "2.png")["street"] == ("accepted", PERSON)
    assert said(photos, "2.png")["beach"] == ("suggested", MODEL)


def test_a_correction_by_an_old_name_counts_once(photos, folder):
    photos.rename("boat", "ship")
    done = photos.label(folder / "2.png", accept=True, no_tags="boat")
    assert (done.labels, done.accepted) == (2, 1)
    assert said(photos, "2.png")["ship"] == ("rejected", PERSON)


def test_a_label_by_an_old_name_says_what_was_noted(photos, folder, visterm, visterm_json):
    photos.label(folder / "1.png", tags="auto", new=True)
    photos.merge("auto", into="car")
    said = visterm("label", folder / "3.png", "--tag", " auto", "--tag", "boat", "-w", folder).stdout
    assert said == "2 labels noted\nauto is called car now, so car was noted\n"
    assert visterm_json("label", folder / "3.png", "--tag", "car", "-w", folder)["called"] == {}


def test_nothing_to_accept_is_told(photos, folder, visterm):
    done = photos.label([folder / "1.png", folder / "3.png"], accept=True)
    assert (done.labels, done.nothing_suggested) == (1, ["1.png"])
    told = visterm("label", folder / "1.png", "--accept", "-w", folder).stdout
    assert "0 labels noted" in told
    assert "no suggestion for 1.png waits for a decision: 'visterm tag PICTURE --write'" in told


def test_a_change_of_several_pictures_is_whole_or_not_at_all(photos, folder, monkeypatch):
    photos.label(folder / "0.png", tags="sea")
    with pytest.raises(InputError, match="does not exist"):
        photos.label([folder / "0.png", "nowhere.png"], clear="tags", tags="sky")
    photos.drop("boat")
    with pytest.raises(InputError, match="dropped"):
        photos.label([folder / "0.png", folder / "1.png"], clear="tags", tags=["sky", "boat"])
    assert said(photos, "0.png")["sea"] == ("accepted", PERSON)
    assert "sky" not in {**said(photos, "0.png"), **said(photos, "1.png")}


def test_the_command_clears_and_accepts(photos, folder, visterm):
    pictures = [folder / "2.png", folder / "3.png"]
    done = visterm("label", *pictures, "--accept", "--tag", "sea", "-w", folder)
    assert "5 labels noted, 3 of them accepted from models" in done.stdout
    assert "2 labels cleared" in visterm("label", *pictures, "--clear", "tag:sea", "-w", folder).stdout
    wrong = visterm("label", *pictures, "-w", folder, code=2)
    assert len(wrong.stderr.splitlines()) == 1
    assert "--clear" in wrong.stderr


def test_wrong_use_has_exit_code_2_and_one_line(photos, folder, visterm):
    for arguments, hint in [
        (("label", folder / "0.png"), "--tag"),
        (("add", "--format", "coco"), "--labels"),
        (("export",), "name the csv file"),
        (("export", "--format", "coco"), "name the coco file"),
    ]:
        done = visterm(*arguments, "-w", folder, code=2)
        assert hint in done.stderr
        assert len(done.stderr.splitlines()) == 1


# Vocabulary


def test_several_words_are_dropped_and_restored_or_none(photos, folder, visterm):
    photos.label(folder / "0.png", tags=["wearing", "white"])
    with pytest.raises(InputError, match="no tag 'nowhere'"):
        photos.drop(["wearing", "nowhere"])
    assert photos.vocabulary().tag.dropped == []
    assert "wearing, white are dropped" in visterm("vocabulary", "drop", "wearing", "white", "-w", folder).stdout
    assert photos.vocabulary().tag.dropped == ["wearing", "white"]
    with pytest.raises(InputError, match="was not dropped, renamed or merged"):
        photos.restore(["wearing", "sky"])
    assert photos.vocabulary().tag.dropped == ["wearing", "white"]
    assert photos.restore("white").done == "white is back"
    with pytest.raises(InputError, match="at least one"):
        photos.drop([])


def test_a_renamed_word_that_is_restored_says_where_its_pictures_are(photos, folder):
    photos.label(folder / "0.png", tags=["water", "lake", "white"])
    photos.rename("water", "sea")
    photos.merge("lake", into="sea")
    photos.drop("white")
    done = photos.restore(["water", "lake", "white"]).done
    assert done == "lake, white are back; water no longer stands for sea, whose pictures keep it"
    assert {label.name for label in photos.picture(folder / "0.png").tags} >= {"sea", "lake", "white"}


def test_a_merge_says_what_it_did(photos, folder):
    photos.label(folder / "0.png", tags=["ship", "yacht"])
    with pytest.raises(InputError, match="no tag 'nowhere'"):
        photos.merge(["ship", "nowhere"], into="boat")
    assert photos.merge(["ship", "yacht", "boat"], into="boat").done == "ship, yacht are boat now"
    assert photos.merge("car", into="vehicle").done == "car is vehicle now"


def test_forms_of_one_word_are_proposed_and_merged_only_when_told(photos, folder, visterm, visterm_json):
    photos.label(folder / "0.png", tags=["climb", "kids", "sun set"])
    photos.label([folder / "0.png", folder / "1.png"], tags=["climbing", "kid", "sunset"], new=True)
    shown = visterm("vocabulary", "suggest", "-w", folder).stdout
    assert "climbing (2 pictures), climb (1 picture)" in shown
    assert "  visterm vocabulary merge 'sun set' --into sunset" in shown
    assert photos.vocabulary().tag.aliases == {}
    proposed = visterm_json("vocabulary", "suggest", "-w", folder)
    assert (proposed["applied"], len(proposed["merges"])) == (False, 3)
    shown = visterm("vocabulary", "suggest", "--apply", "-w", folder).stdout
    assert "sun set" in shown  # shown before it is done
    assert "3 merges made" in shown
    assert photos.vocabulary().tag.aliases == {"climb": "climbing", "kids": "kid", "sun set": "sunset"}
    assert "no two tags" in visterm("vocabulary", "suggest", "--apply", "-w", folder).stdout
    assert photos.propose_merges(kind="class").merges == []


def test_a_proposed_command_can_be_typed_as_it_is(photos, folder, visterm):
    photos.label(folder / "0.png", class_name="city's streets")
    photos.label(folder / "1.png", class_name="City's street", new=True)
    (merge,) = photos.propose_merges(kind="class").merges
    visterm(*shlex.split(merge.command)[1:], "-w", folder)
    assert photos.vocabulary().class_.aliases == {"city's streets": "City's street"}


# Captions


def test_words_that_are_no_tags_are_listed_and_found(tmp_path, visterm, visterm_json):
    captions = ["A man wearing a white hat", "A white boat", "Two boats, a man wearing a coat", "A man in a boat"]
    for number, caption in enumerate(captions):
        Image.new("RGB", (8, 8), (60 * number, 9, 200)).save(tmp_path / f"{number}.png")
        (tmp_path / f"{number}.txt").write_text(caption, encoding="utf-8")
    visterm("init", tmp_path)
    done = visterm("add", "-w", tmp_path).stdout
    assert "2 words of captions became tags: 6 labels" in done
    assert "5 other words can be searched but did not become tags: visterm vocabulary --captions lists them" in done
    found = visterm_json("vocabulary", "--captions", "-w", tmp_path)
    assert {term["name"] for term in found["tag"]["terms"]} == {"man", "boat"}
    assert found["captions"][:2] == [{"name": "wear", "n_captions": 2}, {"name": "white", "n_captions": 2}]
    assert {hit["path"] for hit in visterm_json("search", "white", "-w", tmp_path)["found"]} == {"0.png", "1.png"}
    visterm("add", "--caption-tags", "--phrase", "white", "-w", tmp_path)
    assert visterm_json("status", "-w", tmp_path)["frequent_tags"]["white"] == 2


# Status


def test_status_counts_suggestions_that_wait(photos, folder, visterm, visterm_json):
    # of the first picture the class is decided, the tag is not
    assert photos.status().suggestions == {"ridge-tags@2": 5}
    assert "5 suggestions by ridge-tags@2, not yet accepted" in visterm("status", "-w", folder).stdout
    shown = visterm("status", "-w", folder).stdout
    assert "labels: 3 by imports\n" in shown  # suggestions are no labels
    assert "not yet accepted; 1 more of them decided" in shown
    photos.label(folder / "2.png", accept=True)
    photos.label(folder / "3.png", no_tags="car")
    assert photos.status().suggestions == {"ridge-tags@2": 1}
    photos.drop("car")
    assert photos.status().suggestions == {}
    photos.remove(folder / "3.png")
    assert "1 file removed" in visterm("status", "-w", folder).stdout


def test_documents_print_in_a_few_lines(photos, folder):
    photos.label(folder / "0.png", tags=[f"word {number}" for number in range(30)])
    printed = str(photos.vocabulary())
    assert len(printed) < 700
    assert "and 29 more" in printed or "and 30 more" in printed
    noted = photos.label(folder / "0.png", tags="sea")
    assert str(noted) == f"Labelled\n  labels: 1\n  accepted: 0\n  cleared: 0\n  action: {noted.action}"
    assert "skipped" not in str(photos.add(folder))
    assert "files: (unchanged 4)" in str(photos.add(folder))
    assert max(map(len, printed.splitlines())) <= 160


# Sidecars


def test_what_a_workspace_exported_is_no_import_there(photos, folder, tmp_path_factory):
    photos.label(folder / "3.png", class_name="street", tags=["boat", "sea"])
    before = said(photos, "3.png")
    photos.export(format="xmp", suggestions=0.5)
    photos.add()
    assert photos.status().label_sources == {PERSON: 3, IMPORT: 3, MODEL: 6}
    assert said(photos, "3.png") == before
    photos.label(folder / "3.png", clear=["class", "tags"])  # a person may still change their mind
    photos.add()
    assert said(photos, "3.png") == {"car": ("suggested", MODEL)}
    photos.export(format="xmp")
    assert "sea" not in (folder / "3.png.xmp").read_text()


def test_another_workspace_reads_what_was_exported(photos, folder, tmp_path_factory):
    photos.label(folder / "3.png", class_name="street", tags=["boat", "sea"])
    photos.export(format="xmp", suggestions=0.5)
    with Workspace.create(tmp_path_factory.mktemp("other")) as other:
        other.add(folder)
        found = other.picture(folder / "3.png")
        assert found is not None
        assert [(label.name, label.source) for label in found.tags] == [("boat", IMPORT), ("sea", IMPORT)]
        assert found.class_label is not None
    photos.remove(folder / "3.png")  # forgotten with its labels: the sidecar is all that is left
    photos.add(again=True)
    assert said(photos, "3.png")["sea"] == ("accepted", IMPORT)


def test_a_keyword_that_someone_adds_to_our_sidecar_is_an_import(photos, folder):
    photos.label(folder / "3.png", tags=["sea"])
    photos.export(format="xmp")
    sidecar = folder / "3.png.xmp"
    text = sidecar.read_text()
    sidecar.write_text(text.replace("<rdf:li>sea</rdf:li>", "<rdf:li>sea</rdf:li><rdf:li>quay</rdf:li>", 1))
    photos.add()
    assert said(photos, "3.png")["quay"] == ("accepted", IMPORT)
    assert said(photos, "3.png")["sea"] == ("accepted", PERSON)


def test_a_rehearsed_export_changes_nothing(photos, folder):
    version = photos.catalogue.version()
    photos.export(format="xmp", dry_run=True)
    photos.export(format="xmp", dry_run=True)
    assert photos.catalogue.version()[1] <= version[1] + 1  # at most the catalogue's own name
    assert not list(folder.glob("*.xmp"))


def test_workspaces_that_share_a_folder_read_each_other(photos, folder, tmp_path_factory):
    with Workspace.create(tmp_path_factory.mktemp("other")) as other:
        other.add(folder)
        other.label(folder / "3.png", tags="sea")
        other.export(folder, format="xmp")
        other.export(format="xmp")
        photos.add()
        photos.label(folder / "3.png", tags="quay")
        photos.export(format="xmp")
        other.add(folder)
        found = other.picture(folder / "3.png")
        assert found is not None
        assert {(label.name, label.source) for label in found.tags} == {("sea", PERSON), ("quay", IMPORT)}


def test_what_another_program_says_too_is_an_import(photos, folder):
    photos.label(folder / "3.png", tags=["sea"])
    photos.export(format="xmp")
    (folder / "3.xmp").write_bytes(merge_packet(None, PacketLabels(tags=("sea",))))
    photos.add()
    photos.label(folder / "3.png", clear="tags")
    assert said(photos, "3.png")["sea"] == ("accepted", IMPORT)

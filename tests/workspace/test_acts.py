"""By which act labels are given, through Python, the command line and the REST API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from visterm.catalogue.acts import Act, Extent
from visterm.catalogue.records import IMPORT, PERSON
from visterm.errors import UsageError
from visterm.faces.web.application import application
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.labels.deciding import Decision
from visterm.learn.data import labels_only
from visterm.workspace import Workspace

TOKEN = "the-token-of-this-workspace"
MODEL = "model ridge-tags@2"
Say = Callable[..., Any]


@pytest.fixture
def photos(folder) -> Iterator[Workspace]:
    """Three pictures; a table names all tags of the first two, a model suggests sky for all."""
    (folder / "metadata.csv").write_text("file_name,tags\n0.png,sea;boat\n1.png,sea\n")
    with Workspace(folder) as opened:
        opened.add()
        rows = [(picture.id, "tag", "sky", "suggested", 0.9) for picture in opened.catalogue.pictures()]
        opened.catalogue.write_labels(rows, source=MODEL)
        yield opened
        assert opened.catalogue.check() == []


@pytest.fixture
def rest(photos) -> TestClient:
    app = application(photos, Rules(frozenset(LOOPBACK), TOKEN))
    return TestClient(app, base_url="http://localhost", headers={"Authorization": f"Bearer {TOKEN}"})


@pytest.fixture(params=["python", "command line", "rest"])
def say(request, photos, folder, visterm_json, rest) -> Say:
    """Label pictures through one of the faces; the document."""

    def by_python(*names: str, **said: Any) -> Any:
        return photos.label([folder / name for name in names], **said).to_dict()

    def by_command(*names: str, **said: Any) -> Any:
        options: list[object] = []
        for name, value in said.items():
            option = {"tags": "--tag", "no_tags": "--no-tag", "class_name": "--class"}.get(name, f"--{name}")
            many = value if isinstance(value, list) else [value]
            options += [option] if value is True else [part for one in many for part in (option, one)]
        return visterm_json("label", *(folder / name for name in names), *options, "-w", folder)

    def by_rest(*names: str, **said: Any) -> Any:
        ids = [photos.picture(folder / name).id for name in names]
        body = {"class" if name == "class_name" else name: value for name, value in said.items()}
        lists = {name: [body[name]] for name in ("tags", "no_tags", "clear") if isinstance(body.get(name), str)}
        answer = rest.post("/api/v1/labels", json={"ids": ids, **body, **lists})
        assert answer.status_code == 200, answer.text
        return answer.json()

    return {"python": by_python, "command line": by_command, "rest": by_rest}[request.param]


def acts(photos: Workspace, name: str) -> dict[str, tuple[str, str]]:
    """State and act of each effective label, without suggestions."""
    picture = photos.picture(name)
    labels = (*picture.classes, *picture.tags)
    return {label.name: (label.state, label.act) for label in labels if label.state != "suggested"}


def described(photos: Workspace) -> list[str | None]:
    return [picture.described for picture in photos.catalogue.pictures()]


def test_one_label_is_said(photos, say):
    assert say("1.png", "2.png", tags="tree", class_name="coast")["described"] is None
    assert acts(photos, "2.png") == {"coast": ("accepted", "said"), "tree": ("accepted", "said")}
    assert described(photos) == [IMPORT, IMPORT, None]


def test_a_complete_description_has_all_that_the_person_gave(photos, say):
    say("2.png", tags="tree")
    done = say("1.png", "2.png", tags="sand", complete=True)
    assert (done["labels"], done["described"], done["denied"]) == (2, 2, {})
    assert described(photos) == [IMPORT, PERSON, PERSON]
    assert acts(photos, "2.png") == {"tree": ("accepted", "said"), "sand": ("accepted", "described")}
    assert acts(photos, "1.png")["sea"] == ("accepted", "described")  # what the import says stays
    say("2.png", tags="palm")
    assert described(photos)[2] == PERSON  # a tag that comes later belongs to it
    assert photos.catalogue.truth().tag_acts.tolist() == [Act.DESCRIBED] * 3
    assert say("2.png", complete=True)["described"] == 0


def test_a_picture_may_have_no_tag_at_all(photos, say):
    assert say("2.png", complete=True)["described"] == 1
    assert (acts(photos, "2.png"), described(photos)[2]) == ({}, PERSON)
    photos.undo()
    assert described(photos)[2] is None
    photos.redo()
    assert photos.catalogue.truth().extent.tolist() == [Extent.CLAIMED, Extent.CLAIMED, Extent.WHOLE]


def test_only_denies_all_other_tags_and_is_undone_as_one_step(photos, say):
    say("0.png", tags="tree")
    before = acts(photos, "0.png")
    done = say("0.png", "1.png", tags="sea", only=True)
    assert (done["described"], done["denied"]) == (2, {"not tag boat": 1, "not tag tree": 1})
    after = {
        "sea": ("accepted", "described"),
        "boat": ("rejected", "described"),
        "tree": ("rejected", "described"),
    }
    assert acts(photos, "0.png") == after
    assert described(photos) == [PERSON, PERSON, None]
    assert photos.undo().actions[0].what == "label 2 pictures: tag sea, no other tags"
    assert (acts(photos, "0.png"), described(photos)) == (before, [IMPORT, IMPORT, None])
    photos.redo()
    assert (acts(photos, "0.png"), described(photos)) == (after, [PERSON, PERSON, None])


def test_only_knows_merged_names(photos, say):
    photos.merge("boat", into="ship")
    say("0.png", tags=["boat", "sea"], only=True)
    assert {name: state for name, (state, _) in acts(photos, "0.png").items()} == {
        "ship": "accepted",
        "sea": "accepted",
    }


@pytest.mark.parametrize(
    ("queue", "act"),
    [("teach", "answered"), ("tag", "answered"), ("six", "answered"), ("errors", "answered"), ("measure", "measured")],
)
def test_answers_say_which_queue_asked(photos, say, queue, act):
    say("2.png", tags="tree", class_name="coast", answering=queue)
    assert acts(photos, "2.png") == {"tree": ("accepted", act), "coast": ("accepted", act)}
    assert photos.catalogue.truth().tag_acts[2] == photos.catalogue.truth().class_acts[2] == Act[act.upper()]
    say("1.png", no_tags="sea", answering=queue)
    assert acts(photos, "1.png") == {"sea": ("rejected", act)}
    say("2.png", complete=True, answering=queue)
    assert photos.catalogue.truth().tag_acts[2] == Act[act.upper()]
    assert photos.catalogue.truth().extent[2] == Extent.WHOLE


def test_clearing_the_tags_of_a_person_clears_the_description(photos, say):
    say("1.png", "2.png", tags="sand", complete=True)
    say("1.png", clear="tag:sand")
    assert described(photos)[1] == PERSON
    say("1.png", clear="tags")
    say("2.png", clear="class")
    assert described(photos) == [IMPORT, IMPORT, PERSON]
    say("0.png", complete=True)
    done = say("0.png", clear="tags")
    assert (done["not_cleared"], described(photos)[0]) == ([], IMPORT)


def test_accepted_suggestions_are_accepted(photos, folder, rest, visterm_json):
    visterm_json("label", folder / "0.png", "--accept", "--tag", "palm", "-w", folder)
    photos.label(folder / "1.png", accept=True)
    number = photos.picture("2.png").id
    decision = {"id": number, "kind": "tag", "name": "sky", "state": "accepted"}
    rest.post("/api/v1/decisions", json={"decisions": [decision]})
    assert [acts(photos, f"{n}.png")["sky"] for n in range(3)] == [("accepted", "accepted")] * 3
    assert acts(photos, "0.png")["palm"] == ("accepted", "said")
    assert photos.catalogue.truth().extent.tolist() == [Extent.CLAIMED, Extent.CLAIMED, Extent.PART]


def test_decisions_of_a_review_are_answers(photos, rest):
    number = photos.picture("2.png").id
    for name, queue, act in (("sky", "tag", "answered"), ("sand", "measure", "measured")):
        decision = {"id": number, "kind": "tag", "name": name, "state": "rejected"}
        answer = rest.post("/api/v1/decisions", json={"decisions": [decision], "answering": queue})
        assert answer.status_code == 200, answer.text
        assert acts(photos, "2.png")[name] == ("rejected", act)
    photos.decide([Decision(number, "tag", "sky", "rejected"), Decision(number, "tag", "palm", "accepted")])
    assert acts(photos, "2.png")["palm"] == ("accepted", "accepted")
    unknown = {"decisions": [decision], "answering": "doubt"}
    assert rest.post("/api/v1/decisions", json=unknown).status_code == 422


def test_documents_name_acts_and_descriptions(photos, rest, folder, visterm):
    number = photos.picture("0.png").id
    found = rest.get(f"/api/v1/pictures/{number}").json()
    assert found["described"] == "import"
    assert {label["name"]: label["act"] for label in found["tags"]}["sea"] == "described"
    printed = visterm("label", folder / "0.png", "--tag", "sea", "--only", "-w", folder).stdout
    assert "denied: not tag boat" in printed
    assert "1 picture now described: you said all tags that fit" in printed


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [({"only": True}, "only=True needs the tags"), ({"tags": "sea", "answering": "doubt"}, "no queue 'doubt'")],
)
def test_what_makes_no_sense_is_refused(photos, folder, wrong, reason, visterm):
    with pytest.raises(UsageError, match=reason):
        photos.label(folder / "0.png", **wrong)
    assert "--only needs the tags" in visterm("label", folder / "0.png", "--only", "-w", folder, code=2).stderr
    with pytest.raises(TypeError):
        photos.label(folder / "0.png", colour="red")


def test_imports_of_some_tags(photos, folder, visterm, visterm_json):
    visterm_json("add", "--tags", "partial", "-w", folder)
    assert (described(photos), acts(photos, "1.png")) == ([None, None, None], {"sea": ("accepted", "said")})
    photos.add()
    assert described(photos) == [None, None, None]
    photos.add(tags_are="complete")
    assert described(photos) == [IMPORT, IMPORT, None]
    with pytest.raises(UsageError, match="tags are complete or partial, not 'some'"):
        photos.add(tags_are="some")
    visterm("add", "--tags", "some", "-w", folder, code=2)


def test_keywords_in_pictures_are_complete(tmp_path):
    from PIL import Image

    from visterm.exchange import PacketLabels, merge_packet

    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "a.png.xmp").write_bytes(merge_packet(None, PacketLabels(tags=("sea",))))
    with Workspace.create(tmp_path) as photos:
        photos.add()
        assert (described(photos), acts(photos, "a.png")) == ([IMPORT], {"sea": ("accepted", "described")})


def test_learning_hears_how_much_is_written(photos, folder):
    photos.label(folder / "2.png", tags="tree")
    data = labels_only(photos, photos.collection())
    assert data.extent.tolist() == [Extent.CLAIMED, Extent.CLAIMED, Extent.PART]
    assert [name for name, is_loose in zip(data.tag_names, data.loose, strict=True) if is_loose] == ["tree"]
    photos.label(folder / "2.png", tags="tree", complete=True)
    data = labels_only(photos, photos.collection())
    assert (data.extent.tolist(), data.loose.any()) == ([1, 1, 2], False)


def test_a_job_that_adds_may_read_some_tags(photos, rest, monkeypatch):
    started: list[tuple[str, list[str]]] = []

    def start(kind: str, arguments: list[str]) -> Any:
        started.append((kind, arguments))
        raise UsageError("not now")

    monkeypatch.setattr(photos.jobs, "start", start)
    for body in ({"kind": "add", "tags": "partial"}, {"kind": "add"}, {"kind": "train", "tags": "partial"}):
        rest.post("/api/v1/jobs", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert started == [("add", ["--tags", "partial"]), ("add", []), ("train", [])]

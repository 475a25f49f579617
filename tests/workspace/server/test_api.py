"""The API: what it answers is what the workspace says, and what is written can be taken back."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image
from pydantic import TypeAdapter

from visterm.errors import InputError, VistermError
from visterm.faces.web import system
from visterm.faces.web.answering import Answers
from visterm.upkeep.jobs import Job, Jobs
from visterm.workspace import Workspace

API = "/api/v1"
SCRIPT = "<script>alert(1)</script>"


def get(client, path, **parameters):
    answer = client.get(f"{API}/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client, path, body=None, status=200, **headers):
    answer = client.post(f"{API}/{path}", json={} if body is None else body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def validated(form, content):
    """``content``, if it has the form of a document."""
    return TypeAdapter(form).validate_python(content)


def labels(client, number):
    (found,) = get(client, "labels", ids=number)["pictures"]
    return found


def unlabelled(client, n):
    return get(client, "pictures", state="unlabelled", limit=n)["ids"]


# Reading


def test_documents_are_those_of_the_workspace(reading, kept):
    assert get(reading, "pictures", limit=5000) == kept.gallery.page(limit=5000).to_dict()
    assert get(reading, "pictures", q="boat", limit=9) == kept.gallery.page("boat", limit=9).to_dict()
    assert get(reading, "search", q="boat", limit=9) == kept.search("boat", limit=9).to_dict()
    assert get(reading, "pictures/1") == kept.details(1).to_dict()
    assert get(reading, "pictures/1/similar") == kept.similar(1, limit=24).to_dict()
    assert get(reading, "labels", ids="1,2") == kept.labels_of([1, 2]).to_dict()
    assert get(reading, "facets", q="boat") == kept.gallery.facets("boat").to_dict()
    assert get(reading, "collection") == kept.overview().to_dict()
    assert get(reading, "status") == kept.status().to_dict()
    assert get(reading, "models") == kept.models().to_dict()
    assert get(reading, "vocabulary") == kept.vocabulary().to_dict()
    assert get(reading, "vocabulary/merges", kind="class") == kept.propose_merges(kind="class").to_dict()
    assert get(reading, "history") == kept.history().to_dict()
    assert get(reading, "review/groups", limit=2) == kept.reviewer.groups(limit=2).to_dict()


def test_reports_are_listed_and_served(reading, kept):
    found = get(reading, "reports")
    assert found == kept.reports().to_dict()
    for each in found["reports"]:
        assert get(reading, f"reports/{each['model']}") == kept.report(each["model"]).to_dict()
    assert reading.get(f"{API}/reports/knn@7").status_code == 404
    for odd in ("knn", "..@1", "knn@x"):
        assert reading.get(f"{API}/reports/{odd}").status_code == 422
    assert reading.post(f"{API}/reports", json={}).status_code == 405  # they are only read
    routes = get(reading, "openapi.json")["paths"]
    for path, document in (("reports", kept.reports()), ("reports/{model}", kept.report("knn@1"))):
        shown = routes[f"{API}/{path}"]["get"]["responses"]["200"]["content"]["application/json"]["example"]
        assert set(shown) == set(document.to_dict())
        validated(type(document), shown)


def test_filters_reach_the_list(reading, kept):
    page = get(reading, "pictures", **{"class": "forest", "tag": ["tree"], "by": "import", "sort": "name"})
    assert page["ids"]
    for number in page["ids"]:
        known = labels(reading, number)
        assert known["class"] == "forest"
        assert "tree" in known["tags"]
    assert get(reading, "facets", **{"class": "forest", "tag": ["tree"], "by": "import"})["total"] == page["total"]
    found = get(reading, "search", **{"q": "sky", "class": "forest", "limit": 50})
    whole = get(reading, "search", q="sky", limit=50)["found"]
    assert [row["id"] for row in found["found"]] == [row["id"] for row in whole if row["class"] == "forest"]
    assert 0 < found["n_likely"] == len(found["found"]) < len(whole)
    for bad in ({"by": "god"}, {"state": "x"}, {"sort": "x"}, {"limit": 0}, {"limit": 5001}, {"q": "x" * 1001}):
        path = "search" if "q" in bad else "pictures"
        assert reading.get(f"{API}/{path}", params=bad).status_code == 422
    assert reading.get(f"{API}/pictures", params={"cursor": "x"}).status_code == 400
    assert reading.get(f"{API}/search").status_code == 422


def test_pages_follow_each_other(reading):
    first = get(reading, "pictures", q="sky", limit=20)
    second = get(reading, "pictures", q="sky", limit=20, cursor=first["next"])
    assert second["start"] == 20
    assert not set(first["ids"]) & set(second["ids"])
    listed = [get(reading, "search", q="sky", limit=10, start=start, unlikely=True) for start in (0, 10, 20)]
    assert [page["start"] for page in listed] == [0, 10, 20]
    assert [row["id"] for page in listed for row in page["found"]] == (first["ids"] + second["ids"])[:30]


def test_one_picture(reading, kept):
    number = get(reading, "pictures", limit=1)["ids"][0]
    known = get(reading, f"pictures/{number}")
    (picture,) = kept.catalogue.pictures_with_ids([number])
    assert (known["id"], known["key"], known["paths"]) == (number, picture.sha256, list(picture.paths))
    assert known["caption"] == picture.caption
    assert reading.get(f"{API}/pictures/4711").status_code == 404
    assert get(reading, "labels", ids="4711")["pictures"] == []
    assert reading.get(f"{API}/labels", params={"ids": "1,,2"}).status_code == 422
    assert reading.get(f"{API}/labels", params={"ids": ",".join(["1"] * 1001)}).status_code == 400


def test_an_answer_that_has_not_changed_is_not_sent_again(client):
    for path in ("pictures?limit=4", "search?q=boat", "facets", "pictures/1", "labels?ids=1,2"):
        first = client.get(f"{API}/{path}")
        again = client.get(f"{API}/{path}", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert first.headers["cache-control"] == "private, no-cache"
    post(client, "labels", {"ids": [1], "tags": ["boat"]})
    changed = client.get(f"{API}/labels?ids=1,2", headers={"If-None-Match": first.headers["etag"]})
    assert changed.status_code == 200


def test_thumbnails_are_kept_for_ever_and_made_again(client, photos):
    key = get(client, "pictures", limit=1)["keys"][0]
    for size in ("small", "large"):
        answer = client.get(f"{API}/thumbnails/{key}/{size}.webp")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
        assert "immutable" in answer.headers["cache-control"]
        shutil.rmtree(photos.thumbnails.folder)
        assert client.get(f"{API}/thumbnails/{key}/{size}.webp").content == answer.content
    assert client.get(f"{API}/thumbnails/{key}/huge.webp").status_code == 422
    assert client.get(f"{API}/thumbnails/{'0' * 64}/small.webp").status_code == 404


def test_the_thumbnail_of_a_damaged_or_missing_original_is_a_problem(tmp_path, serving):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (30, 20), colour).save(folder / name)
    with Workspace.create(folder) as photos:
        photos.add()
        client = serving(photos)
        page = get(client, "pictures", sort="name")
        (folder / "a.png").write_bytes(b"no longer a picture")
        (folder / "b.png").unlink()
        for key in page["keys"]:
            answer = client.get(f"{API}/thumbnails/{key}/small.webp")
            assert (answer.status_code, answer.json()["status"]) == (404, 404)


def test_looking_explaining_completing(reading, kept, outside):
    seen = reading.post(f"{API}/look", content=outside.read_bytes(), headers={"Content-Type": "image/jpeg"})
    assert (seen.status_code, seen.json()["width"], seen.json()["height"]) == (200, 60, 40)
    broken = reading.post(f"{API}/look", content=b"x", headers={"Content-Type": "image/png"})
    assert (broken.status_code, broken.json()["title"]) == (415, "This file cannot be used as a picture")
    assert len(get(reading, "pictures/1/similar", limit=3)["found"]) == 3
    assert get(reading, "pictures/1/why", word="sky")["word"] == "sky"
    assert reading.get(f"{API}/pictures/1/why", params={"word": "zeppelin"}).status_code == 400
    for path in ("similar", "why?word=sky"):
        assert reading.get(f"{API}/pictures/4711/{path}").status_code == 404
    assert get(reading, "complete", text="sk")["found"]


# Writing


def test_labels_of_many_pictures_are_one_step(client, photos):
    numbers = unlabelled(client, 5)
    done = post(client, "labels", {"ids": numbers, "class": "forest", "tags": ["tree", "sky"], "no_tags": ["boat"]})
    assert done["labels"] == 4 * len(numbers)
    for number in numbers:
        known = labels(client, number)
        assert (known["class"], set(known["tags"])) == ("forest", {"tree", "sky"})
    assert post(client, "undo")["actions"][0]["n_changes"] >= 4 * len(numbers)
    assert all(labels(client, number)["class"] is None for number in numbers)
    post(client, "redo")
    assert labels(client, numbers[0])["class"] == "forest"


def test_labels_are_written_all_or_none(client):
    number = unlabelled(client, 1)[0]
    for body, status in (
        ({"ids": [number, 4711], "tags": ["tree"]}, 400),
        ({"ids": [number]}, 400),
        ({"ids": [number], "tags": ["tree"], "no_tags": ["tree"]}, 400),
        ({"ids": [number], "tags": ["tre"]}, 409),
        ({"ids": [], "tags": ["tree"]}, 422),
        ({"ids": [number], "tags": ["x" * 1001]}, 422),
        ({"ids": [number], "tags": ["a\u0000b"], "new": True}, 400),
        ({"ids": [number], "tgas": ["tree"]}, 422),
        ({"ids": [True], "tags": ["tree"]}, 422),
        ({"ids": ["1"], "tags": 5}, 422),
    ):
        post(client, "labels", body, status)
        assert labels(client, number)["tags"] == []
    post(client, "labels", {"ids": [1.0], "tags": ["sky"]})
    asked = post(client, "labels", {"ids": [number], "tags": ["tre"]}, 409)
    assert (asked["kind"], asked["name"], asked["near"], asked["near_kind"]) == ("tag", "tre", "tree", "tag")
    post(client, "labels", {"ids": [number], "tags": ["tre"], "new": True})
    assert labels(client, number)["tags"] == ["tre"]


def test_a_slip_is_told_with_what_it_looks_like_and_what_that_is(client):
    form = get(client, "openapi.json")["components"]["schemas"]["SlipProblem"]
    number = unlabelled(client, 1)[0]
    other = post(client, "labels", {"ids": [number], "class": "trees"}, 409)  # a form of a tag
    assert (other["kind"], other["near"], other["near_kind"]) == ("class", "tree", "tag")
    assert other["near_pictures"] == get(client, "facets", tag="tree")["total"] > 0
    alone = post(client, "labels", {"ids": [number], "tags": ["cat, dog"]}, 409)
    assert (alone["near"], alone["near_kind"], alone["near_pictures"]) == (None, None, 0)
    for told in (other, alone):
        assert set(form["required"]) <= set(told) <= set(form["properties"])
    routes = get(client, "openapi.json")["paths"]
    answers = routes[f"{API}/labels"]["post"]["responses"]["409"]["content"]
    assert answers["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/SlipProblem"}


def test_only_the_wanted_action_is_undone(client, photos):
    first, second = unlabelled(client, 2)
    own = post(client, "decisions", {"decisions": [{"id": first, "name": "tree", "state": "accepted"}]})["action"]
    other = post(client, "labels", {"ids": [second], "tags": ["sky"]})["action"]
    assert own < other
    assert post(client, "labels", {"ids": [second], "tags": ["sky"]})["action"] is None  # nothing is different
    refused = post(client, "undo", {"action": own}, 409)
    newest = photos.history(limit=1).actions[0]
    assert (refused["action"], refused["what"], refused["who"]) == (other, newest.what, "person")
    assert refused["time"] == newest.time
    form = get(client, "openapi.json")["components"]["schemas"]["OtherActionProblem"]
    assert set(refused) == set(form["properties"])
    assert (labels(client, first)["tags"], labels(client, second)["tags"]) == (["tree"], ["sky"])
    assert post(client, "undo", {"action": other})["actions"][0]["id"] == other
    assert post(client, "undo", {"action": own})["actions"][0]["id"] == own
    assert (labels(client, first)["tags"], labels(client, second)["tags"]) == ([], [])
    post(client, "undo", {"action": 0}, 422)
    while client.post(f"{API}/undo", json={}).status_code == 200:  # a body is not needed
        pass
    post(client, "undo", {"action": own}, 400)


def test_the_same_labels_twice_are_one_change(client):
    body = {"ids": unlabelled(client, 2), "class": "forest", "tags": ["tree"]}
    post(client, "labels", body)
    once = get(client, "history")["actions"]
    post(client, "labels", body)
    decisions = {"decisions": [{"id": number, "name": "tree", "state": "accepted"} for number in body["ids"]]}
    post(client, "decisions", decisions)
    assert get(client, "history")["actions"] == once


def test_decisions_are_one_undo(client):
    a, b = unlabelled(client, 2)
    before = [labels(client, number) for number in (a, b)]
    done = post(
        client,
        "decisions",
        {
            "decisions": [
                {"id": a, "name": "tree", "state": "accepted"},
                {"id": a, "name": "boat", "state": "rejected"},
                {"id": b, "kind": "class", "name": "forest", "state": "accepted"},
            ]
        },
    )
    assert (done["labels"], done["accepted"]) == (3, 2)
    assert labels(client, a)["tags"] == ["tree"]
    assert labels(client, b)["class"] == "forest"
    assert "boat" not in {each["name"] for each in labels(client, a)["suggested_tags"]}
    assert get(client, "history")["undo"].startswith("accept 2 and reject 1")
    post(client, "undo")
    assert [labels(client, number) for number in (a, b)] == before
    post(client, "decisions", {"decisions": [{"id": 4711, "name": "tree", "state": "accepted"}]}, 400)
    post(client, "decisions", {"decisions": []}, 422)


def test_what_was_done_can_be_read_page_by_page(client):
    numbers = unlabelled(client, 3)
    for number in numbers:
        post(client, "labels", {"ids": [number], "tags": ["tree"]})
    first = get(client, "history", limit=2)
    second = get(client, "history", limit=2, before=first["next"])
    assert len(first["actions"]) == 2
    assert first["actions"][-1]["id"] > second["actions"][0]["id"]
    assert len(get(client, "history", picture=numbers[0])["actions"]) >= 1
    assert client.get(f"{API}/history", params={"picture": 4711}).status_code == 400


def test_an_undo_that_is_sent_again_is_done_once(client):
    a, b = unlabelled(client, 2)
    for number in (a, b):
        post(client, "labels", {"ids": [number], "tags": ["tree"]})
    first = post(client, "undo", **{"Idempotency-Key": "one"})
    assert post(client, "undo", **{"Idempotency-Key": "one"}) == first
    assert (labels(client, a)["tags"], labels(client, b)["tags"]) == (["tree"], [])
    again = post(client, "redo", **{"Idempotency-Key": "one"})
    assert post(client, "redo", **{"Idempotency-Key": "one"}) == again
    assert labels(client, b)["tags"] == ["tree"]
    post(client, "undo", **{"Idempotency-Key": "two"})
    post(client, "undo")
    assert labels(client, a)["tags"] == []
    assert client.post(f"{API}/undo", json={}, headers={"Idempotency-Key": "x" * 201}).status_code == 422


def test_answers_are_remembered_for_a_while(monkeypatch):
    monkeypatch.setattr("visterm.faces.web.answering._MOST_REMEMBERED", 2)
    answers, done = Answers(), []

    def work():
        done.append(1)
        return len(done)

    assert [answers.once("/undo", key, None, work) for key in "abab"] == [1, 2, 1, 2]
    assert answers.once("/undo", "c", None, work) == 3
    assert answers.once("/undo", "a", None, work) == 4  # forgotten, because two others came
    with pytest.raises(InputError, match="another request"):
        answers.once("/undo", "a", {"kind": "add"}, work)

    def fail():
        raise VistermError("not now")

    with pytest.raises(VistermError):
        answers.once("/undo", "d", None, fail)
    assert answers.once("/undo", "d", None, work) == 5


def test_the_vocabulary_is_kept_tidy(client):
    def tags():
        return {term["name"] for term in get(client, "vocabulary")["tag"]["terms"]}

    assert {"boat", "sea"} <= tags()
    post(client, "vocabulary/rename", {"old": "boat", "new": "vessel"})
    post(client, "vocabulary/merge", {"names": ["vessel"], "into": "sea"})
    post(client, "vocabulary/drop", {"names": ["sky"]})
    assert not {"boat", "vessel", "sky"} & tags()
    post(client, "vocabulary/restore", {"names": ["sky"]})
    assert "sky" in tags()
    for _ in range(4):
        post(client, "undo")
    assert {"boat", "sea", "sky"} <= tags()
    post(client, "vocabulary/rename", {"old": "zeppelin", "new": "x"}, 400)


def test_pictures_are_forgotten_and_come_back(client, photos):
    page = get(client, "pictures", limit=2)
    files = [photos.collection().frame.files[key] for key in page["keys"]]
    post(client, "removals", {"ids": page["ids"]})
    assert get(client, "pictures")["total"] == 48
    assert all(file.exists() for file in files)
    post(client, "undo")
    assert get(client, "pictures")["total"] == 50
    post(client, "removals", {"ids": [4711]}, 400)


def test_searches_are_kept(client):
    post(client, "searches", {"query": "boat  sea"})
    assert post(client, "searches", {"query": "boat sea"})["queries"] == ["boat sea"]
    assert get(client, "searches")["queries"] == ["boat sea"]
    assert post(client, "searches/forget", {"query": "boat sea"})["queries"] == []
    post(client, "searches", {"query": " "}, 400)


def test_review_through_the_api(client, photos):
    state = get(client, "review")
    assert state["ready"]
    asked = get(client, "review/questions", limit=3)
    assert len(asked["questions"]) == 3
    first = asked["questions"][0]["id"]
    without = get(client, "review/questions", limit=100, without=str(first))
    assert first not in {each["id"] for each in without["questions"]}
    assert without["left"] == asked["left"] - 1
    name = state["tags"][0]["name"]
    assert get(client, "review/questions", queue="tag", tag=name)["questions"]
    assert client.get(f"{API}/review/questions", params={"queue": "tag", "tag": "zeppelin"}).status_code == 400
    (six,) = get(client, "review/questions", queue="six", tag=name)["six"]
    assert (six["tag"], six["pictures"][0]["asked"]["name"]) == (name, name)
    assert client.get(f"{API}/review/questions", params={"queue": "x"}).status_code == 422
    post(client, "review/keep", {"id": 4711, "kind": "class", "name": "forest"}, 400)
    post(client, "labels", {"ids": [first], "class": "forest", "tags": ["tree"]})
    assert first not in {each["id"] for each in get(client, "review/questions", limit=100)["questions"]}


# Hostile text


def test_what_pictures_and_people_say_is_sent_as_text(tmp_path, serving):
    folder = tmp_path / "photos"
    folder.mkdir()
    exif = Image.Exif()
    exif[0x010E] = SCRIPT
    name = "<img src=x onerror=alert(1)>.png"
    Image.new("RGB", (30, 20), "red").save(folder / name, exif=exif)
    (folder / "captions.csv").write_text(f'file,caption\n"{name}","{SCRIPT}"\n')
    with Workspace.create(folder) as photos:
        photos.add()
        client = serving(photos)
        post(client, "labels", {"ids": [1], "class": SCRIPT, "tags": [f"{SCRIPT}t"], "new": True})
        post(client, "searches", {"query": SCRIPT})
        answers = [
            client.get(f"{API}/{path}") for path in ("pictures/1", "labels?ids=1", "facets", "vocabulary", "searches")
        ]
        answers += [client.get(f"{API}/search", params={"q": SCRIPT}), client.get(f"{API}/{SCRIPT}")]
        answers.append(client.post(f"{API}/labels", json={"ids": [SCRIPT]}))
    assert sum("script" in answer.text for answer in answers) >= 5
    for answer in answers:
        assert answer.headers["content-type"] in ("application/json", "application/problem+json")
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert answers[0].json()["name"] == name
    assert answers[0].json()["class"]["name"] == SCRIPT


# Jobs and events


def test_jobs_are_started_once_and_asked_for(client, photos, monkeypatch):
    started = []

    def start(kind, arguments=()):
        started.append((kind, list(arguments)))
        return Job(len(started), kind, "Working", "running", 0.0)

    monkeypatch.setattr(photos.jobs, "start", start)
    assert post(client, "jobs", {"kind": "train", "minutes": 2})["state"] == "running"
    first = post(client, "jobs", {"kind": "add"}, **{"Idempotency-Key": "k"})
    assert post(client, "jobs", {"kind": "add"}, **{"Idempotency-Key": "k"}) == first
    post(client, "jobs", {"kind": "train"}, 400, **{"Idempotency-Key": "k"})
    assert started == [("train", ["--minutes", "2.0"]), ("add", [])]
    for bad in ({"kind": "rm"}, {"kind": "train", "minutes": 0}, {"kind": "train", "minutes": "1; rm"}, {}):
        post(client, "jobs", bad, 422)
    assert get(client, "jobs") == []
    assert client.get(f"{API}/jobs/4711").status_code == 404
    assert client.post(f"{API}/jobs/4711/cancel", json={}).status_code == 404


def test_events_tell_what_changed(photos, monkeypatch):
    monkeypatch.setattr(system, "_SECONDS", 0)
    jobs = [Job(1, "add", "Adding", "running", 0.0)]
    monkeypatch.setattr(photos.jobs, "all", lambda: list(jobs))
    stopping = False

    async def connected():
        return False

    app = SimpleNamespace(state=SimpleNamespace(is_stopping=lambda: stopping))
    request = SimpleNamespace(is_disconnected=connected, app=app)

    async def listen():
        nonlocal stopping
        events = system._events(request, photos)
        found = [await anext(events), await anext(events)]
        photos.label([photos.gallery.page(limit=1).keys[0]], tags=["sky"])
        found.append(await anext(events))
        jobs[0] = Job(1, "add", "Adding", "done", 0.0, 1.0)
        found.append(await anext(events))
        assert await anext(events) == ": still here\n\n"  # nothing more to say
        stopping = True
        assert [each async for each in events] == []
        return found

    with ThreadPoolExecutor() as threads:  # a browser test in this process may have left a loop in this thread
        found = threads.submit(asyncio.run, listen()).result()
    assert [each.split("\n")[0] for each in found] == ["event: changed", "event: job", "event: changed", "event: job"]
    assert '"state": "done"' in found[-1]
    assert all(each.endswith("\n\n") for each in found)


# What costs minutes is not done inside a request


def test_new_pictures_wait_for_a_job(photos, serving, tmp_path, outside, monkeypatch):
    client = serving(photos)
    new = tmp_path / "more"
    new.mkdir()
    shutil.copy(outside, new)
    monkeypatch.setattr("visterm.features.library.computed", lambda *_: pytest.fail("features inside a request"))
    assert get(client, "collection")["unlooked"] == 0
    found = get(client, "search", q="sky")
    photos.add([new])
    told = get(client, "collection")
    assert (told["pictures"], told["unlooked"]) == (51, 1)
    (number,) = unlabelled_of(client, Path(outside).name)
    searched = get(client, "search", q="sky")
    assert searched["n_likely"] == found["n_likely"]
    assert any("nobody has looked" in note for note in searched["notes"])
    assert labels(client, number)["suggested_tags"] == []
    for path in (
        "facets",
        "review",
        "review/questions",
        "review/groups",
        "pictures?sort=unsure",
        "search?q=class:forest",
    ):
        assert client.get(f"{API}/{path}").status_code == 200
    monkeypatch.undo()
    ready = photos.searchers.ready(photos.shelf.model(_rank()), "sky")
    assert photos.searchers.ready(photos.shelf.model(_rank()), "sky") is ready  # kept, although it is not complete
    with Workspace(photos.folder) as job:
        job.features(for_models=True)
    assert get(client, "collection")["unlooked"] == 0
    assert labels(client, number)["suggested_class"] is not None
    assert not any("nobody has looked" in note for note in get(client, "search", q="sky")["notes"])
    photos.reviewer.wait()
    assert get(client, "review")["unlabelled"] == told["pictures"] - get(client, "review")["labelled"]
    assert number in {each["id"] for each in get(client, "review/questions", limit=100)["questions"]}


def _rank():
    from visterm.contracts import Task

    return Task.RANK


def unlabelled_of(client, name):
    page = get(client, "pictures", state="unlabelled", limit=5000)
    known = get(client, "labels", ids=",".join(map(str, page["ids"])))["pictures"]
    return [each["id"] for each in known if each["path"].rpartition("/")[2] == name]


def test_a_model_that_has_not_looked_is_waited_for_by_a_job(photos, serving, monkeypatch):
    monkeypatch.setattr("visterm.collection.scores.MOST_WHILE_ASKED", 10)
    client = serving(photos)
    complete = get(client, "pictures", q="sky")
    with Workspace(photos.folder) as before:
        before.train("knn-tags")  # scored nobody yet
    assert get(client, "collection")["unlooked"] == 50
    searched = get(client, "pictures", q="sky")
    assert searched["n_likely"] == sum(complete["told"])  # what people said is found all the same
    assert any("has not looked" in note for note in searched["understood"]["notes"])
    with Workspace(photos.folder) as job:
        job.features(for_models=True)
    assert get(client, "collection")["unlooked"] == 0
    searched = get(client, "pictures", q="sky")
    assert searched["n_likely"] > sum(complete["told"])
    assert not any("has not looked" in note for note in searched["understood"]["notes"])


@pytest.mark.parametrize("read_only", [False, True])
def test_a_new_server_has_pictures_looked_at(workspace, serving, monkeypatch, read_only):
    started = []
    monkeypatch.setattr(Jobs, "start", lambda self, kind, arguments=(): started.append(kind))
    with Workspace(workspace) as photos, serving(photos, read_only=read_only):
        pass
    assert started == ([] if read_only else ["features"])
    assert len(list(photos.thumbnails.folder.rglob("*.webp"))) <= 50

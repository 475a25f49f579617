"""One warm object under everything: kept in memory, renewed when it must be, safe from several threads."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from importlib import import_module
from pkgutil import walk_packages

import pytest

import visterm
from visterm.collection import Computed, Recipes
from visterm.documents import Document
from visterm.errors import InputError, VistermError
from visterm.exchange import Exported
from visterm.find import Drawing, Findings, Lookalikes, Suggestions
from visterm.labels import Addition, Edit, Labelled, Removal, Vocabulary
from visterm.learn import Evaluation, Models, TrainedModel
from visterm.upkeep import Checkup, Status
from visterm.workspace import Workspace


@pytest.fixture
def photos(workspace):
    with visterm.open(workspace) as opened:
        yield opened


def told(findings: Findings) -> set[str]:
    return {item.path.rpartition("/")[2] for item in findings.found if item.told}


def in_another_process(workspace, *arguments):
    subprocess.run([sys.executable, "-m", "visterm", *map(str, arguments), "-w", str(workspace)], check=True)


def test_the_five_lines_of_the_readme(tmp_path, postcards):
    shutil.copytree(postcards, tmp_path / "photos")
    photos = visterm.open(tmp_path / "photos", create=True)
    photos.add()
    photos.train("knn-tags")
    suggestions = photos.tag("pictures/000*.jpg")
    findings = photos.search("boat sea -snow")
    photos.close()
    assert len(suggestions.answers) == 10
    assert findings.found


def test_open_finds_and_creates(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="visterm init"):
        visterm.open(tmp_path)
    with visterm.open(tmp_path / "new", create=True) as made, visterm.open(tmp_path / "new") as found:
        assert made.folder == found.folder
    (tmp_path / "new" / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "new" / "inside")
    with visterm.open() as above:
        assert above.folder == tmp_path / "new"


# Documents


def every_document(photos: Workspace, postcards, tmp_path) -> dict[type[Document], Document]:
    picture = postcards / "pictures" / "0003.jpg"
    made = [
        photos.add(postcards),
        photos.label(picture, class_name="coast", tags=["boat"], no_tags=["snow"]),
        photos.vocabulary(),
        photos.rename("boat", "vessel"),
        photos.status(),
        photos.recipes(),
        photos.features("colour"),
        photos.train("knn", parameters={"n_neighbors": 3}),
        photos.models(),
        photos.evaluate("knn", "knn-tags"),
        photos.classify(picture),
        photos.tag(write=True),
        photos.search("vessel -snow xylophone", why=True, unlikely=True),
        photos.similar(picture),
        photos.show(picture, output=tmp_path / "seen.png"),
        photos.export(tmp_path / "labels.csv"),
        photos.doctor(),
        photos.remove(picture, dry_run=True),
    ]
    return {type(document): document for document in made}


def test_the_names_of_a_new_workspace_survive_a_power_cut(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr("visterm.collection.opened.sync_folder", flushed.append)
    visterm.open(tmp_path / "new" / "photos", create=True).close()
    assert flushed == [tmp_path / "new" / "photos", tmp_path / "new", tmp_path]
    visterm.open(tmp_path / "new" / "photos", create=True).close()
    assert len(flushed) == 3


def test_every_answer_is_the_document_that_its_schema_describes(photos, postcards, tmp_path):
    from pydantic import TypeAdapter

    documents = every_document(photos, postcards, tmp_path)
    assert set(documents) == {
        Addition, Labelled, Vocabulary, Edit, Status, Recipes, Computed, TrainedModel, Models, Evaluation, Suggestions,
        Findings, Lookalikes, Drawing, Exported, Checkup, Removal,
    }  # fmt: skip
    for kind, document in documents.items():
        plain = document.to_dict()
        schema = kind.schema()
        assert set(plain) == set(schema["properties"]), kind
        # What is written is what can be read back, and nothing of it is lost.
        assert TypeAdapter(kind).validate_python(plain).to_dict() == plain
        assert all(isinstance(item, dataclasses.Field) for item in dataclasses.fields(document))


def test_the_command_line_prints_the_document(photos, visterm_json, workspace):
    assert visterm_json("status", "-w", workspace) == photos.status().to_dict()
    assert visterm_json("vocabulary", "-w", workspace) == photos.vocabulary().to_dict()
    assert visterm_json("search", "boat -sky", "-w", workspace) == photos.search("boat -sky").to_dict()
    assert visterm_json("classify", "-w", workspace) == photos.classify().to_dict()


# Warm


def test_a_search_again_reads_nothing_again(photos, monkeypatch):
    first = photos.search("boat sky")
    for name in ("truth", "relabelled", "aliases"):
        monkeypatch.setattr(photos.catalogue, name, lambda *a, name=name: pytest.fail(f"read again: {name}"))
    monkeypatch.setattr("visterm.models.load_model", lambda *a: pytest.fail("loaded again"))
    monkeypatch.setattr("visterm.find.searchers.Searcher", lambda *a, **k: pytest.fail("made again"))
    assert photos.search("boat sky") == first


def test_a_label_counts_at_the_next_call_without_reading_everything(photos, postcards, monkeypatch):
    photos.search("boat")
    monkeypatch.setattr(photos.catalogue, "truth", lambda: pytest.fail("everything was read again"))
    photos.label(postcards / "pictures" / "0005.jpg", tags=["heirloom"], no_tags=["sky"])
    assert told(photos.search("heirloom")) == {"0005.jpg"}
    assert "0005.jpg" not in {f.path.rpartition("/")[2] for f in photos.search("sky", limit=50, unlikely=True).found}
    photos.label(postcards / "pictures" / "0006.jpg", tags=["heirloom"])
    assert told(photos.search("heirloom")) == {"0005.jpg", "0006.jpg"}


def test_suggestions_of_models_leave_the_searcher_as_it_is(photos, monkeypatch):
    first = photos.search("boat")
    photos.tag(write=True)
    monkeypatch.setattr(photos.catalogue, "truth", lambda: pytest.fail("everything was read again"))
    assert photos.search("boat") == first


def test_what_another_process_changes_is_seen_at_the_next_call(photos, workspace, postcards):
    photos.search("boat")
    in_another_process(workspace, "label", postcards / "pictures" / "0007.jpg", "--tag", "souvenir")
    assert told(photos.search("souvenir")) == {"0007.jpg"}
    in_another_process(workspace, "vocabulary", "rename", "souvenir", "keepsake")
    assert told(photos.search("keepsake")) == {"0007.jpg"}
    in_another_process(workspace, "remove", postcards / "pictures" / "0007.jpg")
    assert told(photos.search("keepsake")) == set()
    assert photos.status().n_pictures == 49


def test_a_change_past_visterm_is_seen_too(photos):
    photos.search("zeppelin")
    other = sqlite3.connect(photos.catalogue.file)
    with other:
        other.execute("UPDATE picture SET caption = 'a zeppelin' WHERE id = 3")
    other.close()
    assert len(told(photos.search("zeppelin"))) == 1


def test_a_model_that_appears_answers_next(photos, workspace):
    assert photos.search("boat").model == "knn-tags@1"
    in_another_process(workspace, "train", "knn-tags")
    assert photos.search("boat").model == "knn-tags@2"
    assert [info.reference for info in photos.models().models] == ["knn@1", "knn-tags@1", "knn-tags@2"]
    shutil.rmtree(workspace / ".visterm" / "models" / "knn-tags" / "2")
    assert photos.search("boat").model == "knn-tags@1"


def test_training_fits_at_most_twice(photos, monkeypatch):
    from visterm.neighbours import KnnAnnotator

    fits = []
    original = KnnAnnotator.fit
    monkeypatch.setattr(KnnAnnotator, "fit", lambda self, *a, **k: fits.append(1) or original(self, *a, **k))
    photos.train("knn-tags")
    assert len(fits) == 2


# Threads


def test_threads_search_while_one_labels(photos, postcards):
    errors: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        try:
            while not done.is_set():
                photos.search("boat sky")
                photos.search("class:coast")
                photos.status()
        except BaseException as error:
            errors.append(error)

    def label() -> None:
        try:
            for number in range(30):
                picture = postcards / "pictures" / f"{number:04d}.jpg"
                photos.label(picture, tags=[f"mark {number}"])
                assert told(photos.search(f'"mark {number}"')) == {picture.name}  # no stale label of its own
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threads = [threading.Thread(target=search) for _ in range(8)] + [threading.Thread(target=label)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_closing_ends_it_for_all_threads(photos):
    photos.search("boat")
    thread = threading.Thread(target=photos.status)
    thread.start()
    thread.join()
    photos.close()
    photos.close()
    with pytest.raises(VistermError, match="closed"):
        photos.search("boat")


def test_models_use_the_names_of_today(photos, postcards):
    """Dropped names are not suggested, renamed ones by their new name, and merged ones once."""
    picture = postcards / "pictures" / "0001.jpg"

    def named(made: Suggestions) -> list[str]:
        return [likely.name for likely in made.answers[0].labels]

    first, second, *_ = named(photos.classify(picture))
    photos.drop(first, kind="class")
    assert named(photos.classify(picture))[0] == second
    best, other, third, *_ = named(photos.tag(picture, n_best=9))
    photos.drop(best)
    photos.rename(other, "my own")
    photos.merge(third, into="my own")
    assert named(photos.tag(picture, n_best=9))[0] == "my own"
    assert {best, other, third}.isdisjoint(named(photos.tag(picture, n_best=9)))
    assert named(photos.tag(picture, n_best=9)).count("my own") == 1


# What a person names


def test_pictures_are_named_by_path_pattern_and_several(photos, postcards, monkeypatch):
    names = [postcards / "pictures" / f"000{i}.jpg" for i in (1, 2)]
    assert [a.path for a in photos.tag(names).answers] == [str(name) for name in names]
    assert len(photos.tag(str(postcards / "pictures" / "000*.jpg")).answers) == 10
    monkeypatch.chdir(postcards)
    assert len(photos.classify("pictures/001?.jpg").answers) == 10
    with pytest.raises(InputError, match="no file matches"):
        photos.tag("nowhere/*.jpg")
    with pytest.raises(InputError, match="say what to note"):
        photos.label(names[0])
    with pytest.raises(InputError, match="does not exist"):
        photos.label("nowhere.jpg", tags=["x"])


def test_captions_and_file_names_may_be_in_another_language(tmp_path, postcards):
    for i, name in enumerate(("alte häuser", "ein haus", "bäume")):
        shutil.copy(postcards / "pictures" / f"000{i}.jpg", tmp_path / f"{name}.jpg")
    with visterm.open(tmp_path, create=True, language="de") as german:
        german.add()
        found = german.search("haus")
        assert {item.path for item in found.found} == {"alte häuser.jpg", "ein haus.jpg"}
    with visterm.open(tmp_path) as again:
        assert again.catalogue.language == "de"
    with pytest.raises(InputError, match="language"):
        visterm.open(tmp_path, create=True, language="Deutsch")


def test_notebooks_show_thumbnails(photos, postcards):
    shown = photos.search("boat")._repr_html_()
    assert shown.count("<img") == len(photos.search("boat").found) > 0
    assert "people say so" in shown
    assert photos.similar(postcards / "pictures" / "0003.jpg", limit=3)._repr_html_().count("<img") == 3
    classified = photos.classify(postcards / "pictures" / "0003.jpg")
    assert classified.answers[0].labels[0].name in classified._repr_html_()
    photos.label(postcards / "pictures" / "0004.jpg", tags=["<script>"])
    assert "nothing found" in photos.search("filename:nowhere")._repr_html_()
    assert "<script>" not in photos.search("tag:script", limit=1)._repr_html_()


def test_one_tag_may_be_given_by_itself(photos, postcards):
    photos.label(postcards / "pictures" / "0005.jpg", tags="heirloom", no_tags="sky")
    assert "heirloom" in {term.name for term in photos.vocabulary().tag.terms}
    assert told(photos.search("heirloom")) == {"0005.jpg"}
    with pytest.raises(InputError, match="a query is text"):
        photos.search(5)


def test_a_search_with_a_complete_index_loads_neither_model_nor_scikit_learn(workspace):
    """What makes `visterm search` start quickly is asserted here; how quick it is, benchmarks/workspace.py measures."""
    code = (
        "import sys, visterm\n"
        "with visterm.open(sys.argv[1]) as photos: assert photos.search('boat sky').found\n"
        "print([name for name in ('sklearn', 'numba', 'safetensors', 'onnxruntime') if name in sys.modules])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code, str(workspace)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert "sklearn" in runs[0]  # the first search makes the index
    assert runs[1].strip() == "[]"


def test_every_document_has_a_schema(tmp_path):
    from visterm.faces.creating import create
    from visterm.learn.reports import methods
    from visterm.upkeep.words import show

    for info in walk_packages(visterm.__path__, "visterm."):
        if info.name.endswith("__main__"):
            continue
        for name, kind in vars(import_module(info.name)).items():
            own = isinstance(kind, type) and issubclass(kind, Document) and kind.__module__ == info.name
            if own and dataclasses.is_dataclass(kind):
                assert kind.schema()["properties"], name
    for document in (create(tmp_path / "new"), methods(), show()):  # those that no workspace answers with
        assert set(document.to_dict()) == set(type(document).schema()["properties"])


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_the_owner_may_read_what_visterm_writes(tmp_path, postcards, umask):
    before = os.umask(umask)
    try:
        with Workspace.create(tmp_path / "photos") as photos:
            photos.add([postcards])
            photos.train("knn-tags", recipe="colour")
            photos.search("sky")
            photos.make_thumbnails()
            photos.jobs.start("add")
            assert photos.jobs._children[0].wait(60) == 0
        files = [path for path in (tmp_path / "photos" / ".visterm").rglob("*") if path.is_file()]
        folders = {path.parent.relative_to(tmp_path / "photos" / ".visterm").parts[:1] for path in files}
        assert folders >= {(), ("features",), ("models",), ("index",), ("thumbnails",), ("jobs",)}
        assert [path for path in files if path.stat().st_mode & 0o077] == []
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_other_users_of_the_computer_cannot_read_a_workspace(tmp_path):
    before = os.umask(0o022)
    try:
        Workspace.create(tmp_path / "photos").close()
        state = tmp_path / "photos" / ".visterm"
        assert state.stat().st_mode & 0o777 == 0o700
        assert (tmp_path / "photos").stat().st_mode & 0o777 == 0o755, "only what Visterm writes is closed"
        state.chmod(0o755)  # as an earlier version made it
        Workspace(tmp_path / "photos").close()
        assert state.stat().st_mode & 0o777 == 0o700
        state.chmod(0o2775)  # a team that shares it has said so
        Workspace(tmp_path / "photos").close()
        assert state.stat().st_mode & 0o7777 == 0o2770
    finally:
        os.umask(before)

"""The three faces of one collection, asked and told the same: Python, the command line, the REST API.

Each method that changes something returns whether it was done; False is a clear refusal. Reading methods return plain
values in which the faces can be compared. Pictures are named by their paths in the folder, or by content hash.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from attack_harness import in_process
from click.testing import CliRunner
from starlette.testclient import TestClient
from typer.main import get_command

from visterm.errors import VistermError
from visterm.faces.cli import app
from visterm.faces.web.application import application
from visterm.faces.web.guard import LOOPBACK, Rules
from visterm.labels.backups import restore as restore_backup
from visterm.workspace import Workspace

COMMAND = get_command(app)
Counts = tuple[int, int, int]


class PythonFace:
    """A workspace that stays open."""

    name = "python"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.photos = Workspace(folder)

    def close(self) -> None:
        self.photos.close()

    def label(self, paths: list[str], **said: Any) -> bool:
        return self._tried(lambda: self.photos.label([self.folder / path for path in paths], new=True, **said))

    def rename(self, kind: str, old: str, new: str) -> bool:
        return self._tried(lambda: self.photos.rename(old, new, kind=kind))

    def merge(self, kind: str, names: list[str], into: str) -> bool:
        return self._tried(lambda: self.photos.merge(names, into=into, kind=kind))

    def merge_forms(self) -> bool:
        return self._tried(lambda: self.photos.propose_merges(apply=True))

    def drop(self, kind: str, name: str) -> bool:
        return self._tried(lambda: self.photos.drop(name, kind=kind))

    def restore(self, kind: str, name: str) -> bool:
        return self._tried(lambda: self.photos.restore(name, kind=kind))

    def undo(self) -> bool:
        return self._tried(self.photos.undo)

    def redo(self) -> bool:
        return self._tried(self.photos.redo)

    def add(self, *, again: bool) -> bool:
        return self._tried(lambda: self.photos.add(caption_tags=False, again=again))

    def as_new(self, path: str) -> bool:
        return self._tried(lambda: self.photos.add(self.folder / path, as_new=True))

    def remove(self, paths: list[str]) -> bool:
        return self._tried(lambda: self.photos.remove([self.folder / path for path in paths]))

    def backup(self, file: Path) -> bool:
        return self._tried(lambda: self.photos.backup(file))

    def restore_backup(self, file: Path) -> bool:
        return self._tried(lambda: restore_backup(self.folder, file))

    def _tried(self, command: Any) -> bool:
        try:
            command()
        except VistermError as error:
            self.why = str(error)
            return False
        return True

    def status(self) -> dict[str, Any]:
        return self.photos.status().to_dict()

    def vocabulary(self) -> dict[str, Any]:
        return self.photos.vocabulary().to_dict()

    def told(self, word: str) -> set[str]:
        """The pictures that people's words find, by path."""
        return {found.path for found in self.photos.search(word, limit=100).found if found.told}

    def labels(self) -> dict[str, dict[str, Any]]:
        """By content hash: class, tags and denied tags with their sources, and the caption."""
        return {
            picture.sha256: {
                "class": picture.class_label and (picture.class_label.name, picture.class_label.source),
                "tags": {label.name: label.source for label in picture.tags if label.state == "accepted"},
                "denied": {label.name: label.source for label in picture.tags if label.state == "rejected"},
                "caption": picture.caption,
            }
            for picture in self.photos.catalogue.pictures()
        }


class CommandFace:
    """The command line, each command as a new call, in this process."""

    name = "cli"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def close(self) -> None:
        """Nothing is kept open."""

    def _run(self, *arguments: object) -> tuple[int, str, str]:
        words = [str(each) for each in arguments]
        done = CliRunner().invoke(COMMAND, words, prog_name="visterm")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    def _done(self, *arguments: object) -> bool:
        code, _, err = self._run(*arguments, "--workspace", self.folder)
        assert (code == 0) != err.startswith("visterm: "), f"visterm {arguments}: {code}, {err}"
        assert "Traceback" not in err, err
        return code == 0

    def _asked(self, *arguments: object) -> dict[str, Any]:
        code, out, err = self._run(*arguments, "--json", "--workspace", self.folder)
        assert code == 0, f"visterm {arguments}: {err}"
        return json.loads(out)

    def label(
        self,
        paths: list[str],
        *,
        class_name: str | None = None,
        tags: tuple[str, ...] = (),
        no_tags: tuple[str, ...] = (),
        clear: str | None = None,
        accept: bool = False,
    ) -> bool:
        options = [part for name in tags for part in ("--tag", name)]
        options += [part for name in no_tags for part in ("--no-tag", name)]
        options += [] if class_name is None else ["--class", class_name]
        options += [] if clear is None else ["--clear", clear]
        options += ["--accept"] if accept else []
        return self._done("label", *(self.folder / path for path in paths), *options, "--new")

    def rename(self, kind: str, old: str, new: str) -> bool:
        return self._done("vocabulary", "rename", old, new, "--kind", kind)

    def merge(self, kind: str, names: list[str], into: str) -> bool:
        return self._done("vocabulary", "merge", *names, "--into", into, "--kind", kind)

    def merge_forms(self) -> bool:
        return self._done("vocabulary", "suggest", "--apply")

    def drop(self, kind: str, name: str) -> bool:
        return self._done("vocabulary", "drop", name, "--kind", kind)

    def restore(self, kind: str, name: str) -> bool:
        return self._done("vocabulary", "restore", name, "--kind", kind)

    def undo(self) -> bool:
        return self._done("undo")

    def redo(self) -> bool:
        return self._done("redo")

    def add(self, *, again: bool) -> bool:
        return self._done("add", self.folder, "--no-caption-tags", *(["--again"] if again else []))

    def as_new(self, path: str) -> bool:
        return self._done("add", self.folder / path, "--as-new")

    def remove(self, paths: list[str]) -> bool:
        return self._done("remove", *(self.folder / path for path in paths))

    def backup(self, file: Path) -> bool:
        return self._done("backup", file)

    def restore_backup(self, file: Path) -> bool:
        return self._done("restore", file)

    def status(self) -> dict[str, Any]:
        return self._asked("status")

    def vocabulary(self) -> dict[str, Any]:
        return self._asked("vocabulary")

    def told(self, word: str) -> set[str]:
        found = self._asked("search", "--limit", 100, word)
        return {each["path"] for each in found["found"] if each["told"]}

    def labels(self) -> dict[str, dict[str, Any]]:
        """As an export tells it."""
        file = self.folder.with_name(f"{self.folder.name}-export.jsonl")
        assert self._done("export", file, "--yes")
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        file.unlink()
        return {
            row["sha256"]: {
                "class": row.get("class") and (row["class"], row["class_source"]),
                "tags": dict(zip(row.get("tags") or (), row.get("tag_sources") or (), strict=True)),
                "denied": dict(zip(row.get("rejected_tags") or (), row.get("rejected_tag_sources") or (), strict=True)),
                "caption": row.get("caption"),
            }
            for row in rows
        }


class ProcessFace(CommandFace):
    """The command line in processes of its own."""

    name = "process"

    def _run(self, *arguments: object) -> tuple[int, str, str]:
        done = in_process(*arguments, folder=self.folder)
        return done.code, done.out, done.err


class WebFace:
    """The REST API, asked inside this process; a server that stays open. Adding and backups are not its business."""

    name = "api"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.photos = Workspace(folder)
        app = application(self.photos, Rules(frozenset(LOOPBACK), "a-token"))
        headers = {"Authorization": "Bearer a-token"}
        self._client = TestClient(app, base_url="http://localhost", headers=headers)
        self._open = ExitStack()
        self._client.portal = self._open.enter_context(start_blocking_portal())  # one loop for all requests

    def close(self) -> None:
        self._open.close()
        self._client.close()
        self.photos.close()

    def _post(self, route: str, **body: Any) -> bool:
        answer = self._client.post(f"/api/v1{route}", json=body)
        assert answer.status_code in (200, 400), f"{route} {body}: {answer.status_code} {answer.text}"
        return answer.status_code == 200

    def _get(self, route: str, **parameters: Any) -> Any:
        answer = self._client.get(f"/api/v1{route}", params=parameters)
        assert answer.status_code == 200, f"{route} {parameters}: {answer.status_code} {answer.text}"
        return answer.json()

    def _ids(self, paths: list[str]) -> list[int]:
        pictures = [self.photos.picture(path) for path in paths]
        return list(dict.fromkeys(picture.id for picture in pictures if picture is not None))

    def label(
        self,
        paths: list[str],
        *,
        class_name: str | None = None,
        tags: tuple[str, ...] = (),
        no_tags: tuple[str, ...] = (),
        clear: str | None = None,
    ) -> bool:
        said = {"class": class_name, "tags": list(tags), "no_tags": list(no_tags), "clear": [clear] if clear else []}
        return self._post("/labels", ids=self._ids(paths), new=True, **said)

    def rename(self, kind: str, old: str, new: str) -> bool:
        return self._post("/vocabulary/rename", kind=kind, old=old, new=new)

    def merge(self, kind: str, names: list[str], into: str) -> bool:
        return self._post("/vocabulary/merge", kind=kind, names=names, into=into)

    def drop(self, kind: str, name: str) -> bool:
        return self._post("/vocabulary/drop", kind=kind, names=[name])

    def restore(self, kind: str, name: str) -> bool:
        return self._post("/vocabulary/restore", kind=kind, names=[name])

    def undo(self) -> bool:
        return self._post("/undo")

    def redo(self) -> bool:
        return self._post("/redo")

    def status(self) -> dict[str, Any]:
        return self._get("/status")

    def vocabulary(self) -> dict[str, Any]:
        return self._get("/vocabulary")

    def told(self, word: str) -> set[str]:
        """By content hash."""
        found = self._get("/search", q=word, limit=100)
        return {row["key"] for row in found["found"] if row["told"]}

    def labels(self) -> dict[str, dict[str, Any]]:
        """Of the pictures that the page lists: those that have a file."""
        listed = self._get("/pictures", limit=100)
        found = [self._get(f"/pictures/{number}") for number in listed["ids"]]
        return {
            picture["key"]: {
                "class": _accepted_class(picture),
                "tags": {label["name"]: label["source"] for label in picture["tags"] if label["state"] == "accepted"},
                "denied": {label["name"]: label["source"] for label in picture["tags"] if label["state"] == "rejected"},
                "caption": picture["caption"],
            }
            for picture in found
        }


def _accepted_class(picture: dict[str, Any]) -> tuple[str, str] | None:
    label = picture["class"]
    return None if label is None else (label["name"], label["source"])

"""The work during which the power is cut: what people do, by the command line, the library and the REST API.

Run by ``powercuts.py`` under strace. After each command that ended well it writes ``DONE number`` to its output, so
that the record of system calls says what was confirmed when.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from attack_harness import METHOD, RECIPE
from fork_server import import_commands
from starlette.testclient import TestClient

import visterm
from visterm.faces.cli import main as command_line
from visterm.faces.web.application import application
from visterm.faces.web.guard import LOOPBACK, Rules

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("init",),
    ("add", "photos"),
    ("label", "photos/0001.png", "photos/0003.png", "--tag", "mine", "--class", "warm", "--new"),
    ("label", "photos/0005.png", "--tag", "holiday", "--no-tag", "red", "--new"),
    ("vocabulary", "rename", "mine", "ours"),
    ("label", "photos/0007.png", "--tag", "ours", "--tag", "night", "--new"),
    ("vocabulary", "merge", "ours", "holiday", "--into", "holiday"),
    ("export", "labels.csv"),
    ("backup", "labels.sqlite"),
    ("vocabulary", "drop", "night"),
    ("undo",),
    ("redo",),
    ("vocabulary", "restore", "ours"),
    ("features", RECIPE),
    ("train", METHOD, "--recipe", RECIPE),
    ("tag", "--best", "2", "--write"),
    ("label", "photos/0009.png", "--accept"),
    ("label", "photos/0011.png", "--class", "cold", "--tag", "ours"),
    ("export", "--format", "xmp", "--yes"),
    ("remove", "photos/0006.png"),
    ("add", "photos", "--again"),
    ("label", "photos/0006.png", "--tag", "back again", "--new"),
    ("export", "labels.csv"),
    ("restore", "labels.sqlite"),
    ("label", "photos/0002.png", "--tag", "after the restore", "--new"),
)
N_LABELS = 6


def confirm(number: int) -> int:
    """Tell that a command has ended well."""
    os.write(1, f"DONE {number}\n".encode())
    return number + 1


def by_command_line(arguments: tuple[str, ...]) -> None:
    """One command in a process of its own."""
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, arguments
        return
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["visterm", *arguments]
        command_line()
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        os._exit(code)


def main() -> None:
    import_commands()
    number = 1
    for arguments in COMMANDS:
        by_command_line(arguments)
        number = confirm(number)
    with visterm.open(Path()) as photos:
        for place in range(N_LABELS):
            photos.label(f"photos/{place:04}.png", tags=[f"by python {place}"], new=True)
            number = confirm(number)
        app, headers = application(photos, Rules(frozenset(LOOPBACK), "a-token")), {"Authorization": "Bearer a-token"}
        client = TestClient(app, base_url="http://localhost", headers=headers)
        for place in range(N_LABELS):
            body = {"ids": [1 + place], "tags": [f"by the page {place}"], "new": True}
            assert client.post("/api/v1/labels", json=body).status_code == 200
            number = confirm(number)


if __name__ == "__main__":
    main()

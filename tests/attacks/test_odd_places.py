"""Workspaces in places that are not one person's own disk: shared by two users, or without working locks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attack_harness import METHOD, RECIPE, compiler, in_process, is_clear, make_pictures, truth_of, why_no_shim
from fork_server import import_commands

import visterm
from visterm.errors import VistermError

HERE = Path(__file__).parent
GROUP, ANNA, BERT, CLARA, OTHERS = 4242, 4001, 4002, 4003, 4343


@pytest.fixture(scope="module")
def no_locks(tmp_path_factory) -> Path:
    """A library that takes the locks away."""
    if reason := why_no_shim():
        pytest.skip(reason)
    library = tmp_path_factory.mktemp("locks") / "no_locks.so"
    command = [compiler(), "-O1", "-shared", "-fPIC", "-w", "-o", str(library), str(HERE / "no_locks.c"), "-ldl"]
    subprocess.run(command, check=True)
    return library


@pytest.mark.parametrize("how", ["fail", "lie"])
def test_without_locks_a_command_works_or_says_why(no_locks, tmp_path, how):
    make_pictures(tmp_path / "photos", range(4))
    settings = {"LD_PRELOAD": str(no_locks), "NO_LOCKS": how}
    commands = (("init",), ("add", "photos"), ("label", "photos/0001.png", "--tag", "mine"), ("features", RECIPE))
    codes = []
    for arguments in commands:
        done = in_process(*arguments, folder=tmp_path, **settings)
        assert done.code == 0 or is_clear(done.err), done.err
        codes.append(done.code)
    if how == "lie":  # one process at a time needs no locks
        assert codes == [0, 0, 0, 0]
        assert any("mine" in label for label in truth_of(tmp_path).of_people)
    else:
        assert codes[0] != 0
    for arguments in commands:  # the folder is whole: where locks work, everything works
        assert in_process(*arguments, folder=tmp_path).code == 0
    assert json.loads(in_process("doctor", "--json", folder=tmp_path).out)["problems"] == []


def as_user(user: int, group: int, work: Callable[[], None], umask: int) -> str:
    """Let a child that is this user do the work; why it was refused, or nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        answer = "died"
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)
            os.umask(umask)
            os.environ["HOME"] = "/nonexistent"
            work()
            answer = ""
        except VistermError as error:
            answer = f"refused: {error}"
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        finally:
            os.write(writing, answer.encode())
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        return pipe.read()


def use(folder: Path, tag: str) -> None:
    """Everything that a person does in a small collection."""
    with visterm.open(folder, create=True) as photos:
        photos.add(folder / "photos")
        photos.label([folder / "photos/0001.png", folder / "photos/0003.png"], tags=[tag], new=True)
        photos.features(RECIPE)
        photos.train(METHOD, recipe=RECIPE)
        photos.search("red")
        photos.export(folder / f"{tag}.csv")


def look(folder: Path) -> None:
    with visterm.open(folder) as photos:
        assert photos.status().n_pictures == 8
        photos.search("red")


@pytest.fixture
def shared(tmp_path):
    """A folder of a group, and all that the work imports: other users may not read where Python lies."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only the superuser of a Linux machine can be two other users")
    import_commands()
    make_pictures(tmp_path / "warm" / "photos", range(8))
    use(tmp_path / "warm", "warm")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder != Path("/") and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    folder = tmp_path / "shared"
    make_pictures(folder / "photos", range(8))
    os.chown(folder, ANNA, GROUP)
    folder.chmod(0o2775)
    return folder


def test_two_users_of_one_group_share_a_collection(shared):
    assert as_user(ANNA, GROUP, lambda: use(shared, "anna"), umask=0o002) == ""
    for file in (shared / ".visterm").glob("catalogue.sqlite*"):
        file.chmod(0o664)  # SQLite gives its file to one user only; docs/robustness.md says so
    assert as_user(BERT, GROUP, lambda: use(shared, "bert"), umask=0o002) == ""
    assert as_user(ANNA, GROUP, lambda: use(shared, "anna again"), umask=0o002) == ""
    assert {label[2] for label in truth_of(shared).of_people} == {"anna", "bert", "anna again"}


def test_a_user_who_may_not_write_is_told_and_changes_nothing(shared):
    assert as_user(ANNA, GROUP, lambda: use(shared, "anna"), umask=0o022) == ""
    before = truth_of(shared)
    refused = as_user(BERT, GROUP, lambda: use(shared, "bert"), umask=0o022)
    assert refused.startswith("refused: ")
    assert is_clear(refused)
    assert as_user(BERT, GROUP, lambda: look(shared), umask=0o022) == ""
    stranger = as_user(CLARA, OTHERS, lambda: look(shared), umask=0o022)  # labels are nobody else's business
    assert "belongs to another user" in stranger
    assert truth_of(shared) == before

"""The tool that changes lines: it finds what no test notices, in a tiny package."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("mutants", Path(__file__).with_name("mutants.py"))
mutants = importlib.util.module_from_spec(_spec)
sys.modules["mutants"] = mutants
_spec.loader.exec_module(mutants)

SOURCE = '''"""A module."""
from typing import ClassVar


def within(x: int, low: int = 0) -> bool:
    """Whether x is in the range."""
    total = x - low
    if x < low:
        return False
    total += 1
    print("told")
    return total <= 10  # at most nine more
'''


def test_every_kind_of_change_is_proposed():
    changes = {one.change for one in mutants.mutations_of(SOURCE, "m.py")}
    assert changes == {
        "x - low -> x + low",
        "x < low -> x <= low",
        "x < low -> not (x < low)",
        "False -> True",
        "total += 1 -> pass",
        "1 -> 2",
        "total <= 10 -> total < 10",
        "10 -> 11",
        "0 -> 1",
    }


def test_equal_changes_of_a_line_have_their_own_names():
    found = mutants.mutations_of("f(a=True, b=True)\n", "f.py")
    assert [one.change for one in found if "True" in one.change[:4]] == ["True -> False", "True -> False (2)"]
    assert found[-1].applied("f(a=True, b=True)\n") == "f(a=True, b=False)\n"


def test_changed_modules_are_still_python():
    for one in mutants.mutations_of(SOURCE, "m.py"):
        changed = one.applied(SOURCE)
        assert changed != SOURCE
        ast.parse(changed)


def test_types_constraints_and_texts_are_left_alone():
    source = (
        "from typing import Literal\n"
        "class A:\n"
        "    _parameter_constraints = {'k': [1]}\n"
        "    def f(self, n: Literal[3]) -> Literal[4]:\n"
        "        return f'{n + 1}' + 'é' * 2\n"
    )
    assert [one.change for one in mutants.mutations_of(source, "a.py")] == ["2 -> 3"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the tests of the tiny package need none
    root = tmp_path / "project"
    (root / "src" / "tiny" / "sums").mkdir(parents=True)
    (root / "tests" / "sums").mkdir(parents=True)
    (root / "tests" / "tools").mkdir()
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\n")
    (root / "src" / "tiny" / "__init__.py").write_text("")
    (root / "src" / "tiny" / "sums" / "__init__.py").write_text("")
    (root / "src" / "tiny" / "sums" / "add.py").write_text("def same(a):\n    return a + 0\n")
    (root / "tests" / "sums" / "test_add.py").write_text(
        "from tiny.sums.add import same\n\ndef test_same():\n    assert same(2) == 2\n"
    )
    return root


def test_survivors_are_told_and_known_equivalents_left_out(project, capsys):
    arguments = ["--root", str(project), "--package", "tiny", "--packages", "sums", "--sample", "99", "--timeout", "60"]
    assert mutants.main(arguments) == 1
    said = capsys.readouterr().out
    assert "killed 1 of 2" in said
    assert "survived: src/tiny/sums/add.py:2: a + 0 -> a - 0" in said
    (project / "tests" / "tools" / "equivalents.toml").write_text(
        '[[mutation]]\nfile = "src/tiny/sums/add.py"\nline = "return a + 0"\nchange = "a + 0 -> a - 0"\n'
        'reason = "both are a"\n'
    )
    assert mutants.main(arguments) == 0
    assert "killed 1 of 1" in capsys.readouterr().out
    assert (project / "src" / "tiny" / "sums" / "add.py").read_text() == "def same(a):\n    return a + 0\n"


def test_an_equivalent_needs_a_reason_and_tests_must_pass_first(project):
    file = project / "tests" / "tools" / "equivalents.toml"
    file.write_text('[[mutation]]\nfile = "x"\nline = "y"\nchange = "z"\n')
    with pytest.raises(SystemExit, match="needs a reason"):
        mutants.equivalents(file)
    file.unlink()
    (project / "tests" / "sums" / "test_add.py").write_text("def test_wrong():\n    assert False\n")
    with pytest.raises(SystemExit, match="without any change"):
        mutants.main(["--root", str(project), "--package", "tiny", "--packages", "sums"])

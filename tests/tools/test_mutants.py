"""The tool that changes lines: it finds what no test notices, in a tiny package."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import mutants
import pytest
from source_changes import briefs, equivalents, mutations_of

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
    changes = {one.change for one in mutations_of(SOURCE, "m.py")}
    assert changes == {
        "x - low -> x + low",
        "x < low -> x <= low",
        "x < low -> not (x < low)",
        "False -> True",
        "total += 1 -> pass",
        "1 -> 2",
        "total <= 10 -> total < 10",
        "10 -> 11",
    }


def test_equal_changes_of_a_line_have_their_own_names():
    found = mutations_of("f(a=True, b=True)\n", "f.py")
    assert [one.change for one in found if "True" in one.change[:4]] == ["True -> False", "True -> False (2)"]
    assert found[-1].applied("f(a=True, b=True)\n") == "f(a=True, b=False)\n"


def test_changed_modules_are_still_python():
    for one in mutations_of(SOURCE, "m.py"):
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
    assert [one.change for one in mutations_of(source, "a.py")] == ["2 -> 3"]


@pytest.mark.parametrize(
    "source",
    [
        "def f(k=16, *, tol=-1e-4): ...\n",
        "_LIMIT: int = 2**22\n",
        "@declared\nclass A:\n    k: int = 16\n",
        "PATIENCE, _WORTH = 3, 1e-4\n",
        "_GRID = np.linspace(0.02, 0.8, 79)\n",
        "size = max(1, _BLOCK_BYTES // (8 * max(1, n)))\n",
        "near = gap <= self.tol\n",
        "small = n < _EXACT\n",
        "x = rows.astype(kind, copy=False)\n",
        "values = eigh(G, overwrite_a=True, check_finite=False)\n",
        "total = counts.sum() + np.finfo(np.float64).tiny\n",
        "title = Text(name, fontsize=9)\n",
        "with progress.task('Fitting', total=n + 1) as bar:\n    bar.advance(1)\n",
    ],
)
def test_chosen_numbers_blocks_and_progress_are_left_alone(source):
    assert mutations_of(source, "f.py") == []


def test_what_only_looks_like_a_chosen_number_is_changed():
    source = "def f(given=True):\n    limit = 3\n    return max(1, given // limit)\nLIMIT = known + 1\n"
    changes = [one.change for one in mutations_of(source, "f.py")]
    assert changes == [
        "True -> False",
        "3 -> 4",
        "1 -> 2",
        "given // limit -> given / limit",
        "known + 1 -> known - 1",
        "1 -> 2",
    ]
    ties = [one.change for one in mutations_of("a = near == TOP\nif n > K: ...\n", "f.py")]
    assert ties == ["near == TOP -> near != TOP", "n > K -> n >= K", "n > K -> not (n > K)"]


def test_a_change_knows_the_lines_of_its_statement():
    source = "K = n + 1\ndef f(x):\n    if (\n        x > 0\n    ):\n        return (\n            x * 2\n        )\n"
    found = {one.change: one.statement for one in mutations_of(source, "f.py")}
    assert found["n + 1 -> n - 1"] is None
    assert found["x > 0 -> x >= 0"] == (3, 5)
    assert found["x * 2 -> x / 2"] == (6, 8)


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


def try_all(project):
    command = [sys.executable, Path(mutants.__file__), "--root", project, "--package", "tiny", "--packages", "sums"]
    done = subprocess.run([*command, "--sample", "99"], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_survivors_are_told_and_known_equivalents_left_out(project):
    code, said = try_all(project)
    assert code == 1
    assert "killed 1 of 2" in said
    assert "survived: src/tiny/sums/add.py:2: a + 0 -> a - 0" in said
    source = "def same(a):\n    # mutants: + -> -: both are a\n    return a + 0\n"
    (project / "src" / "tiny" / "sums" / "add.py").write_text(source)
    code, said = try_all(project)
    assert code == 0
    assert "killed 1 of 1" in said
    assert (project / "src" / "tiny" / "sums" / "add.py").read_text() == source


def test_what_the_tests_of_a_package_miss_is_tried_on_the_tests_of_all_methods(project):
    (project / "tests" / "contracts").mkdir()
    (project / "tests" / "contracts" / "test_every.py").write_text(
        "from tiny.sums.add import same\n\ndef test_kind():\n    assert str(same(-0.0)) == '0.0'\n"
    )
    code, said = try_all(project)
    assert code == 0
    assert "killed 2 of 2" in said


def test_tests_must_pass_first(project):
    (project / "tests" / "sums" / "test_add.py").write_text("def test_wrong():\n    assert False\n")
    code, said = try_all(project)
    assert code == 1
    assert "without any change" in said


@pytest.mark.parametrize("comment", ["+ -> -", "+ -> -:", "+ -> *: r", "- -> +: r", "2 -> 3, 1 -> 2: r"])
def test_a_comment_needs_a_reason_and_changes_of_the_next_line(comment):
    with pytest.raises(SystemExit, match=r"f\.py:2: .* needs a reason and changes among"):
        equivalents(f"# mutants: {comment}\nx = y(z + 1)\nx = a - b\n", "f.py")


def test_comments_name_the_part_of_a_change_that_differs():
    source = "def f(x):\n    if x[0] <= 5 or x[1] <= 6:\n        x.sort()\n    return max(x[0]) ** 2\n"
    assert list(briefs(mutations_of(source, "f.py")).values()) == [
        *("<= -> <", "not", "0 -> 1", "5 -> 6", "<= -> < (2)", "1 -> 2", "6 -> 7"),
        *("pass", "** -> *", "0 -> 1", "2 -> 3"),
    ]
    marked = source.replace(
        "    if", "    # mutants: <= -> < (2), not: long\n    #   reason\n    # mutants: 5 -> 6: r\n    if"
    )
    assert sorted(one.change for one in equivalents(marked, "f.py")) == [
        "5 -> 6",
        "x[0] <= 5 or x[1] <= 6 -> not (x[0] <= 5 or x[1] <= 6)",
        "x[1] <= 6 -> x[1] < 6",
    ]


def test_every_comment_is_about_a_change_that_would_be_made():
    files = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
    assert sum(len(equivalents(file.read_text(encoding="utf-8"), file.name)) for file in files) > 100


KERNELS = {
    "_kernels_low.py": "from visterm.compute.compiled import compiled\n\n@compiled\ndef one(x):\n    return x + 1\n",
    "_kernels_high.py": (
        "from visterm.compute.compiled import compiled\nfrom tiny.sums._kernels_low import one\n\n"
        "@compiled\ndef two(x):\n    return one(one(x))\n"
    ),
    "high.py": "def both(x):\n    from tiny.sums import _kernels_high\n\n    return _kernels_high.two(x)\n",
    "other.py": "def other(x):\n    return x\n",
}


@pytest.fixture
def laboratory(project, tmp_path):
    for name, text in KERNELS.items():
        (project / "src" / "tiny" / "sums" / name).write_text(text)
    (tmp_path / "copy").mkdir()
    return mutants.Laboratory(project, tmp_path / "copy", package="tiny")


def known_test(name, seconds, lines, prepared=None):
    file = "src/tiny/sums/high.py"
    return mutants.Test(name, seconds, {file: frozenset(lines)}, {file: frozenset(prepared)} if prepared else {})


def test_tests_that_run_the_line_are_tried_quickest_first(laboratory):
    change = mutants.Mutation("src/tiny/sums/high.py", 4, 0, 0, "", "", "", statement=(4, 4))
    laboratory.tests = [known_test("slow", 2, {4}), known_test("elsewhere", 1, {2}), known_test("quick", 0, {2, 4})]
    assert [one.name for one in laboratory.tests_of(change, laboratory.tests)] == ["quick", "slow"]
    laboratory.tests.append(known_test("fixture", 3, {2}, prepared={4}))  # other tests may use what it made
    assert [one.name for one in laboratory.tests_of(change, laboratory.tests)] == [
        "quick",
        "elsewhere",
        "slow",
        "fixture",
    ]


def test_callers_of_a_kernel_are_compiled_anew_and_their_tests_are_tried(laboratory):
    low, high = "src/tiny/sums/_kernels_low.py", "src/tiny/sums/_kernels_high.py"
    assert laboratory.users(low) == {low, high, "src/tiny/sums/high.py"}
    assert laboratory.users("src/tiny/sums/high.py") == {"src/tiny/sums/high.py"}
    (laboratory.copy / "tests" / "direct.py").write_text("from tiny.sums import _kernels_low\n")
    (laboratory.copy / "tests" / "other.py").write_text("from tiny.sums import other\n")
    direct, other = (mutants.Test(f"tests/{name}.py::t", 2, {}, {}) for name in ("direct", "other"))
    laboratory.tests = [known_test("caller", 1, {4}), direct, other]
    change = mutants.Mutation(low, 5, 0, 0, "", "", "", statement=(5, 5))
    assert [one.name for one in laboratory.tests_of(change, laboratory.tests)] == ["caller", "tests/direct.py::t"]
    folder = laboratory.copy / "src" / "tiny" / "sums" / "__pycache__"
    folder.mkdir()
    kept = [folder / "_kernels_high.two-5.py311.nbi", folder / "other.pyc"]
    for one in kept:
        one.write_text("compiled")
    with laboratory._without_compiled(low):
        assert [one.exists() for one in kept] == [False, True]
        kept[0].write_text("of the change")
        (folder / "_kernels_low.one-4.py311.1.nbc").write_text("of the change")
    assert [one.read_text() for one in kept] == ["compiled", "compiled"]
    assert sorted(folder.iterdir()) == sorted(kept)

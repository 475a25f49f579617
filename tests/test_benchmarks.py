"""The benchmarks of a workspace run, on a few pictures: a change of what they use must not be found out much later."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from PIL import Image

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_adding_is_measured(tmp_path, monkeypatch, capsys):
    for number in range(5):
        Image.new("RGB", (32, 24), (50 * number, 80, 120)).save(tmp_path / f"{number}.png")
    add = runpy.run_path(str(BENCHMARKS / "add.py"))
    monkeypatch.setitem(add["main"].__globals__, "N_BARE_ADDS", 50)
    monkeypatch.setattr(sys, "argv", ["add.py", str(tmp_path)])
    add["main"]()
    assert "5 added, 0 unreadable" in capsys.readouterr().out


def test_a_workspace_is_measured(tmp_path, monkeypatch, capsys):
    workspace = runpy.run_path(str(BENCHMARKS / "workspace.py"))
    for name, value in (("N_TAGGED", 300), ("N_TAGS", 20)):
        monkeypatch.setitem(workspace["main"].__globals__, name, value)
    workspace["build"](tmp_path, 400)
    workspace["measure_warm"](tmp_path)
    workspace["measure_another_process"](tmp_path)
    printed = capsys.readouterr().out
    assert "search after a label" in printed
    assert "search after another process's label" in printed

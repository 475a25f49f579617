"""Progress: JSON lines for machines, bars for people, silence otherwise."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest

from visterm.compute import Bars, JsonLines, Silent, progress
from visterm.compute.progress import for_stream


class Terminal(io.StringIO):
    def isatty(self):
        return True


def strictly(line):
    """The object of one line of JSON proper, which has no NaN."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(line, parse_constant=refuse)


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when told."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_json_lines_tell_start_advance_report_and_end(clock):
    stream = io.StringIO()
    with progress.use(JsonLines(stream)), progress.task("Learning", total=3) as bar:
        clock[0] = 1.0
        bar.advance()
        bar.report(objective=2.5)
        clock[0] = 2.0
        bar.advance(2)
    start, advance, report, last, end = map(strictly, stream.getvalue().splitlines())
    assert start == {"event": "start", "task": "Learning", "done": 0, "total": 3, "seconds": 0.0}
    assert advance == start | {"event": "advance", "done": 1, "seconds": 1.0}
    assert report == start | {"event": "report", "done": 1, "seconds": 1.0, "objective": 2.5}
    assert (last["event"], last["done"], last["seconds"]) == ("advance", 3, 2.0)
    assert end == start | {"event": "end", "done": 3, "seconds": 2.0}


def test_json_lines_are_written_at_most_ten_times_a_second(clock):
    stream = io.StringIO()
    with JsonLines(stream).task("Counting", None) as bar:
        for _ in range(1000):
            clock[0] += 0.001
            bar.advance()
    lines = [strictly(line) for line in stream.getvalue().splitlines()]
    assert 9 <= sum(line["event"] == "advance" for line in lines) <= 10
    assert lines[-1]["done"] == 1000
    assert lines[-1]["total"] is None


@pytest.mark.parametrize("value", [np.float32(1.5), np.float64(1.5), np.int64(1), 3, True])
def test_numbers_of_any_library_are_json(value):
    stream = io.StringIO()
    with JsonLines(stream).task("Learning", np.int64(2)) as bar:
        bar.advance(np.int64(1))
        bar.report(objective=value)
    report = strictly(stream.getvalue().splitlines()[1])
    assert report["objective"] == value
    assert report["done"] == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_json_lacks_are_null(value):
    stream = io.StringIO()
    with JsonLines(stream).task("Learning", None) as bar:
        bar.report(objective=value)
    assert strictly(stream.getvalue().splitlines()[1])["objective"] is None


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_task_says_so_and_the_error_goes_on(error):
    stream = io.StringIO()
    with pytest.raises(error), JsonLines(stream).task("Learning", 5):
        raise error
    assert [strictly(line)["event"] for line in stream.getvalue().splitlines()] == ["start", "failed"]


def test_descriptions_of_any_characters_are_one_line():
    stream = io.StringIO()
    with JsonLines(stream).task('a "quoted"\nשלום 🌞', None):
        pass
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert strictly(lines[0])["task"] == 'a "quoted"\nשלום 🌞'


def test_json_lines_go_to_standard_error_unless_told_otherwise(capsys):
    with JsonLines().task("Learning", None):
        pass
    written = capsys.readouterr()
    assert not written.out
    assert len(written.err.splitlines()) == 2


def test_silence_when_piped(capsys):
    display = for_stream(as_json=False, stream=io.StringIO())
    assert isinstance(display, Silent)
    with progress.use(display), progress.task("Learning", total=2) as bar:
        bar.advance()
        bar.report(objective=1.0)
    assert capsys.readouterr() == ("", "")


def test_nothing_is_shown_unless_a_display_is_chosen(capsys):
    with progress.task("Learning") as bar:
        bar.advance()
    assert capsys.readouterr() == ("", "")


def test_the_display_fits_the_stream():
    assert isinstance(for_stream(as_json=False, stream=Terminal()), Bars)
    assert isinstance(for_stream(as_json=True, stream=Terminal()), JsonLines)
    assert isinstance(for_stream(as_json=True, stream=io.StringIO()), JsonLines)


def test_the_stream_is_standard_error_unless_told_otherwise(monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(for_stream(as_json=False), Bars)


def test_displays_nest_and_the_outer_one_comes_back():
    outer, inner = io.StringIO(), io.StringIO()
    with progress.use(JsonLines(outer)):
        with pytest.raises(ValueError, match="inside"), progress.use(JsonLines(inner)):
            raise ValueError("inside")
        with progress.task("Learning"):
            pass
    assert not inner.getvalue()
    assert len(outer.getvalue().splitlines()) == 2


@pytest.fixture
def as_terminal(monkeypatch):
    """Make a terminal of 100 columns of standard error; called by the test, since pytest sets the stream anew."""

    def install():
        stream = Terminal()
        monkeypatch.setattr("sys.stderr", stream)
        return stream

    for name, value in {"TERM": "xterm-256color", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return install


def test_bars_show_description_steps_and_values_on_standard_error(as_terminal, capsys):
    terminal, display = as_terminal(), Bars()
    with progress.use(display), progress.task("Learning", total=4) as bar:
        bar.advance(3)
        bar.report(objective=0.123456789, change=2)
        display._live.refresh()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "Learning" in shown
    assert "3/4" in shown
    assert "objective 0.12346  change 2" in shown
    assert not capsys.readouterr().out


def test_bars_stack_and_vanish_with_their_tasks(as_terminal):
    as_terminal()
    display = Bars()
    with display.task("outer", 2):
        live = display._live
        with display.task("inner", None) as bar:
            bar.advance()
            assert display._live is live
            assert [task.description for task in live.tasks] == ["outer", "inner"]
        assert [task.description for task in live.tasks] == ["outer"]
    assert display._live is None
    assert live.finished
    assert not live.live.is_started


def test_bars_end_when_the_work_fails(as_terminal):
    as_terminal()
    display, lives = Bars(), []

    def work():
        with display.task("outer", 2), display.task("inner", 2):
            lives.append(display._live)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        work()
    assert display._live is None
    assert not lives[0].live.is_started
    with display.task("again", 1):
        assert display._live is not lives[0]


@pytest.mark.parametrize("description", ["[/red]", "[bold", "pictures [old]/[2]"])
def test_descriptions_are_not_markup(as_terminal, description):
    terminal, display = as_terminal(), Bars()
    with display.task(description, 2):
        display._live.refresh()
    assert description in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def test_a_note_is_an_event_for_machines_and_nothing_when_piped(capsys):
    stream = io.StringIO()
    with progress.use(JsonLines(stream)):
        progress.note("שלום\n🌞")
    assert strictly(stream.getvalue()) == {"event": "note", "text": "שלום\n🌞"}
    progress.note("nobody looks")
    assert capsys.readouterr() == ("", "")


def test_a_note_is_a_line_above_the_bars_that_stays(as_terminal, capsys):
    terminal, display = as_terminal(), Bars()
    text = "codewords learned again [/red] from 1000 pictures; " + "a long sentence " * 8
    with progress.use(display):
        with progress.task("Learning", total=4):
            progress.note(text)
        progress.note("afterwards")
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert text in shown
    assert shown.index("Learning") < shown.index("afterwards")
    assert shown.endswith("afterwards\n")
    assert not capsys.readouterr().out

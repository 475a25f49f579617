"""One progress protocol: bars for people, JSON lines for machines, silence otherwise.

Code that works for a while opens a task on whatever display is in use::

    with progress.task("Computing features", total=len(pictures)) as bar:
        for picture in pictures:
            ...
            bar.advance()

and iterative methods report their objective with ``bar.report(objective=...)``. What the user should know although the
work goes on is a sentence for :func:`note`. The command line chooses the display with :func:`use`; a library user who
wants the events implements :class:`Display`.
"""

import json
import math
import re
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import IO, Any, Protocol


class Bar(Protocol):
    """The progress of a piece of work, as the work reports it to its display."""

    def advance(self, steps: int = 1) -> None:
        """Report that ``steps`` more steps are done."""

    def report(self, **values: float) -> None:
        """Report the current value of named quantities, such as the objective."""


class Display(Protocol):
    """Something that shows tasks and notes."""

    def task(self, description: str, total: int | None) -> AbstractContextManager[Bar]:
        """Open a task of ``total`` steps (None: unknown)."""

    def note(self, text: str) -> None:
        """Show a sentence for the user."""


class Silent:
    """Shows nothing."""

    @contextmanager
    def task(self, description: str, total: int | None) -> Iterator[Bar]:  # noqa: ARG002 - the protocol's words
        """Open a task that is not shown."""
        yield self

    def note(self, text: str) -> None:
        """Ignore the note."""

    def advance(self, steps: int = 1) -> None:
        """Ignore the step."""

    def report(self, **values: float) -> None:
        """Ignore the values."""


class JsonLines:
    """Writes one JSON object per event: task, done, total, seconds and what was reported; or the text of a note.

    At most ten ``advance`` events a second are written per task; start, reports and end always are.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr

    @contextmanager
    def task(self, description: str, total: int | None) -> Iterator[Bar]:
        """Open a task whose events are written to the stream."""
        bar = _JsonBar(self._stream, description, total)
        bar.write("start")
        try:
            yield bar
        except BaseException:
            bar.write("failed")
            raise
        bar.write("end")

    def note(self, text: str) -> None:
        """Write the event ``note``."""
        _write_line(self._stream, {"event": "note", "text": text})


class _JsonBar:
    def __init__(self, stream: IO[str], description: str, total: int | None) -> None:
        self._stream, self._description = stream, description
        self._total = None if total is None else int(total)
        self._done = 0
        self._started = time.monotonic()
        self._written = 0.0

    def write(self, event: str, **values: float) -> None:
        self._written = time.monotonic()
        fields: dict[str, Any] = {"event": event, "task": self._description, "done": self._done, "total": self._total}
        fields["seconds"] = round(self._written - self._started, 3)
        # JSON has neither NumPy's numbers nor nan and infinity.
        fields |= {name: float(value) if math.isfinite(value) else None for name, value in values.items()}
        _write_line(self._stream, fields)

    def advance(self, steps: int = 1) -> None:
        self._done += int(steps)
        if time.monotonic() - self._written >= 0.1:
            self.write("advance")

    def report(self, **values: float) -> None:
        self.write("report", **values)


def _write_line(stream: IO[str], fields: dict[str, Any]) -> None:
    stream.write(json.dumps(fields) + "\n")
    stream.flush()


class Bars:
    """Rich progress bars on a terminal; they vanish when the work is done. Tasks inside tasks stack.

    Notes are lines above the bars; they stay.
    """

    def __init__(self) -> None:
        self._live: Any = None

    @contextmanager
    def task(self, description: str, total: int | None) -> Iterator[Bar]:
        """Open a bar; the outermost task owns the live display."""
        owner = self._live is None
        if owner:
            self._live = _rich_progress()
            self._live.start()
        live = self._live
        number = live.add_task(printable(description), total=total, values="")
        try:
            yield _RichBar(live, number)
        finally:
            live.remove_task(number)
            if owner:
                live.stop()
                self._live = None

    def note(self, text: str) -> None:
        """Print a line as it is: no markup is read into it."""
        console = _rich_console() if self._live is None else self._live.console
        console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


class _RichBar:
    def __init__(self, live: Any, number: Any) -> None:
        self._live, self._number = live, number

    def advance(self, steps: int = 1) -> None:
        self._live.advance(self._number, steps)

    def report(self, **values: float) -> None:
        self._live.update(self._number, values="  ".join(f"{name} {value:.5g}" for name, value in values.items()))


def _rich_console() -> Any:
    from rich.console import Console

    return Console(stderr=True)


def _rich_progress() -> Any:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[values]}", markup=False),
        console=_rich_console(),
        transient=True,
    )


_UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """``text`` for a terminal: what would be a command to it, or turn the line round, is shown as an escape.

    >>> print(printable("a\x1b[2J\u202eb"))
    a\\x1b[2J\\u202eb
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_current: ContextVar[Display] = ContextVar("visterm_progress", default=Silent())  # noqa: B039 - Silent has no state


def task(description: str, total: int | None = None) -> AbstractContextManager[Bar]:
    """Open a task on the display in use."""
    return _current.get().task(description, total)


def note(text: str) -> None:
    """Tell the user a sentence on the display in use."""
    _current.get().note(text)


@contextmanager
def use(display: Display) -> Iterator[None]:
    """Show tasks on ``display`` inside the ``with`` block."""
    token = _current.set(display)
    try:
        yield
    finally:
        _current.reset(token)


def for_stream(*, as_json: bool, stream: IO[str] | None = None) -> Display:
    """The display to use: JSON lines if requested, bars on a terminal, none when piped."""
    stream = stream or sys.stderr
    if as_json:
        return JsonLines(stream)
    return Bars() if stream.isatty() else Silent()

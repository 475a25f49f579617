"""What every command shares: how it speaks to people and to machines, and how it fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Literal, TextIO, TypeVar

import typer

from visterm.compute import progress
from visterm.compute.progress import printable
from visterm.documents.document import Document
from visterm.documents.wording import not_a_share
from visterm.errors import OUT_OF_MEMORY, UsageError, VistermError, is_out_of_memory

if TYPE_CHECKING:
    from rich.console import Console

    from visterm.workspace import Workspace

D = TypeVar("D", bound=Document)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document, and progress to stderr.")]
WorkspaceOption = Annotated[
    Path | None, typer.Option("--workspace", "-w", help="The workspace (default: this folder or the nearest above).")
]
MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Memory to use, such as 2GB (default: half of what is free)."),
]
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", help="Where to compute: numpy, cpu, cuda or cuda:N (default: a GPU if there is one)."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")]

#: A table with more rows than this is printed as plain lines.
_LONG = 1000
#: Lines of what was skipped that are printed; machines get all of them.
_SKIPPED_SHOWN = 20


@contextmanager
def command(*, as_json: bool) -> Iterator[None]:
    """Run a command: progress on the right display, expected errors as one line and exit code 1 (wrong use: 2)."""
    try:
        with progress.use(progress.for_stream(as_json=as_json)):
            yield
    except KeyboardInterrupt as error:
        typer.echo("visterm: interrupted; what was finished is kept", err=True)
        raise typer.Exit(130) from error
    except BaseException as error:  # also what is no Exception: a library in Rust ends so
        is_short = is_out_of_memory(error)
        if not is_short and not isinstance(error, VistermError):
            raise
        message = OUT_OF_MEMORY if is_short else " ".join(str(error).split())
        typer.echo(json.dumps({"error": message}) if as_json else _wrapped(f"visterm: {printable(message)}"), err=True)
        raise typer.Exit(2 if isinstance(error, UsageError) else 1) from error


def _wrapped(message: str) -> str:
    """A message in the lines of a terminal; elsewhere it is one line, which programs can search."""
    if not sys.stderr.isatty():
        return message
    return fill(message, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)


def show(document: D, as_json: bool, print_for_people: Callable[[D], None]) -> D:
    """Print ``document`` for machines, or let ``print_for_people`` print it; the document is passed through."""
    if as_json:
        # Odd file names may hold bytes that are no Unicode: escaped, the document stays valid.
        typer.echo(json.dumps(document.to_dict(), ensure_ascii=True))
    else:
        print_for_people(document)
    return document


@lru_cache(maxsize=1)
def _console(display: TextIO) -> Console:
    from rich.console import Console

    return Console(file=display, highlight=False)


def say(text: str, *, style: str | None = None, indent: int | None = None) -> None:
    """Print a sentence, broken between words to fit the display; no markup is read into it.

    Further lines are indented by ``indent``, by default two more than the first.
    """
    further = " " * (len(text) - len(text.lstrip()) + 2 if indent is None else indent)
    lines = fill(
        text,
        _console(sys.stdout).width,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )
    as_it_is(lines, style=style)


def say_row(text: str, *, style: str | None = None) -> None:
    """Print one row of an answer: a display gets it broken between words, a pipe or file in one line."""
    (say if _console(sys.stdout).is_terminal else as_it_is)(text, style=style)


def as_it_is(text: str, *, style: str | None = None) -> None:
    """Print a line that must stay whole, such as a command to copy."""
    _console(sys.stdout).print(printable(text), markup=False, soft_wrap=True, style=style)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print a plain table; columns whose cells are numbers are aligned right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [[_cell(value) for value in row] for row in rows]
    if len(cells) > _LONG:
        _long_table(columns, cells)
        return
    kinds = [list(column) for column in zip(*cells, strict=True)] or [[] for _ in columns]
    drawn = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for place, (name, column) in enumerate(zip(columns, kinds, strict=True)):
        numeric = bool(column) and all(text[:1].isdigit() or text in ("-", "") for text in column)
        justify: Literal["left", "right"] = "right" if numeric else "left"
        drawn.add_column(name, justify=justify, overflow="fold", no_wrap=place == 0)  # names stay whole
    for row in cells:
        drawn.add_row(*map(Text, row))
    _console(sys.stdout).print(drawn)


def _long_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    """Print a table whose rows cost next to nothing; a drawn one takes 2 ms for each row."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(columns, *cells, strict=True)]
    for row in (columns, *cells):
        padded = [text + " " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)]
        typer.echo("  ".join(padded).rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if value > 1 and value.is_integer() else f"{value:.3f}"
    return printable(str(value))


def check_share(option: str, value: float | None) -> None:
    """Refuse a share that is not between 0 and 1."""
    if value is not None and not 0 <= value <= 1:
        raise UsageError(not_a_share(option, value))


def show_skipped(skipped: Sequence[object], n_skipped: int | None = None) -> None:
    """Print what was left out to stderr, one line each, the first of many; ``n_skipped`` may be more than were kept."""
    n_skipped = len(skipped) if n_skipped is None else n_skipped
    for item in skipped[:_SKIPPED_SHOWN]:
        typer.echo(f"skipped {printable(str(item))}", err=True)
    if n_skipped > _SKIPPED_SHOWN:
        listed = "them all" if n_skipped == len(skipped) else f"the first {len(skipped)}"
        typer.echo(f"... and {n_skipped - _SKIPPED_SHOWN} more; --json lists {listed}", err=True)


def opened(folder: Path | None, memory: str | None = None, device: str | None = None) -> Workspace:
    """The workspace of ``folder``, or of the current directory, with so much ``memory`` and this ``device``."""
    from visterm.workspace import Workspace

    if device is not None:
        Workspace.use_device(device)
    if memory is not None:
        Workspace.allow_memory(memory)
    return Workspace.find(folder)


def at_a_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()

"""Options of a command as one object: the command line shows and reads them like parameters."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from visterm.faces.cli.options import given, spread


@dataclass(frozen=True)
class Looks:
    """Some options."""

    size: Annotated[int, typer.Option("--size", "-s", help="How large.", min=1)] = 3
    colour: Annotated[str | None, typer.Option(help="Which colour.")] = None


@pytest.fixture
def run():
    app, seen = typer.Typer(), []

    @app.command()
    @spread
    def paint(
        name: Annotated[str, typer.Argument()],
        looks: Looks = Looks(),
        twice: Annotated[bool, typer.Option("--twice")] = False,
    ) -> None:
        """Paint something."""
        seen.append((name, looks, twice))

    return lambda *words: (CliRunner().invoke(app, words), seen)


def test_each_field_is_an_option(run):
    done, seen = run("boat", "-s", "5", "--colour", "red", "--twice")
    assert (done.exit_code, seen) == (0, [("boat", Looks(5, "red"), True)])
    done, seen = run("boat")
    assert (done.exit_code, seen[-1]) == (0, ("boat", Looks(), False))


def test_what_a_field_forbids_is_refused(run):
    done, seen = run("boat", "--size", "0")
    assert done.exit_code == 2
    assert not seen


def test_help_shows_the_options_in_their_place(run):
    text = run("--help")[0].output
    assert text.index("--size") < text.index("--colour") < text.index("--twice")
    assert "How large." in text


def test_what_nobody_gave_is_left_to_the_default_of_what_takes_it():
    assert given(Looks()) == {"size": 3}
    assert given(Looks(2, "red")) == {"size": 2, "colour": "red"}

"""Some sequences of commands against the model; ``make attacks`` plays ten thousand."""

from __future__ import annotations

import model
import pytest
from model_steps import Difference, Sequences


def test_the_program_does_what_the_model_says():
    assert model.attack(60, seed=1, n_steps=8) >= 60


def test_a_removed_picture_that_changes_places_with_another_and_back():
    """A long run found it: the program kept a record without a file, and the removed picture got labels."""
    swapped = [("label", 0, 0, 0, 0), ("remove", 2, 0, 0, 0), ("change_files", 0, 2, 3, 0), ("add", 1, 0, 0, 0)]
    model.play([*swapped, ("change_files", 0, 2, 2, 0), ("add", 1, 0, 0, 0)])
    model.play([*swapped, ("undo", 0, 0, 0, 0), ("redo", 0, 0, 0, 0), ("add", 4, 0, 0, 0)])


def test_the_command_line_in_processes_of_its_own():
    model.play(
        [("label", 0, 0, 0, 2), ("change_table", 1, 3, 0, 0), ("add", 1, 0, 0, 2), ("undo", 0, 0, 0, 2)],
        processes=True,
    )


def test_the_model_notices_a_lost_label(monkeypatch):
    """A comparison that cannot fail would prove nothing."""
    said = [("label", 0, 0, 0, 0)]
    model.play(said)
    statements = Sequences._statements
    monkeypatch.setattr(Sequences, "_statements", lambda self: set(list(statements(self))[1:]))
    with pytest.raises(Difference, match="the statements in the catalogue") as found:
        model.play(said)
    assert model.play_again(str(found.value)) == 1
    monkeypatch.undo()
    assert model.play_again(str(found.value)) == 0

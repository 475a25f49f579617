"""The loop of expectation maximisation."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.compute import progress
from visterm.topics import climb
from visterm.topics.inference.refine import HeldOut
from visterm.topics.slda_refined import held_out_rows


def climbed(values=None, *, max_iter=100, tol=0.0, score=None):
    """Climb over models that are numbers; the objective of a model is its number, or that of ``values``."""
    held_out = None if score is None else HeldOut(score, 3)
    with progress.task("") as bar:
        model, objective = climb(
            0,
            lambda model: (10 * model, float(model) if values is None else values[model]),
            lambda model, evidence: model + 1 if evidence == 10 * model else None,
            max_iter=max_iter,
            tol=tol,
            bar=bar,
            is_done=None if held_out is None else held_out.is_done,
        )
    return model if held_out is None else held_out.better_of(model), objective


def test_it_ends_when_the_objective_rises_by_no_more_than_the_tolerance():
    values = [-200.0, -100.0, -50.0, -40.0, -39.7, -20.0]
    model, objective = climbed(values, tol=0.01)
    assert model == 4  # without the step after the small rise
    assert objective.tolist() == values[:5]


def test_it_ends_after_the_given_iterations():
    model, objective = climbed(max_iter=3)
    assert (model, objective.tolist()) == (3, [0, 1, 2])


def test_held_out_pictures_stop_the_iterations_and_choose_the_model():
    seen = []

    def look(model):
        seen.append(model)
        return -abs(model - 10.0)

    model, objective = climbed(score=look)
    assert model == 10
    assert len(objective) == 25
    assert seen[:5] == [5, 10, 15, 20, 25]


def test_of_equal_scores_the_first_is_kept():
    model, objective = climbed(score=lambda _: 1.0)
    assert (model, len(objective)) == (5, 20)


def test_the_last_model_is_kept_if_it_is_better_than_all_that_were_scored():
    assert climbed(max_iter=8, score=float)[0] == 8


@pytest.mark.parametrize(("n", "share", "held"), [(20, 0.25, 5), (20, 0.0, 0), (3, 0.99, 2), (1, 0.9, 0)])
def test_a_share_of_the_rows_is_held_out_but_not_all(n, share, held):
    learned, unseen = held_out_rows(n, share, np.random.RandomState(0))
    assert (len(learned), len(unseen)) == (n - held, held)
    assert sorted([*learned, *unseen]) == list(range(n))
    assert (np.diff(learned) > 0).all()
    assert (np.diff(unseen) > 0).all()

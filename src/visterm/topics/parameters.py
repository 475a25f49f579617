"""Checks of the parameters that topic models have in common."""

from __future__ import annotations

from typing import Any

from visterm.errors import InputError


def check_parameters(estimator: Any, *, positive: tuple[str, ...] = (), at_least_one: tuple[str, ...] = ()) -> None:
    """Refuse numbers that make no sense, by name.

    >>> from visterm.topics.lda import LDA
    >>> LDA(n_topics=0).fit([[1.0, 2.0]])
    Traceback (most recent call last):
      ...
    visterm.errors.InputError: n_topics must be at least 1, not 0
    """
    for name in at_least_one:
        if getattr(estimator, name) < 1:
            raise InputError(f"{name} must be at least 1, not {getattr(estimator, name)}")
    for name in positive:
        if not getattr(estimator, name) > 0:
            raise InputError(f"{name} must be positive, not {getattr(estimator, name)}")
    share = getattr(estimator, "held_out_share", 0.0)
    if not 0 <= share < 1:
        raise InputError(f"held_out_share must be at least 0 and less than 1, not {share}")

"""A measure: a small value with a name that turns (truth, prediction) into a number."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from visterm.errors import InputError
from visterm.measures.inputs import Floats

A = TypeVar("A")


class Measure(ABC, Generic[A]):
    """A measure in natural units (a share is 0..1), called with the truth and the prediction.

    Measures of one ``family`` turn the same pair into the same answer, which is checked, sorted and compared once. So
    :func:`evaluate` computes many of them at the cost of one.
    """

    family: ClassVar[str]
    #: The name, with the measure's parameters in braces.
    label: ClassVar[str]
    higher_is_better: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The name with its parameters, such as ``P@10``."""
        return self.label.format(**vars(self))

    @classmethod
    @abstractmethod
    def read(cls, truth: Any, prediction: Any) -> A:
        """Check the pair and do the work that all measures of the family share; a family may take keyword arguments."""

    @abstractmethod
    def value(self, answer: A) -> float:
        """The measure of an answer from :meth:`read`."""

    def __call__(self, truth: Any, prediction: Any, **context: Any) -> float:
        """The measure of ``prediction`` against ``truth``."""
        return self.value(self.read(truth, prediction, **context))


class MeanMeasure(Measure[A]):
    """The mean of one value per query, picture or word; those for which it is not defined (NaN) are left out."""

    #: What the mean is taken over, for the error message when there is none.
    over: ClassVar[str]

    @abstractmethod
    def values(self, answer: A) -> Floats:
        """One value per query, picture or word; NaN if it is not defined."""

    def value(self, answer: A) -> float:
        """The mean of the defined values."""
        values = self.values(answer)
        defined = values[~np.isnan(values)]
        if not defined.size:
            raise InputError(f"{self.name} is a mean over {self.over}, but there are none")
        return float(defined.mean())


def evaluate(measures: Sequence[Measure[Any]], truth: Any, prediction: Any, **context: Any) -> dict[str, float]:
    """The value of every measure, by name; the pair is checked and sorted once.

    >>> from visterm.measures import AveragePrecision, PrecisionAt
    >>> evaluate([AveragePrecision(), PrecisionAt(1)], [[1, 0, 1]], [[0.9, 0.8, 0.7]])
    {'AvgP': 0.833..., 'P@1': 1.0}
    """
    families = sorted({measure.family for measure in measures})
    if len(families) > 1:
        raise InputError(f"measures of {' and of '.join(families)} need different inputs: evaluate one at a time")
    if not measures:
        return {}
    answer = measures[0].read(truth, prediction, **context)
    return {measure.name: measure.value(answer) for measure in measures}

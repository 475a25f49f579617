from __future__ import annotations

import pytest

from visterm import measures
from visterm.errors import InputError
from visterm.measures import NDCG, Accuracy, AveragePrecision, NPlus, PrecisionAt, TagAccuracy, evaluate, parse
from visterm.measures.names import _KINDS

EVERY = [kind(5) if "{" in kind.label else kind() for kind in _KINDS] + [NDCG()]


@pytest.mark.parametrize("measure", EVERY, ids=lambda measure: measure.name)
def test_a_name_leads_back_to_its_measure(measure):
    assert parse(measure.name) == measure
    assert type(measure).__name__ in measures.__all__


def test_names_are_distinct_and_measures_are_values():
    names = [measure.name for measure in EVERY]
    assert len(set(names)) == len(names)
    assert len({PrecisionAt(10), PrecisionAt(10), PrecisionAt(5)}) == 2


@pytest.mark.parametrize("name", ["P@0", "P@", "P@-1", "P@1e9", "precision", "", "accuracy@3", "P@10 "])
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    with pytest.raises(InputError, match="top-N accuracy"):
        parse(name)


def test_evaluate_takes_one_family_at_a_time():
    assert evaluate([], [[1]], [[1.0]]) == {}
    assert evaluate([AveragePrecision()], [[1]], [[1.0]]) == {"AvgP": 1.0}
    assert evaluate([TagAccuracy(), NPlus(1)], [[1]], [[1.0]]) == {"tag accuracy": 1.0, "N+@1": 1.0}
    with pytest.raises(InputError, match="classes and of rankings"):
        evaluate([Accuracy(), AveragePrecision()], [[1]], [[1.0]])

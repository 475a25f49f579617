"""What every method promises: the shapes, the words and the checks shared by all estimators."""

from visterm.contracts.inputs import (
    check_classes,
    check_feature_mapping,
    check_features,
    check_queries,
    check_tags,
    is_several,
    n_pictures,
    take,
)
from visterm.contracts.tasks import UNKNOWN_CLASS, Annotator, Classifier, Features, Matrix, Ranker, Scores, Task

__all__ = [
    "UNKNOWN_CLASS",
    "Annotator",
    "Classifier",
    "Features",
    "Matrix",
    "Ranker",
    "Scores",
    "Task",
    "check_classes",
    "check_feature_mapping",
    "check_features",
    "check_queries",
    "check_tags",
    "is_several",
    "n_pictures",
    "take",
]

"""Measures as values: ``PrecisionAt(10)`` has a name and is called on (truth, prediction).

Families, by what they read:

- classes, (y_true, y_pred): :class:`Accuracy`, :class:`MeanClassAccuracy`
- class scores, (y_true, scores): :class:`TopKAccuracy`
- tags, (truth, scores) of (n_pictures, n_tags): :class:`MeanPrecision`, :class:`MeanRecall`, :class:`WordF`,
  :class:`NPlus`, :class:`PicturePrecision`, :class:`PictureRecall`, :class:`PictureF`, :class:`TagAccuracy`,
  :class:`CompleteLength`, :class:`WordAveragePrecision`
- rankings, (relevance, scores) of (n_queries, n_pictures): :class:`AveragePrecision`, :class:`PrecisionAt`,
  :class:`BreakEvenPoint`, :class:`NDCG`
"""

from visterm.measures.base import MeanMeasure, Measure, evaluate
from visterm.measures.classification import (
    Accuracy,
    MeanClassAccuracy,
    TopKAccuracy,
    class_accuracies,
    confusion,
)
from visterm.measures.names import parse
from visterm.measures.ranking import NDCG, AveragePrecision, BreakEvenPoint, PrecisionAt, RankingMeasure
from visterm.measures.tags import (
    CompleteLength,
    MeanPrecision,
    MeanRecall,
    NPlus,
    PictureF,
    PictureMeasure,
    PicturePrecision,
    PictureRecall,
    TagAccuracy,
    TagMeasure,
    WordAveragePrecision,
    WordF,
    WordMeasure,
    predict_tags,
)

__all__ = [
    "NDCG",
    "Accuracy",
    "AveragePrecision",
    "BreakEvenPoint",
    "CompleteLength",
    "MeanClassAccuracy",
    "MeanMeasure",
    "MeanPrecision",
    "MeanRecall",
    "Measure",
    "NPlus",
    "PictureF",
    "PictureMeasure",
    "PicturePrecision",
    "PictureRecall",
    "PrecisionAt",
    "RankingMeasure",
    "TagAccuracy",
    "TagMeasure",
    "TopKAccuracy",
    "WordAveragePrecision",
    "WordF",
    "WordMeasure",
    "class_accuracies",
    "confusion",
    "evaluate",
    "parse",
    "predict_tags",
]

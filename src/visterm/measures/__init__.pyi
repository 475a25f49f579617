from .base import MeanMeasure as MeanMeasure
from .base import Measure as Measure
from .base import evaluate as evaluate
from .classification import Accuracy as Accuracy
from .classification import MeanClassAccuracy as MeanClassAccuracy
from .classification import TopKAccuracy as TopKAccuracy
from .names import parse as parse
from .ranking import NDCG as NDCG
from .ranking import AveragePrecision as AveragePrecision
from .ranking import BreakEvenPoint as BreakEvenPoint
from .ranking import PrecisionAt as PrecisionAt
from .ranking import RankingMeasure as RankingMeasure
from .tags import CompleteLength as CompleteLength
from .tags import MeanPrecision as MeanPrecision
from .tags import MeanRecall as MeanRecall
from .tags import NPlus as NPlus
from .tags import PictureF as PictureF
from .tags import PictureMeasure as PictureMeasure
from .tags import PicturePrecision as PicturePrecision
from .tags import PictureRecall as PictureRecall
from .tags import TagAccuracy as TagAccuracy
from .tags import TagMeasure as TagMeasure
from .tags import WordAveragePrecision as WordAveragePrecision
from .tags import WordF as WordF
from .tags import WordMeasure as WordMeasure
from .tags import predict_tags as predict_tags

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
    "evaluate",
    "parse",
    "predict_tags",
]

from . import splits as splits
from .dataset import Dataset as Dataset
from .dataset import encode_classes as encode_classes
from .fitting import as_ranker as as_ranker
from .fitting import class_scores as class_scores
from .fitting import fit_method as fit_method
from .fitting import has_labels as has_labels
from .fitting import learns_from_untagged as learns_from_untagged
from .measuring import MAX_QUERY_WORDS as MAX_QUERY_WORDS
from .measuring import STANDARD_MEASURES as STANDARD_MEASURES
from .measuring import Measured as Measured
from .measuring import Performance as Performance
from .measuring import measure as measure
from .measuring import measure_fitted as measure_fitted
from .measuring import measured_queries as measured_queries
from .splits import Split as Split
from .training import HeldOut as HeldOut
from .training import Trained as Trained
from .training import train_method as train_method
from .training import validation_split as validation_split

__all__ = [
    "MAX_QUERY_WORDS",
    "STANDARD_MEASURES",
    "Dataset",
    "HeldOut",
    "Measured",
    "Performance",
    "Split",
    "Trained",
    "as_ranker",
    "class_scores",
    "encode_classes",
    "fit_method",
    "has_labels",
    "learns_from_untagged",
    "measure",
    "measure_fitted",
    "measured_queries",
    "splits",
    "train_method",
    "validation_split",
]

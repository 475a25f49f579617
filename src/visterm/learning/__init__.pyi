from . import splits as splits
from .choosing import Choice as Choice
from .choosing import Tried as Tried
from .choosing import choose as choose
from .choosing import sample_rows as sample_rows
from .dataset import Dataset as Dataset
from .dataset import encode_classes as encode_classes
from .fitting import as_ranker as as_ranker
from .fitting import class_scores as class_scores
from .fitting import fit_method as fit_method
from .fitting import has_labels as has_labels
from .fitting import learns_from_untagged as learns_from_untagged
from .fitting import leaves_out as leaves_out
from .fitting import unseen as unseen
from .measuring import MAX_QUERY_WORDS as MAX_QUERY_WORDS
from .measuring import STANDARD_MEASURES as STANDARD_MEASURES
from .measuring import Measured as Measured
from .measuring import Performance as Performance
from .measuring import measure as measure
from .measuring import measure_fitted as measure_fitted
from .measuring import measured_queries as measured_queries
from .measuring import training_part as training_part
from .reviewing import choose_questions as choose_questions
from .reviewing import class_doubt as class_doubt
from .reviewing import fit_classes as fit_classes
from .reviewing import fit_tags as fit_tags
from .reviewing import group as group
from .reviewing import reduced as reduced
from .reviewing import tag_doubt as tag_doubt
from .scored import ScoredPictures as ScoredPictures
from .scored import log_pairs_of as log_pairs_of
from .scored import pairs_of as pairs_of
from .splits import Split as Split
from .suggestions import PRECISION as PRECISION
from .suggestions import SUGGESTIONS_RIGHT as SUGGESTIONS_RIGHT
from .suggestions import TAGS_FOUND as TAGS_FOUND
from .suggestions import JudgedTags as JudgedTags
from .suggestions import judge as judge
from .suggestions import judge_by_halves as judge_by_halves
from .suggestions import rare_order as rare_order
from .suggestions import tag_probabilities as tag_probabilities
from .suggestions import word_scores as word_scores
from .training import HeldOut as HeldOut
from .training import Trained as Trained
from .training import train_method as train_method
from .training import validation_split as validation_split

__all__ = [
    "MAX_QUERY_WORDS",
    "PRECISION",
    "STANDARD_MEASURES",
    "SUGGESTIONS_RIGHT",
    "TAGS_FOUND",
    "Choice",
    "Dataset",
    "HeldOut",
    "JudgedTags",
    "Measured",
    "Performance",
    "ScoredPictures",
    "Split",
    "Trained",
    "Tried",
    "as_ranker",
    "choose",
    "choose_questions",
    "class_doubt",
    "class_scores",
    "encode_classes",
    "fit_classes",
    "fit_method",
    "fit_tags",
    "group",
    "has_labels",
    "judge",
    "judge_by_halves",
    "learns_from_untagged",
    "leaves_out",
    "log_pairs_of",
    "measure",
    "measure_fitted",
    "measured_queries",
    "pairs_of",
    "rare_order",
    "reduced",
    "sample_rows",
    "splits",
    "tag_doubt",
    "tag_probabilities",
    "train_method",
    "training_part",
    "unseen",
    "validation_split",
    "word_scores",
]

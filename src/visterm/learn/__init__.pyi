from . import any_words as any_words
from . import evaluating as evaluating
from . import quality as quality
from . import reports as reports
from . import training as training
from .any_words import AnyWordsLearned as AnyWordsLearned
from .engine.attempts import Attempt as Attempt
from .engine.attempts import Candidate as Candidate
from .engine.attempts import attempt as attempt
from .engine.choosing import Choice as Choice
from .engine.choosing import choose as choose
from .engine.choosing import sample_rows as sample_rows
from .engine.comparison import Comparison as Comparison
from .engine.comparison import compare as compare
from .engine.dataset import Dataset as Dataset
from .engine.dataset import Origin as Origin
from .engine.dataset import encode_classes as encode_classes
from .engine.fitting import Fitted as Fitted
from .engine.fitting import as_ranker as as_ranker
from .engine.fitting import fit_method as fit_method
from .engine.fitting import has_labels as has_labels
from .engine.fitting import learns_from_untagged as learns_from_untagged
from .engine.measuring import MAX_QUERY_WORDS as MAX_QUERY_WORDS
from .engine.measuring import STANDARD_MEASURES as STANDARD_MEASURES
from .engine.measuring import Measured as Measured
from .engine.measuring import Performance as Performance
from .engine.measuring import measure as measure
from .engine.measuring import measure_fitted as measure_fitted
from .engine.measuring import measured_queries as measured_queries
from .engine.measuring import training_part as training_part
from .engine.significance import SignedRank as SignedRank
from .engine.significance import holm as holm
from .engine.significance import letters as letters
from .engine.significance import wilcoxon as wilcoxon
from .engine.splits import Split as Split
from .engine.suggestions import SUGGESTIONS_RIGHT as SUGGESTIONS_RIGHT
from .engine.suggestions import TAGS_FOUND as TAGS_FOUND
from .engine.suggestions import JudgedTags as JudgedTags
from .engine.suggestions import judge as judge
from .engine.suggestions import judge_by_halves as judge_by_halves
from .engine.suggestions import tag_probabilities as tag_probabilities
from .engine.training import HeldOut as HeldOut
from .engine.training import Trained as Trained
from .engine.training import train_method as train_method
from .engine.training import validation_split as validation_split
from .evaluating import Evaluation as Evaluation
from .learned_search import learned_search as learned_search
from .quality import Qualities as Qualities
from .reports import Methods as Methods
from .reports import Models as Models
from .reports import Report as Report
from .reports import Reports as Reports
from .training import TrainedModel as TrainedModel
from .training import Training as Training

__all__ = [
    "MAX_QUERY_WORDS",
    "STANDARD_MEASURES",
    "SUGGESTIONS_RIGHT",
    "TAGS_FOUND",
    "AnyWordsLearned",
    "Attempt",
    "Candidate",
    "Choice",
    "Comparison",
    "Dataset",
    "Evaluation",
    "Fitted",
    "HeldOut",
    "JudgedTags",
    "Measured",
    "Methods",
    "Models",
    "Origin",
    "Performance",
    "Qualities",
    "Report",
    "Reports",
    "SignedRank",
    "Split",
    "Trained",
    "TrainedModel",
    "Training",
    "any_words",
    "as_ranker",
    "attempt",
    "choose",
    "compare",
    "encode_classes",
    "evaluating",
    "fit_method",
    "has_labels",
    "holm",
    "judge",
    "judge_by_halves",
    "learned_search",
    "learns_from_untagged",
    "letters",
    "measure",
    "measure_fitted",
    "measured_queries",
    "quality",
    "reports",
    "sample_rows",
    "tag_probabilities",
    "train_method",
    "training",
    "training_part",
    "validation_split",
    "wilcoxon",
]

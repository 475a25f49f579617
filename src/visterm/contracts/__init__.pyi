from .annotator import AnnotatorMixin as AnnotatorMixin
from .annotator import JointMixin as JointMixin
from .annotator import is_tag_matrix as is_tag_matrix
from .annotator import scores_multiply as scores_multiply
from .answers import ScoredPictures as ScoredPictures
from .answers import class_scores as class_scores
from .answers import leaves_out as leaves_out
from .answers import log_pairs_of as log_pairs_of
from .answers import pairs_of as pairs_of
from .answers import rare_order as rare_order
from .answers import unseen as unseen
from .answers import word_scores as word_scores
from .estimator import FRACTION as FRACTION
from .estimator import FROM_0 as FROM_0
from .estimator import FROM_1 as FROM_1
from .estimator import FROM_2 as FROM_2
from .estimator import INSIDE as INSIDE
from .estimator import NOT_NEGATIVE as NOT_NEGATIVE
from .estimator import POSITIVE as POSITIVE
from .estimator import SHARE as SHARE
from .estimator import Estimator as Estimator
from .estimator import HasMethods as HasMethods
from .estimator import Interval as Interval
from .estimator import Options as Options
from .estimator import StrOptions as StrOptions
from .estimator import declared as declared
from .inputs import check_classes as check_classes
from .inputs import check_denied as check_denied
from .inputs import check_feature_mapping as check_feature_mapping
from .inputs import check_features as check_features
from .inputs import check_queries as check_queries
from .inputs import check_tags as check_tags
from .inputs import evenly as evenly
from .inputs import has_class as has_class
from .inputs import in_single as in_single
from .inputs import is_several as is_several
from .inputs import n_pictures as n_pictures
from .inputs import rows_with_class as rows_with_class
from .inputs import rows_with_tags as rows_with_tags
from .inputs import take as take
from .tasks import UNKNOWN_CLASS as UNKNOWN_CLASS
from .tasks import Task as Task
from .types import Compressed as Compressed
from .types import Features as Features
from .types import Matrix as Matrix
from .types import Scores as Scores

__all__ = [
    "FRACTION",
    "FROM_0",
    "FROM_1",
    "FROM_2",
    "INSIDE",
    "NOT_NEGATIVE",
    "POSITIVE",
    "SHARE",
    "UNKNOWN_CLASS",
    "AnnotatorMixin",
    "Compressed",
    "Estimator",
    "Features",
    "HasMethods",
    "Interval",
    "JointMixin",
    "Matrix",
    "Options",
    "ScoredPictures",
    "Scores",
    "StrOptions",
    "Task",
    "check_classes",
    "check_denied",
    "check_feature_mapping",
    "check_features",
    "check_queries",
    "check_tags",
    "class_scores",
    "declared",
    "evenly",
    "has_class",
    "in_single",
    "is_several",
    "is_tag_matrix",
    "leaves_out",
    "log_pairs_of",
    "n_pictures",
    "pairs_of",
    "rare_order",
    "rows_with_class",
    "rows_with_tags",
    "scores_multiply",
    "take",
    "unseen",
    "word_scores",
]

from .annotator import AnnotatorMixin as AnnotatorMixin
from .annotator import JointMixin as JointMixin
from .annotator import is_tag_matrix as is_tag_matrix
from .annotator import scores_multiply as scores_multiply
from .estimator import Estimator as Estimator
from .inputs import check_classes as check_classes
from .inputs import check_denied as check_denied
from .inputs import check_feature_mapping as check_feature_mapping
from .inputs import check_features as check_features
from .inputs import check_queries as check_queries
from .inputs import check_tags as check_tags
from .inputs import has_class as has_class
from .inputs import in_single as in_single
from .inputs import is_several as is_several
from .inputs import n_pictures as n_pictures
from .inputs import rows_with_class as rows_with_class
from .inputs import rows_with_tags as rows_with_tags
from .inputs import take as take
from .protocols import Annotator as Annotator
from .protocols import Classifier as Classifier
from .protocols import Ranker as Ranker
from .tasks import UNKNOWN_CLASS as UNKNOWN_CLASS
from .tasks import Task as Task
from .types import Features as Features
from .types import Matrix as Matrix
from .types import Scores as Scores

__all__ = [
    "UNKNOWN_CLASS",
    "Annotator",
    "AnnotatorMixin",
    "Classifier",
    "Estimator",
    "Features",
    "JointMixin",
    "Matrix",
    "Ranker",
    "Scores",
    "Task",
    "check_classes",
    "check_denied",
    "check_feature_mapping",
    "check_features",
    "check_queries",
    "check_tags",
    "has_class",
    "in_single",
    "is_several",
    "is_tag_matrix",
    "n_pictures",
    "rows_with_class",
    "rows_with_tags",
    "scores_multiply",
    "take",
]

from .documents import Groups as Groups
from .documents import Questions as Questions
from .documents import ReviewState as ReviewState
from .documents import SixQuestion as SixQuestion
from .head import choose_questions as choose_questions
from .head import class_doubt as class_doubt
from .head import fit_classes as fit_classes
from .head import fit_tags as fit_tags
from .head import group as group
from .head import tag_doubt as tag_doubt
from .reviewer import Reviewer as Reviewer

__all__ = [
    "Groups",
    "Questions",
    "ReviewState",
    "Reviewer",
    "SixQuestion",
    "choose_questions",
    "class_doubt",
    "fit_classes",
    "fit_tags",
    "group",
    "tag_doubt",
]

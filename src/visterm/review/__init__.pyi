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
from .new_words import NewWords as NewWords
from .reviewer import Reviewer as Reviewer
from .word_documents import DeclinedWords as DeclinedWords
from .word_documents import SuggestedWords as SuggestedWords
from .word_documents import WordQuestions as WordQuestions

__all__ = [
    "DeclinedWords",
    "Groups",
    "NewWords",
    "Questions",
    "ReviewState",
    "Reviewer",
    "SixQuestion",
    "SuggestedWords",
    "WordQuestions",
    "choose_questions",
    "class_doubt",
    "fit_classes",
    "fit_tags",
    "group",
    "tag_doubt",
]

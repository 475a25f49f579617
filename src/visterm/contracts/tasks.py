"""The tasks a user can name. Nothing heavy is imported here: the command line reads this at every start."""

from enum import StrEnum

#: A picture whose class is not known, as in scikit-learn's semi-supervised methods.
UNKNOWN_CLASS = -1


class Task(StrEnum):
    """What a user asks a method to do."""

    CLASSIFY = "classify"
    ANNOTATE = "tag"
    RANK = "search"


#: What a person may ask to be learned, and the task it means; also the names of the models that are chosen.
LEARNED = {"classes": Task.CLASSIFY, "tags": Task.ANNOTATE, "search": Task.RANK}

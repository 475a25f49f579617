"""How people give labels: by which act, and what else is known of a picture when one label is written."""

from enum import IntEnum
from typing import Literal, get_args

from visterm.errors import UsageError

#: The queues of a review whose questions are answered with labels.
AnsweredQueue = Literal["teach", "tag", "six", "errors", "measure"]
#: How a label source gives tags: all that a picture has, or some of them.
TagsAre = Literal["complete", "partial"]


class Extent(IntEnum):
    """How much of a picture's tags somebody wrote down."""

    #: Some of them: one tag said of a selection, an answer to a question, an accepted suggestion.
    PART = 0
    #: All of them, as a label file, keywords or a caption claim.
    CLAIMED = 1
    #: All of them, by a person's word: "this is all".
    WHOLE = 2


class Act(IntEnum):
    """By which act a label was given. A denial is a label of state ``rejected``, by any act."""

    #: One label said of one or many pictures.
    SAID = 0
    #: A part of a complete description: an import row, keywords, a caption, "this is all".
    DESCRIBED = 1
    #: The answer to a question that a queue chose by doubt.
    ANSWERED = 2
    #: The answer to a measuring question.
    MEASURED = 3
    #: An accepted suggestion.
    ACCEPTED = 4

    @property
    def word(self) -> str:
        """The act as documents name it."""
        return self.name.lower()

    @classmethod
    def answering(cls, queue: str) -> "Act":
        """The act of an answer to a question of a review's queue.

        >>> Act.answering("teach").word, Act.answering("measure").word
        ('answered', 'measured')
        """
        if queue not in get_args(AnsweredQueue):
            raise UsageError(f"there is no queue {queue!r}: answers are to {', '.join(get_args(AnsweredQueue))}")
        return cls.MEASURED if queue == "measure" else cls.ANSWERED


#: The words of all acts.
WORDS = {int(act): act.word for act in Act}

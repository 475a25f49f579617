"""How people give labels: what else is known of a picture when one label is written."""

from __future__ import annotations

from enum import IntEnum


class Extent(IntEnum):
    """How much of a picture's tags somebody wrote down."""

    #: Some of them: one tag said of a selection, an answer to a question, an accepted suggestion.
    PART = 0
    #: All of them, as a label file, keywords or a caption claim.
    CLAIMED = 1
    #: All of them, by a person's word: "this is all".
    WHOLE = 2

from .document import Document as Document
from .document import json_name as json_name
from .document import plain as plain
from .document import short as short
from .document import shorten as shorten
from .notebook import PictureDocument as PictureDocument
from .wording import counted as counted
from .wording import how_good as how_good
from .wording import not_a_share as not_a_share
from .wording import percent as percent

__all__ = [
    "Document",
    "PictureDocument",
    "counted",
    "how_good",
    "json_name",
    "not_a_share",
    "percent",
    "plain",
    "short",
    "shorten",
]

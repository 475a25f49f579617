from .document import Document as Document
from .document import json_name as json_name
from .document import plain as plain
from .document import short as short
from .document import shorten as shorten
from .figure import Figure as Figure
from .figure import Stratum as Stratum
from .figure import figure as figure
from .figure import interval as interval
from .notebook import PictureDocument as PictureDocument
from .wording import counted as counted
from .wording import not_a_share as not_a_share
from .wording import percent as percent

__all__ = [
    "Document",
    "Figure",
    "PictureDocument",
    "Stratum",
    "counted",
    "figure",
    "interval",
    "json_name",
    "not_a_share",
    "percent",
    "plain",
    "short",
    "shorten",
]

from . import looking as looking
from . import searching as searching
from . import sheets as sheets
from . import showing as showing
from . import similar as similar
from . import suggesting as suggesting
from . import why as why
from .lists.completion import Completions as Completions
from .lists.completion import complete as complete
from .lists.facets import Facets as Facets
from .lists.overview import Overview as Overview
from .lists.overview import overview as overview
from .lists.overview import unlooked as unlooked
from .lists.pages import Gallery as Gallery
from .lists.pages import GalleryPage as GalleryPage
from .lists.picture import LabelsOfPictures as LabelsOfPictures
from .lists.picture import PictureDetails as PictureDetails
from .lists.picture import details as details
from .lists.picture import labels_of as labels_of
from .lists.saved import Saved as Saved
from .lists.saved import SavedSearches as SavedSearches
from .looking import Look as Look
from .rank.beliefs import Beliefs as Beliefs
from .rank.bounds import Scan as Scan
from .rank.bounds import Surprises as Surprises
from .rank.likeness import Likeness as Likeness
from .rank.pairs import Pairs as Pairs
from .rank.searcher import Hit as Hit
from .rank.searcher import Hits as Hits
from .rank.searcher import Searcher as Searcher
from .searchers import Searchers as Searchers
from .searching import Findings as Findings
from .showing import Drawing as Drawing
from .similar import Lookalikes as Lookalikes
from .suggesting import Suggestions as Suggestions
from .why import Why as Why
from .words.conditions import CONDITIONS as CONDITIONS
from .words.meaning import Interpreter as Interpreter
from .words.query import QueryError as QueryError
from .words.query import parse as parse
from .words.reading import Note as Note
from .words.reading import Reading as Reading

__all__ = [
    "CONDITIONS",
    "Beliefs",
    "Completions",
    "Drawing",
    "Facets",
    "Findings",
    "Gallery",
    "GalleryPage",
    "Hit",
    "Hits",
    "Interpreter",
    "LabelsOfPictures",
    "Likeness",
    "Look",
    "Lookalikes",
    "Note",
    "Overview",
    "Pairs",
    "PictureDetails",
    "QueryError",
    "Reading",
    "Saved",
    "SavedSearches",
    "Scan",
    "Searcher",
    "Searchers",
    "Suggestions",
    "Surprises",
    "Why",
    "complete",
    "details",
    "labels_of",
    "looking",
    "overview",
    "parse",
    "searching",
    "sheets",
    "showing",
    "similar",
    "suggesting",
    "unlooked",
    "why",
]

from .lists.facets import Facets as Facets
from .lists.pages import Gallery as Gallery
from .lists.pages import GalleryPage as GalleryPage
from .rank.beliefs import Beliefs as Beliefs
from .rank.bounds import Scan as Scan
from .rank.bounds import Surprises as Surprises
from .rank.likeness import Likeness as Likeness
from .rank.pairs import Pairs as Pairs
from .rank.searcher import Hit as Hit
from .rank.searcher import Hits as Hits
from .rank.searcher import Searcher as Searcher
from .searching import Findings as Findings
from .showing import Drawing as Drawing
from .similar import Lookalikes as Lookalikes
from .suggesting import Suggestions as Suggestions
from .words.meaning import Interpreter as Interpreter
from .words.query import QueryError as QueryError
from .words.query import parse as parse
from .words.reading import Note as Note
from .words.reading import Reading as Reading

__all__ = [
    "Beliefs",
    "Drawing",
    "Facets",
    "Findings",
    "Gallery",
    "GalleryPage",
    "Hit",
    "Hits",
    "Interpreter",
    "Likeness",
    "Lookalikes",
    "Note",
    "Pairs",
    "QueryError",
    "Reading",
    "Scan",
    "Searcher",
    "Suggestions",
    "Surprises",
    "parse",
]

from .beliefs import Beliefs as Beliefs
from .beliefs import together as together
from .bounds import Scan as Scan
from .bounds import Surprises as Surprises
from .evidence import Evidence as Evidence
from .index import Index as Index
from .learned import learned_search as learned_search
from .likeness import Likeness as Likeness
from .meaning import Interpreter as Interpreter
from .pairs import Pairs as Pairs
from .query import QueryError as QueryError
from .query import parse as parse
from .reading import Note as Note
from .reading import Reading as Reading
from .relevance import Relevance as Relevance
from .searcher import Hit as Hit
from .searcher import Hits as Hits
from .searcher import Ranking as Ranking
from .searcher import Reason as Reason
from .searcher import Searcher as Searcher
from .snapshot import Nearest as Nearest
from .snapshot import Snapshot as Snapshot
from .snapshot import largest as largest
from .threshold import cut_off as cut_off

__all__ = [
    "Beliefs",
    "Evidence",
    "Hit",
    "Hits",
    "Index",
    "Interpreter",
    "Likeness",
    "Nearest",
    "Note",
    "Pairs",
    "QueryError",
    "Ranking",
    "Reading",
    "Reason",
    "Relevance",
    "Scan",
    "Searcher",
    "Snapshot",
    "Surprises",
    "cut_off",
    "largest",
    "learned_search",
    "parse",
    "together",
]

from . import derived as derived
from . import features as features
from . import scores as scores
from .doubts import doubts_about as doubts_about
from .doubts import is_calibrated as is_calibrated
from .evidence import Evidence as Evidence
from .features import Computed as Computed
from .features import Recipes as Recipes
from .filters import Filters as Filters
from .holdings import Holdings as Holdings
from .judgements import Age as Age
from .judgements import ClassJudgements as ClassJudgements
from .judgements import Judgements as Judgements
from .judgements import LikelyName as LikelyName
from .judgements import TagJudgements as TagJudgements
from .moment import Collection as Collection
from .moment import Collections as Collections
from .moment import Frame as Frame
from .reasons import Reason as Reason
from .reasons import Regions as Regions
from .rows import Columns as Columns
from .rows import PictureRow as PictureRow
from .thumbnails import Thumbnails as Thumbnails
from .view import View as View
from .view import Views as Views

__all__ = [
    "Age",
    "ClassJudgements",
    "Collection",
    "Collections",
    "Columns",
    "Computed",
    "Evidence",
    "Filters",
    "Frame",
    "Holdings",
    "Judgements",
    "LikelyName",
    "PictureRow",
    "Reason",
    "Recipes",
    "Regions",
    "TagJudgements",
    "Thumbnails",
    "View",
    "Views",
    "derived",
    "doubts_about",
    "features",
    "is_calibrated",
    "scores",
]

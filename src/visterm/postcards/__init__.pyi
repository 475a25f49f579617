from .series import GENERATOR_VERSION as GENERATOR_VERSION
from .series import PostcardsReport as PostcardsReport
from .series import make_postcards as make_postcards
from .series import role_of as role_of
from .studio import CLASSES as CLASSES
from .studio import TAGS as TAGS
from .studio import Postcard as Postcard
from .studio import class_of as class_of
from .studio import paint as paint

__all__ = [
    "CLASSES",
    "GENERATOR_VERSION",
    "TAGS",
    "Postcard",
    "PostcardsReport",
    "class_of",
    "make_postcards",
    "paint",
    "role_of",
]

from . import documents as documents
from . import finding as finding
from . import judging as judging
from . import sharing as sharing
from . import together as together
from . import trash as trash
from .documents import CopyGroup as CopyGroup
from .documents import Duplicates as Duplicates
from .documents import Member as Member
from .judging import Judged as Judged
from .sharing import Shared as Shared
from .trash import Moved as Moved

__all__ = [
    "CopyGroup",
    "Duplicates",
    "Judged",
    "Member",
    "Moved",
    "Shared",
    "documents",
    "finding",
    "judging",
    "sharing",
    "together",
    "trash",
]

from .index import Index as Index
from .snapshot import Nearest as Nearest
from .snapshot import Snapshot as Snapshot
from .snapshot import largest as largest

__all__ = [
    "Index",
    "Nearest",
    "Snapshot",
    "largest",
]

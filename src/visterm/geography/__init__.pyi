from .gazetteer import Gazetteer as Gazetteer
from .gazetteer import Places as Places
from .gazetteer import kilometres as kilometres

__all__ = ["Gazetteer", "Places", "kilometres"]

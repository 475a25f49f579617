from .majority_class import MajorityClass as MajorityClass
from .tag_frequency import TagFrequency as TagFrequency

__all__ = [
    "MajorityClass",
    "TagFrequency",
]

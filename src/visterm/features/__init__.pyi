from .computing import features_of_files as features_of_files
from .computing import one_or_several as one_or_several
from .computing import stacked as stacked
from .library import Description as Description
from .library import FeatureLibrary as FeatureLibrary
from .store import FeatureStore as FeatureStore
from .store import FeatureWriter as FeatureWriter

__all__ = [
    "Description",
    "FeatureLibrary",
    "FeatureStore",
    "FeatureWriter",
    "features_of_files",
    "one_or_several",
    "stacked",
]

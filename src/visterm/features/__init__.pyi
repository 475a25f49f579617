from .library import Description as Description
from .library import FeatureLibrary as FeatureLibrary
from .library import features_of_files as features_of_files
from .store import FeatureStore as FeatureStore
from .store import FeatureWriter as FeatureWriter

__all__ = ["Description", "FeatureLibrary", "FeatureStore", "FeatureWriter", "features_of_files"]

from .calibrated import CalibratedVotes as CalibratedVotes
from .ccd2 import SUBSPACES as SUBSPACES
from .ccd2 import CodeAnnotator as CodeAnnotator
from .jec import JEC as JEC
from .kernel_ccd import KernelContextualAnnotator as KernelContextualAnnotator
from .knn import KnnClassifier as KnnClassifier
from .knn_tags import KnnAnnotator as KnnAnnotator
from .neighbour_count import NEIGHBOUR_COUNTS as NEIGHBOUR_COUNTS
from .neighbour_count import choose_neighbours as choose_neighbours
from .neighbour_count import f_by_neighbours as f_by_neighbours
from .quantized_knn import QuantizedKnnAnnotator as QuantizedKnnAnnotator
from .tagged_pictures import TaggedPictures as TaggedPictures
from .tagprop import TagProp as TagProp
from .two_pass_knn import TwoPassKnn as TwoPassKnn

__all__ = [
    "JEC",
    "NEIGHBOUR_COUNTS",
    "SUBSPACES",
    "CalibratedVotes",
    "CodeAnnotator",
    "KernelContextualAnnotator",
    "KnnAnnotator",
    "KnnClassifier",
    "QuantizedKnnAnnotator",
    "TagProp",
    "TaggedPictures",
    "TwoPassKnn",
    "choose_neighbours",
    "f_by_neighbours",
]

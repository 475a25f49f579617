from .ccd2 import SUBSPACES as SUBSPACES
from .ccd2 import CodeAnnotator as CodeAnnotator
from .jec import JEC as JEC
from .kernel_ccd import KernelContextualAnnotator as KernelContextualAnnotator
from .knn import KnnClassifier as KnnClassifier
from .knn_tags import KnnAnnotator as KnnAnnotator
from .majority_class import MajorityClass as MajorityClass
from .prototypes import Prototypes as Prototypes
from .quantized_knn import QuantizedKnnAnnotator as QuantizedKnnAnnotator
from .tag_frequency import TagFrequency as TagFrequency
from .tagprop import TagProp as TagProp
from .two_pass_knn import TwoPassKnn as TwoPassKnn
from .two_pass_knn_likelihood import LikelihoodTwoPassKnn as LikelihoodTwoPassKnn
from .voting.calibrated import CalibratedVotes as CalibratedVotes
from .voting.neighbour_count import NEIGHBOUR_COUNTS as NEIGHBOUR_COUNTS
from .voting.neighbour_count import choose_neighbours as choose_neighbours
from .voting.neighbour_count import f_by_neighbours as f_by_neighbours
from .voting.tagged_pictures import TaggedPictures as TaggedPictures

__all__ = [
    "JEC",
    "NEIGHBOUR_COUNTS",
    "SUBSPACES",
    "CalibratedVotes",
    "CodeAnnotator",
    "KernelContextualAnnotator",
    "KnnAnnotator",
    "KnnClassifier",
    "LikelihoodTwoPassKnn",
    "MajorityClass",
    "Prototypes",
    "QuantizedKnnAnnotator",
    "TagFrequency",
    "TagProp",
    "TaggedPictures",
    "TwoPassKnn",
    "choose_neighbours",
    "f_by_neighbours",
]

from .functions.by_landmarks import ByLandmarks as ByLandmarks
from .functions.expansion import ExpansionEstimator as ExpansionEstimator
from .functions.expansion import folds as folds
from .functions.kernels import gram as gram
from .functions.left_out import LeavesOut as LeavesOut
from .functions.left_out import prints_of as prints_of
from .functions.one_vs_all import OneVsAll as OneVsAll
from .functions.product_kernel import ProductKernel as ProductKernel
from .functions.selection import Choice as Choice
from .functions.selection import ChosenC as ChosenC
from .functions.selection import choose_c as choose_c
from .functions.selection import choose_parameters as choose_parameters
from .mtl_sdca import MultitaskSDCA as MultitaskSDCA
from .ridge_tags import KernelRidgeAnnotator as KernelRidgeAnnotator
from .sdca import SDCAClassifier as SDCAClassifier
from .sdca_stacked import StackedSDCA as StackedSDCA
from .sdca_top_k import TopKSDCA as TopKSDCA
from .solver.ascent import Solution as Solution
from .solver.ascent import solve as solve
from .solver.inner_products import FeatureInnerProducts as FeatureInnerProducts
from .solver.inner_products import GramInnerProducts as GramInnerProducts
from .solver.losses import HINGE as HINGE
from .solver.losses import LOGISTIC as LOGISTIC
from .solver.losses import SQUARED as SQUARED
from .solver.losses import SQUARED_HINGE as SQUARED_HINGE
from .solver.losses import smooth_hinge as smooth_hinge
from .solver.ridge import Ridge as Ridge
from .solver.tasks import Problem as Problem

__all__ = [
    "HINGE",
    "LOGISTIC",
    "SQUARED",
    "SQUARED_HINGE",
    "ByLandmarks",
    "Choice",
    "ChosenC",
    "ExpansionEstimator",
    "FeatureInnerProducts",
    "GramInnerProducts",
    "KernelRidgeAnnotator",
    "LeavesOut",
    "MultitaskSDCA",
    "OneVsAll",
    "Problem",
    "ProductKernel",
    "Ridge",
    "SDCAClassifier",
    "Solution",
    "StackedSDCA",
    "TopKSDCA",
    "choose_c",
    "choose_parameters",
    "folds",
    "gram",
    "prints_of",
    "smooth_hinge",
    "solve",
]

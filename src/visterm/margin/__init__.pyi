from .dual import Solution as Solution
from .elastic_net import ElasticNetSDCA as ElasticNetSDCA
from .elastic_net_multitask import ElasticNetMultitask as ElasticNetMultitask
from .expansion import ExpansionEstimator as ExpansionEstimator
from .expansion import folds as folds
from .inner_products import FeatureInnerProducts as FeatureInnerProducts
from .inner_products import GramInnerProducts as GramInnerProducts
from .kernel_ridge import ridge as ridge
from .kernels import gram as gram
from .left_out import LeavesOut as LeavesOut
from .losses import Hinge as Hinge
from .losses import Logistic as Logistic
from .losses import SmoothHinge as SmoothHinge
from .losses import Squared as Squared
from .losses import SquaredHinge as SquaredHinge
from .mtl_sdca import MultitaskSDCA as MultitaskSDCA
from .one_vs_all import OneVsAll as OneVsAll
from .precision import solve as solve
from .product_kernel import ProductKernel as ProductKernel
from .ridge_tags import KernelRidgeAnnotator as KernelRidgeAnnotator
from .sdca import SDCAClassifier as SDCAClassifier
from .sdca_stacked import StackedSDCA as StackedSDCA
from .sdca_top_k import TopKSDCA as TopKSDCA
from .selection import Choice as Choice
from .selection import ChosenC as ChosenC
from .selection import choose_c as choose_c
from .selection import choose_parameters as choose_parameters
from .similarity_plot import nearest_tasks as nearest_tasks
from .similarity_plot import save_similarity as save_similarity

__all__ = [
    "Choice",
    "ChosenC",
    "ElasticNetMultitask",
    "ElasticNetSDCA",
    "ExpansionEstimator",
    "FeatureInnerProducts",
    "GramInnerProducts",
    "Hinge",
    "KernelRidgeAnnotator",
    "LeavesOut",
    "Logistic",
    "MultitaskSDCA",
    "OneVsAll",
    "ProductKernel",
    "SDCAClassifier",
    "SmoothHinge",
    "Solution",
    "Squared",
    "SquaredHinge",
    "StackedSDCA",
    "TopKSDCA",
    "choose_c",
    "choose_parameters",
    "folds",
    "gram",
    "nearest_tasks",
    "ridge",
    "save_similarity",
    "solve",
]

from .cca import CCA as CCA
from .cca import cholesky_whitening as cholesky_whitening
from .contextual_distance import ContextualDistance as ContextualDistance
from .directions import Directions as Directions
from .directions import checksum as checksum
from .directions import reduced as reduced
from .directions import sample as sample
from .feature_maps import FeatureMaps as FeatureMaps
from .kernel_map import KernelMap as KernelMap
from .kernel_map import kernel_components as kernel_components
from .linear.linear_embedding import LinearEmbedding as LinearEmbedding
from .linear.linear_embedding import project as project
from .linear.moments import Moments as Moments
from .linear.view_moments import ViewMoments as ViewMoments
from .pca import PCA as PCA
from .pls import PLS as PLS
from .product_quantizer import ProductQuantizer as ProductQuantizer
from .product_quantizer import nearest_coded as nearest_coded

__all__ = [
    "CCA",
    "PCA",
    "PLS",
    "ContextualDistance",
    "Directions",
    "FeatureMaps",
    "KernelMap",
    "LinearEmbedding",
    "Moments",
    "ProductQuantizer",
    "ViewMoments",
    "checksum",
    "cholesky_whitening",
    "kernel_components",
    "nearest_coded",
    "project",
    "reduced",
    "sample",
]

from .graph_mixture import GraphMixture as GraphMixture
from .inference.lapvar import DirichletMeans as DirichletMeans
from .inference.lapvar import Discrete as Discrete
from .inference.lapvar import LapVar as LapVar
from .inference.lapvar import Point as Point
from .label_propagation import LabelPropagation as LabelPropagation
from .label_propagation import harmonic as harmonic
from .label_propagation import spread as spread
from .nearest.approximate import nearest_of_all as nearest_of_all
from .neighbourhood import Neighbourhood as Neighbourhood
from .picture_graph import PictureGraph as PictureGraph
from .regularized import GraphRegularized as GraphRegularized
from .spread_classes import SpreadClassifier as SpreadClassifier
from .spread_tags import SpreadAnnotator as SpreadAnnotator
from .strangers import Strangers as Strangers

__all__ = [
    "DirichletMeans",
    "Discrete",
    "GraphMixture",
    "GraphRegularized",
    "LabelPropagation",
    "LapVar",
    "Neighbourhood",
    "PictureGraph",
    "Point",
    "SpreadAnnotator",
    "SpreadClassifier",
    "Strangers",
    "harmonic",
    "nearest_of_all",
    "spread",
]

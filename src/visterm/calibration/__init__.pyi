from .asked import Asked as Asked
from .combining import DEPENDENCE as DEPENDENCE
from .combining import together as together
from .completeness import share_written as share_written
from .nothing_found import cut_off as cut_off
from .relevance import Relevance as Relevance
from .scales import deviations as deviations
from .scales import tag_leads as tag_leads
from .scales import tag_scales as tag_scales
from .scales import tag_scales_of_moments as tag_scales_of_moments
from .sigmoids import fit_deviations as fit_deviations
from .sigmoids import fit_platt as fit_platt
from .sigmoids import fit_sigmoids as fit_sigmoids
from .sigmoids import sigmoid as sigmoid
from .tag_confidence import TagConfidence as TagConfidence
from .tag_probabilities import PRECISION as PRECISION
from .tag_probabilities import Denials as Denials
from .tag_probabilities import TagProbabilities as TagProbabilities
from .tag_probabilities import Written as Written
from .temperature import class_probabilities as class_probabilities
from .temperature import fit_temperature as fit_temperature
from .temperature import surprise as surprise
from .text_relevance import TextQuery as TextQuery
from .text_relevance import TextRelevance as TextRelevance
from .text_relevance import standardised as standardised

__all__ = [
    "DEPENDENCE",
    "PRECISION",
    "Asked",
    "Denials",
    "Relevance",
    "TagConfidence",
    "TagProbabilities",
    "TextQuery",
    "TextRelevance",
    "Written",
    "class_probabilities",
    "cut_off",
    "deviations",
    "fit_deviations",
    "fit_platt",
    "fit_sigmoids",
    "fit_temperature",
    "share_written",
    "sigmoid",
    "standardised",
    "surprise",
    "tag_leads",
    "tag_scales",
    "tag_scales_of_moments",
    "together",
]

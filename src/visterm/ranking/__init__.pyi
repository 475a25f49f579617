from .caption_ridge import CaptionRidge as CaptionRidge
from .cmrm import CMRM as CMRM
from .cmtt import CMTT as CMTT
from .concept_svm import ConceptSVM as ConceptSVM
from .multinomials import MultinomialRanker as MultinomialRanker
from .pamir import PAMIR as PAMIR
from .picture_kernels import LocalDescriptors as LocalDescriptors
from .picture_kernels import PictureGaussians as PictureGaussians
from .picture_kernels import best_matches as best_matches
from .picture_kernels import expected_likelihood as expected_likelihood
from .queries import Queries as Queries
from .tag_ranker import TagRanker as TagRanker
from .triplets import FeatureSpace as FeatureSpace
from .triplets import GramSpace as GramSpace
from .triplets import Triplets as Triplets
from .triplets import TripletSettings as TripletSettings
from .triplets import learn_from_triplets as learn_from_triplets
from .visterms import VistermExpansion as VistermExpansion
from .word_space import Explanation as Explanation
from .word_space import WordSpaceRanker as WordSpaceRanker

__all__ = [
    "CMRM",
    "CMTT",
    "PAMIR",
    "CaptionRidge",
    "ConceptSVM",
    "Explanation",
    "FeatureSpace",
    "GramSpace",
    "LocalDescriptors",
    "MultinomialRanker",
    "PictureGaussians",
    "Queries",
    "TagRanker",
    "TripletSettings",
    "Triplets",
    "VistermExpansion",
    "WordSpaceRanker",
    "best_matches",
    "expected_likelihood",
    "learn_from_triplets",
]

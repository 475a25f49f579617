from .any_words import AnyWords as AnyWords
from .any_words import TextScores as TextScores
from .caption_ridge import CaptionRidge as CaptionRidge
from .cmrm import CMRM as CMRM
from .cmtt import CMTT as CMTT
from .concept_svm import ConceptSVM as ConceptSVM
from .pamir import PAMIR as PAMIR
from .queries import Queries as Queries
from .sentence_cca import SentenceCCA as SentenceCCA
from .spaces.multinomials import MultinomialRanker as MultinomialRanker
from .spaces.pair_space import PairSpace as PairSpace
from .spaces.picture_kernels import LocalDescriptors as LocalDescriptors
from .spaces.picture_kernels import PictureGaussians as PictureGaussians
from .spaces.picture_kernels import best_matches as best_matches
from .spaces.picture_kernels import expected_likelihood as expected_likelihood
from .spaces.said_texts import Said as Said
from .spaces.shared_space import SharedSpace as SharedSpace
from .spaces.triplets import FeatureSpace as FeatureSpace
from .spaces.triplets import GramSpace as GramSpace
from .spaces.triplets import Triplets as Triplets
from .spaces.triplets import TripletSettings as TripletSettings
from .spaces.triplets import learn_from_triplets as learn_from_triplets
from .spaces.visterms import VistermExpansion as VistermExpansion
from .spaces.word_space import Explanation as Explanation
from .spaces.word_space import WordSpaceRanker as WordSpaceRanker
from .tag_ranker import TagRanker as TagRanker

__all__ = [
    "CMRM",
    "CMTT",
    "PAMIR",
    "AnyWords",
    "CaptionRidge",
    "ConceptSVM",
    "Explanation",
    "FeatureSpace",
    "GramSpace",
    "LocalDescriptors",
    "MultinomialRanker",
    "PairSpace",
    "PictureGaussians",
    "Queries",
    "Said",
    "SentenceCCA",
    "SharedSpace",
    "TagRanker",
    "TextScores",
    "TripletSettings",
    "Triplets",
    "VistermExpansion",
    "WordSpaceRanker",
    "best_matches",
    "expected_likelihood",
    "learn_from_triplets",
]

from .aspects import Aspects as Aspects
from .aspects import fold_in as fold_in
from .bags import check_bags as check_bags
from .bags import check_tag_bags as check_tag_bags
from .bags import distributions as distributions
from .class_response import improve_coefficients as improve_coefficients
from .class_response import roots as roots
from .corr_lda import CorrLDA as CorrLDA
from .em import climb as climb
from .explain import Reasons as Reasons
from .inference import Inferred as Inferred
from .inference import infer_topics as infer_topics
from .inference import starting_gamma as starting_gamma
from .joint_inference import JointTopics as JointTopics
from .joint_inference import Labelled as Labelled
from .joint_inference import LabelledInference as LabelledInference
from .joint_inference import infer_labelled as infer_labelled
from .joint_inference import mean_assignments as mean_assignments
from .joint_inference import responsibilities as responsibilities
from .joint_model import JointTopicModel as JointTopicModel
from .lda import LDA as LDA
from .link_lda import LinkLDA as LinkLDA
from .plsa import PLSA as PLSA
from .slda import SupervisedLDA as SupervisedLDA
from .slda_committee import TopicCommittee as TopicCommittee
from .starts import start_topics as start_topics
from .statistics import TopicStatistics as TopicStatistics
from .statistics import normalised as normalised
from .theme_lda import ThemeLDA as ThemeLDA
from .topic_neighbours import TopicNeighbours as TopicNeighbours
from .unigram_mixture import UnigramMixture as UnigramMixture
from .unigram_mixture import Unigrams as Unigrams
from .unigram_mixture import start_responsibilities as start_responsibilities

__all__ = [
    "LDA",
    "PLSA",
    "Aspects",
    "CorrLDA",
    "Inferred",
    "JointTopicModel",
    "JointTopics",
    "Labelled",
    "LabelledInference",
    "LinkLDA",
    "Reasons",
    "SupervisedLDA",
    "ThemeLDA",
    "TopicCommittee",
    "TopicNeighbours",
    "TopicStatistics",
    "UnigramMixture",
    "Unigrams",
    "check_bags",
    "check_tag_bags",
    "climb",
    "distributions",
    "fold_in",
    "improve_coefficients",
    "infer_labelled",
    "infer_topics",
    "mean_assignments",
    "normalised",
    "responsibilities",
    "roots",
    "start_responsibilities",
    "start_topics",
    "starting_gamma",
]

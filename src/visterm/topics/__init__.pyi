from .corr_lda import CorrLDA as CorrLDA
from .corr_lda_refined import RefinedCorrLDA as RefinedCorrLDA
from .inference._kernels_lda import digamma as digamma
from .inference._kernels_lda import trigamma as trigamma
from .inference.aspects import Aspects as Aspects
from .inference.aspects import fold_in as fold_in
from .inference.em import Inferred as Inferred
from .inference.em import TopicStatistics as TopicStatistics
from .inference.em import check_bags as check_bags
from .inference.em import check_tag_bags as check_tag_bags
from .inference.em import climb as climb
from .inference.em import distributions as distributions
from .inference.em import infer_topics as infer_topics
from .inference.em import normalised as normalised
from .inference.em import of_size as of_size
from .inference.em import start_topics as start_topics
from .inference.em import starting_gamma as starting_gamma
from .inference.joint_model import JointTopicModel as JointTopicModel
from .inference.joint_model import Labelled as Labelled
from .inference.joint_model import LabelledInference as LabelledInference
from .inference.joint_model import improve_coefficients as improve_coefficients
from .inference.joint_model import infer_labelled as infer_labelled
from .inference.joint_model import mean_assignments as mean_assignments
from .inference.joint_model import responsibilities as responsibilities
from .inference.refine import RefinedTopics as RefinedTopics
from .inference.refine import roots as roots
from .inference.topic_model import DirichletTopicModel as DirichletTopicModel
from .inference.topic_model import JointTopics as JointTopics
from .inference.topic_model import TopicModel as TopicModel
from .lda import LDA as LDA
from .link_lda import LinkLDA as LinkLDA
from .plsa import PLSA as PLSA
from .slda import SupervisedLDA as SupervisedLDA
from .slda_committee import TopicCommittee as TopicCommittee
from .slda_refined import RefinedSupervisedLDA as RefinedSupervisedLDA
from .slda_refined import RefinedTopicModel as RefinedTopicModel
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
    "DirichletTopicModel",
    "Inferred",
    "JointTopicModel",
    "JointTopics",
    "Labelled",
    "LabelledInference",
    "LinkLDA",
    "RefinedCorrLDA",
    "RefinedSupervisedLDA",
    "RefinedTopicModel",
    "RefinedTopics",
    "SupervisedLDA",
    "ThemeLDA",
    "TopicCommittee",
    "TopicModel",
    "TopicNeighbours",
    "TopicStatistics",
    "UnigramMixture",
    "Unigrams",
    "check_bags",
    "check_tag_bags",
    "climb",
    "digamma",
    "distributions",
    "fold_in",
    "improve_coefficients",
    "infer_labelled",
    "infer_topics",
    "mean_assignments",
    "normalised",
    "of_size",
    "responsibilities",
    "roots",
    "start_responsibilities",
    "start_topics",
    "starting_gamma",
    "trigamma",
]

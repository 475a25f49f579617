"""The rows of the topic models in the registry. Nothing heavy is imported: see ``Method``."""

from functools import partial

from visterm.contracts.method import ANNOTATE, CLASSIFY, Method

#: Topic models count codewords: they take one bag of them, and no other feature.
_of_bags = partial(Method, recipe="bow-deep", takes_any_features=False)

METHODS = (
    _of_bags(
        "unigram-mixture",
        "visterm.topics.unigram_mixture:UnigramMixture",
        ANNOTATE,
        summary="one topic per picture; learns from untagged pictures too",
        reference="Shao et al., ACM TIST 2014",
        preset={"n_topics": 240, "n_tokens": 100, "random_state": 0},
    ),
    _of_bags(
        "plsa-words",
        "visterm.topics.plsa:PLSA",
        ANNOTATE,
        summary="learns topics from tags, then the codewords of each topic",
        reference="Monay and Gatica-Perez, ACM Multimedia 2004",
        preset={"n_topics": 240, "n_tokens": 100, "random_state": 0},
    ),
    _of_bags(
        "plsa",
        "visterm.topics.plsa:PLSA",
        ANNOTATE,
        summary="learns topics from codewords and tags together",
        reference="Hofmann, Machine Learning 2001",
        preset={"n_topics": 240, "asymmetric": False, "n_tokens": 100, "random_state": 0},
    ),
    _of_bags(
        "link-lda",
        "visterm.topics.link_lda:LinkLDA",
        ANNOTATE,
        summary="codewords and tags share the topic proportions of a picture",
        reference="Erosheva, Fienberg and Lafferty, PNAS 2004",
        preset={"n_topics": 240, "n_tokens": 100, "random_state": 0},
    ),
    _of_bags(
        "theme-lda",
        "visterm.topics.theme_lda:ThemeLDA",
        CLASSIFY,
        summary="the class whose mixture of topics explains the picture best",
        reference="Fei-Fei and Perona, CVPR 2005",
        preset={"random_state": 0},
    ),
    _of_bags(
        "topic-neighbours",
        "visterm.topics.topic_neighbours:TopicNeighbours",
        CLASSIFY,
        summary="the class of the pictures with the most similar topics",
        reference="Bosch, Zisserman and Munoz, ECCV 2006",
        preset={"n_tokens": 1000, "random_state": 0},
    ),
    _of_bags(
        "slda",
        "visterm.topics.slda:SupervisedLDA",
        CLASSIFY | ANNOTATE,
        summary="learns topics that predict both class and tags",
        reference="Wang, Blei and Fei-Fei, CVPR 2009",
        preset={"n_tokens": 200, "random_state": 0},
    ),
    _of_bags(
        "slda-refined",
        "visterm.topics.slda_refined:RefinedSupervisedLDA",
        CLASSIFY | ANNOTATE,
        summary="slda, whose topics are then moved to predict labels from codewords alone",
        reference="after Wang, Blei and Fei-Fei, CVPR 2009",
        preset={"n_topics": 60, "n_tokens": 200, "random_state": 0},
    ),
    _of_bags(
        "slda-committee",
        "visterm.topics.slda_committee:TopicCommittee",
        CLASSIFY | ANNOTATE,
        summary="averages several slda-refined models; costs n_members times as much",
        reference="after Wang, Blei and Fei-Fei, CVPR 2009",
        preset={"n_members": 3, "n_tokens": 200, "random_state": 0},
    ),
    _of_bags(
        "corr-lda",
        "visterm.topics.corr_lda:CorrLDA",
        ANNOTATE,
        summary="each tag comes from the topic of one codeword of the picture",
        reference="Blei and Jordan, SIGIR 2003",
        preset={"n_tokens": 200, "random_state": 0},
    ),
    _of_bags(
        "corr-lda-refined",
        "visterm.topics.corr_lda_refined:RefinedCorrLDA",
        ANNOTATE,
        summary="corr-lda, whose topics are then moved to predict tags from codewords alone",
        reference="after Blei and Jordan, SIGIR 2003",
        preset={"n_topics": 60, "n_tokens": 200, "random_state": 0},
    ),
)

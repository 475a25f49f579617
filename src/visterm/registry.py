"""The registry of methods: short names to classes, tasks and default feature recipes.

Command line, workspace, experiments and tests read only this. A class is imported when it is first used, so that
listing methods costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from visterm.contracts.tasks import Task
from visterm.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method users can name: where its class lives, what it does, which recipe feeds it."""

    name: str
    target: str  # "package.module:Class"
    tasks: frozenset[Task]
    recipe: str
    summary: str
    reference: str = ""
    #: Parameters that the method uses where its class has other defaults, chosen for pictures.
    preset: dict[str, Any] = field(default_factory=dict)
    #: A method that never looks at the picture: what every other method is compared with.
    is_baseline: bool = False

    def load(self) -> type[Any]:
        """Import the class."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)

    def create(self, **parameters: Any) -> Any:
        """An unfitted estimator with the method's preset, overridden by ``parameters``."""
        cls = self.load()
        known = cls().get_params() if not self.preset else cls(**self.preset).get_params()
        for name in parameters:
            if name not in known:
                raise InputError(
                    f"{self.name} has no parameter {name!r}: its parameters are {', '.join(sorted(known)) or 'none'}"
                )
        return cls(**(self.preset | parameters))

    def does(self, task: Task) -> bool:
        """Whether the method can do ``task``; every annotator can search, through a TagRanker."""
        return task in self.tasks or (task is Task.RANK and Task.ANNOTATE in self.tasks)


_METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Make a method known under its name."""
    if method.name in _METHODS:
        raise InputError(f"two methods are called {method.name!r}")
    _METHODS[method.name] = method
    return method


def get(name: str) -> Method:
    """The method called ``name``.

    >>> sorted(get("knn").tasks)
    [<Task.CLASSIFY: 'classify'>]
    """
    if name not in _METHODS:
        raise InputError(f"unknown method {name!r}: choose one of {', '.join(sorted(_METHODS))}")
    return _METHODS[name]


def methods(task: Task | None = None) -> list[Method]:
    """All methods, or those that can do ``task``, the baseline first."""
    chosen = [method for method in _METHODS.values() if task is None or method.does(task)]
    return sorted(chosen, key=lambda method: (not method.is_baseline, method.name))


def baseline(task: Task) -> Method:
    """The method that never looks at the picture."""
    return next(method for method in methods(task) if method.is_baseline)


CLASSIFY, ANNOTATE = frozenset({Task.CLASSIFY}), frozenset({Task.ANNOTATE})
RANK = frozenset({Task.RANK})

for _method in (
    Method(
        "majority-class",
        "visterm.baselines.majority_class:MajorityClass",
        CLASSIFY,
        "colour",
        "every picture belongs to the most frequent class",
        is_baseline=True,
    ),
    Method(
        "tag-frequency",
        "visterm.baselines.tag_frequency:TagFrequency",
        ANNOTATE,
        "colour",
        "every picture gets the most frequent tags",
        is_baseline=True,
    ),
    Method(
        "knn",
        "visterm.neighbours.knn:KnnClassifier",
        CLASSIFY,
        "bow-240",
        "the class of the most similar pictures",
        preset={"metric": "hellinger"},
    ),
    Method(
        "knn-tags",
        "visterm.neighbours.knn_tags:KnnAnnotator",
        ANNOTATE,
        "bow-240",
        "the tags of the most similar pictures",
        reference="Nakayama et al., BMVC 2010",
        preset={"metric": "hellinger"},
    ),
    Method(
        "sdca",
        "visterm.margin.sdca:SDCAClassifier",
        CLASSIFY,
        "bow-240",
        "each class separated from all others by a wide margin",
        reference="Lapin, Schiele, Hein, CVPR 2014",
        preset={"C": 10.0, "kernel": "auto", "random_state": 0},
    ),
    Method(
        "sdca-stacked",
        "visterm.margin.sdca_stacked:StackedSDCA",
        CLASSIFY,
        "bow-240",
        "a second layer of margins over the scores of the first",
        reference="Lapin, Schiele, Hein, CVPR 2014",
        preset={"C": 10.0, "kernel": "auto", "random_state": 0},
    ),
    Method(
        "sdca-top-k",
        "visterm.margin.sdca_top_k:TopKSDCA",
        CLASSIFY,
        "bow-240",
        "all classes separated at once, the right one among the first k",
        reference="Lapin, Hein, Schiele, NIPS 2015",
        preset={"C": 10.0, "kernel": "auto", "random_state": 0},
    ),
    Method(
        "mtl-sdca",
        "visterm.margin.mtl_sdca:MultitaskSDCA",
        CLASSIFY | ANNOTATE,
        "bow-240",
        "classes and tags separated in a representation they share",
        reference="Lapin, Schiele, Hein, CVPR 2014",
        preset={"C": 10.0, "kernel": "auto", "max_iter": 3, "calibration_folds": 2, "tol": 0.01, "random_state": 0},
    ),
    Method(
        "ridge-tags",
        "visterm.margin.ridge_tags:KernelRidgeAnnotator",
        ANNOTATE,
        "bow-240",
        "tags by regression, each measured against its left-out scores",
    ),
    Method(
        "unigram-mixture",
        "visterm.topics.unigram_mixture:UnigramMixture",
        ANNOTATE,
        "bow-240",
        "the tags of the picture's one topic, learned from untagged pictures too",
        reference="Shao et al., ACM TIST 2014",
        preset={"n_tokens": 100, "random_state": 0},
    ),
    Method(
        "plsa-words",
        "visterm.topics.plsa:PLSA",
        ANNOTATE,
        "bow-240",
        "tags through the topics of tags, then the codewords of those topics",
        reference="Monay and Gatica-Perez, ACM Multimedia 2004",
        preset={"n_tokens": 100, "random_state": 0},
    ),
    Method(
        "plsa",
        "visterm.topics.plsa:PLSA",
        ANNOTATE,
        "bow-240",
        "tags through topics of codewords and tags together",
        reference="Hofmann, Machine Learning 2001",
        preset={"asymmetric": False, "n_tokens": 100, "random_state": 0},
    ),
    Method(
        "link-lda",
        "visterm.topics.link_lda:LinkLDA",
        ANNOTATE,
        "bow-240",
        "tags through topic proportions that codewords and tags share",
        reference="Erosheva, Fienberg and Lafferty, PNAS 2004",
        preset={"n_tokens": 100, "random_state": 0},
    ),
    Method(
        "theme-lda",
        "visterm.topics.theme_lda:ThemeLDA",
        CLASSIFY,
        "bow-240",
        "the class whose mixture of topics explains the picture best",
        reference="Fei-Fei and Perona, CVPR 2005",
        preset={"random_state": 0},
    ),
    Method(
        "topic-neighbours",
        "visterm.topics.topic_neighbours:TopicNeighbours",
        CLASSIFY,
        "bow-240",
        "the class of the pictures of the most similar topics",
        reference="Bosch, Zisserman and Munoz, ECCV 2006",
        preset={"n_tokens": 1000, "random_state": 0},
    ),
    Method(
        "slda",
        "visterm.topics.slda:SupervisedLDA",
        CLASSIFY | ANNOTATE,
        "bow-240",
        "class and tags from topics learned for both",
        reference="Wang, Blei and Fei-Fei, CVPR 2009",
        preset={"n_tokens": 200, "random_state": 0},
    ),
    Method(
        "slda-committee",
        "visterm.topics.slda_committee:TopicCommittee",
        CLASSIFY | ANNOTATE,
        "bow-240",
        "the mean of several supervised topic models",
        reference="Wang, Blei and Fei-Fei, CVPR 2009",
        preset={"n_members": 3, "n_tokens": 200, "random_state": 0},
    ),
    Method(
        "corr-lda",
        "visterm.topics.corr_lda:CorrLDA",
        ANNOTATE,
        "bow-240",
        "the tags of the topics of a picture's regions",
        reference="Blei and Jordan, SIGIR 2003",
        preset={"n_tokens": 200, "random_state": 0},
    ),
    Method(
        "ccd2",
        "visterm.neighbours.ccd2:CodeAnnotator",
        ANNOTATE,
        "bow-240",
        "the tags of the nearest pictures in a small space learned from tags",
        reference="Nakayama et al., BMVC 2010",
    ),
    Method(
        "jec",
        "visterm.neighbours.jec:JEC",
        ANNOTATE,
        "bow-240",
        "the tags of the nearest picture, filled up from the next, all features counting the same",
        reference="Makadia, Pavlovic and Kumar, ECCV 2008",
    ),
    Method(
        "tagprop",
        "visterm.neighbours.tagprop:TagProp",
        ANNOTATE,
        "bow-240",
        "the tags of similar pictures, their votes weighed to explain the training tags best",
        reference="Guillaumin et al., ICCV 2009",
    ),
    Method(
        "two-pass-knn",
        "visterm.neighbours.two_pass_knn:TwoPassKnn",
        ANNOTATE,
        "bow-240",
        "the votes of the most similar pictures of every tag, frequent or rare",
        reference="Verma and Jawahar, ECCV 2012",
    ),
    Method(
        "graph-mixture",
        "visterm.graph.graph_mixture:GraphMixture",
        ANNOTATE,
        "bow-240",
        "topics that look-alikes agree on, for collections of which few pictures are tagged",
        reference="Shao et al., ACM TIST 2014",
        preset={"metric": "hellinger", "n_tokens": 20, "random_state": 0},
    ),
    Method(
        "label-propagation",
        "visterm.graph.label_propagation:LabelPropagation",
        ANNOTATE,
        "bow-240",
        "tags that travel along links between look-alikes",
        reference="Zhou et al., NIPS 2004",
        preset={"metric": "hellinger"},
    ),
    Method(
        "pamir",
        "visterm.ranking.pamir:PAMIR",
        RANK,
        "bow-240",
        "words placed so that relevant pictures lead the others, learned from queries of several words",
        reference="Grangier and Bengio, TPAMI 2008",
        preset={"n_steps": 200_000, "loss": "warp", "random_state": 0},
    ),
    Method(
        "cmrm",
        "visterm.ranking.cmrm:CMRM",
        ANNOTATE | RANK,
        "bow-240",
        "the words of training pictures that could have produced the codewords",
        reference="Jeon, Lavrenko and Manmatha, SIGIR 2003",
        preset={"n_tokens": 100},
    ),
    Method(
        "cmtt",
        "visterm.ranking.cmtt:CMTT",
        ANNOTATE | RANK,
        "bow-240",
        "codewords translated into the words of the same pictures",
        reference="Pan et al., ICME 2004",
    ),
    Method(
        "concept-svm",
        "visterm.ranking.concept_svm:ConceptSVM",
        RANK,
        "bow-240",
        "one wide margin a word, averaged over the words of a query",
        reference="Grangier and Bengio, TPAMI 2008",
        preset={"C": 10.0, "random_state": 0},
    ),
    Method(
        "caption-ridge",
        "visterm.ranking.caption_ridge:CaptionRidge",
        ANNOTATE | RANK,
        "bow-240",
        "regression of words, and of words found together",
    ),
    Method(
        "kernel-ccd",
        "visterm.neighbours.kernel_ccd:KernelContextualAnnotator",
        ANNOTATE,
        "bow-240",
        "the tags of the pictures nearest in meaning, by all features and the tags learned together",
        reference="Nakayama et al., BMVC 2010",
    ),
):
    register(_method)

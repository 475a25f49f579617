"""The registry of methods: short names to classes, tasks and default feature recipes.

The command line, the workspace, experiments and tests find methods only here. A class is imported when it is first
used, so listing methods costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from visterm.contracts.tasks import Task
from visterm.errors import InputError, UsageError


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method that users can name: its class, the tasks it can do, and its default recipe."""

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
    #: False: the method takes one feature only, without negative numbers; not ``deep+globals`` and no Fisher vectors.
    takes_any_features: bool = True

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
                raise UsageError(
                    f"{self.name} has no parameter {name!r}: its parameters are {', '.join(sorted(known)) or 'none'}"
                )
        return cls(**(self.preset | parameters))

    def does(self, task: Task) -> bool:
        """Whether the method can do ``task``; every annotator can search, through a TagRanker."""
        return task in self.tasks or (task is Task.RANK and Task.ANNOTATE in self.tasks)


_METHODS: dict[str, Method] = {}


def register(method: Method) -> Method:
    """Add a method to the registry."""
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
        near = get_close_matches(name, _METHODS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(sorted(_METHODS))}"
        raise UsageError(f"unknown method {name!r}: {hint}")
    return _METHODS[name]


def methods(task: Task | None = None) -> list[Method]:
    """All methods, or those that can do ``task``; baselines first."""
    chosen = [method for method in _METHODS.values() if task is None or method.does(task)]
    return sorted(chosen, key=lambda method: (not method.is_baseline, method.name))


def baseline(task: Task) -> Method:
    """The baseline for ``task``: it never looks at the picture."""
    return next(method for method in methods(task) if method.is_baseline)


CLASSIFY, ANNOTATE = frozenset({Task.CLASSIFY}), frozenset({Task.ANNOTATE})
RANK = frozenset({Task.RANK})

for _method in (
    Method(
        "majority-class",
        "visterm.baselines.majority_class:MajorityClass",
        CLASSIFY,
        "colour",
        "the most frequent class, for every picture",
        is_baseline=True,
    ),
    Method(
        "tag-frequency",
        "visterm.baselines.tag_frequency:TagFrequency",
        ANNOTATE,
        "colour",
        "the most frequent tags, for every picture",
        is_baseline=True,
    ),
    Method(
        "knn",
        "visterm.neighbours.knn:KnnClassifier",
        CLASSIFY,
        "deep",
        "the class of the most similar pictures",
        preset={"metric": "hellinger"},
        takes_any_features=False,
    ),
    Method(
        "knn-tags",
        "visterm.neighbours.knn_tags:KnnAnnotator",
        ANNOTATE,
        "deep",
        "the tags of the most similar pictures",
        reference="Nakayama et al., BMVC 2010",
        preset={"metric": "hellinger"},
        takes_any_features=False,
    ),
    Method(
        "sdca",
        "visterm.margin.sdca:SDCAClassifier",
        CLASSIFY,
        "deep",
        "separates each class from all others by a wide margin",
        reference="Lapin, Schiele, Hein, CVPR 2014",
        preset={"C": "auto", "kernel": "auto", "loss": "logistic", "random_state": 0},
    ),
    Method(
        "sdca-stacked",
        "visterm.margin.sdca_stacked:StackedSDCA",
        CLASSIFY,
        "deep",
        "a second layer of margins, trained on the scores of the first",
        reference="Lapin, Schiele, Hein, CVPR 2014",
        preset={"C": 10.0, "kernel": "auto", "random_state": 0},
    ),
    Method(
        "sdca-top-k",
        "visterm.margin.sdca_top_k:TopKSDCA",
        CLASSIFY,
        "deep",
        "separates all classes at once; the right class should be among the k best",
        reference="Lapin, Hein, Schiele, NIPS 2015",
        preset={"C": 10.0, "kernel": "auto", "random_state": 0},
    ),
    Method(
        "mtl-sdca",
        "visterm.margin.mtl_sdca:MultitaskSDCA",
        CLASSIFY | ANNOTATE,
        "deep",
        "separates classes and tags in a representation that they share",
        reference="Lapin, Schiele, Hein, CVPR 2014",
        preset={
            "C": 10.0,
            "kernel": "auto",
            "max_iter": 3,
            "calibration_folds": 2,
            "tol": 0.01,
            "max_work": 5e8,
            "random_state": 0,
        },
    ),
    Method(
        "ridge-tags",
        "visterm.margin.ridge_tags:KernelRidgeAnnotator",
        ANNOTATE,
        "deep",
        "one ridge regression per tag, calibrated on exact leave-one-out scores",
    ),
    Method(
        "unigram-mixture",
        "visterm.topics.unigram_mixture:UnigramMixture",
        ANNOTATE,
        "bow-deep",
        "one topic per picture; learns from untagged pictures too",
        reference="Shao et al., ACM TIST 2014",
        preset={"n_topics": 240, "n_tokens": 100, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "plsa-words",
        "visterm.topics.plsa:PLSA",
        ANNOTATE,
        "bow-deep",
        "learns topics from tags, then the codewords of each topic",
        reference="Monay and Gatica-Perez, ACM Multimedia 2004",
        preset={"n_topics": 240, "n_tokens": 100, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "plsa",
        "visterm.topics.plsa:PLSA",
        ANNOTATE,
        "bow-deep",
        "learns topics from codewords and tags together",
        reference="Hofmann, Machine Learning 2001",
        preset={"n_topics": 240, "asymmetric": False, "n_tokens": 100, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "link-lda",
        "visterm.topics.link_lda:LinkLDA",
        ANNOTATE,
        "bow-deep",
        "codewords and tags share the topic proportions of a picture",
        reference="Erosheva, Fienberg and Lafferty, PNAS 2004",
        preset={"n_topics": 240, "n_tokens": 100, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "theme-lda",
        "visterm.topics.theme_lda:ThemeLDA",
        CLASSIFY,
        "bow-deep",
        "the class whose mixture of topics explains the picture best",
        reference="Fei-Fei and Perona, CVPR 2005",
        preset={"random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "topic-neighbours",
        "visterm.topics.topic_neighbours:TopicNeighbours",
        CLASSIFY,
        "bow-deep",
        "the class of the pictures with the most similar topics",
        reference="Bosch, Zisserman and Munoz, ECCV 2006",
        preset={"n_tokens": 1000, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "slda",
        "visterm.topics.slda:SupervisedLDA",
        CLASSIFY | ANNOTATE,
        "bow-deep",
        "learns topics that predict both class and tags",
        reference="Wang, Blei and Fei-Fei, CVPR 2009",
        preset={"n_tokens": 200, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "slda-refined",
        "visterm.topics.slda:SupervisedLDA",
        CLASSIFY | ANNOTATE,
        "bow-deep",
        "slda, whose topics are then moved to predict labels from codewords alone",
        reference="after Wang, Blei and Fei-Fei, CVPR 2009",
        preset={"n_topics": 60, "refine": 25, "n_tokens": 200, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "slda-committee",
        "visterm.topics.slda_committee:TopicCommittee",
        CLASSIFY | ANNOTATE,
        "bow-deep",
        "averages several slda-refined models; costs n_members times as much",
        reference="after Wang, Blei and Fei-Fei, CVPR 2009",
        preset={"n_members": 3, "n_tokens": 200, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "corr-lda",
        "visterm.topics.corr_lda:CorrLDA",
        ANNOTATE,
        "bow-deep",
        "each tag comes from the topic of one codeword of the picture",
        reference="Blei and Jordan, SIGIR 2003",
        preset={"n_tokens": 200, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "corr-lda-refined",
        "visterm.topics.corr_lda:CorrLDA",
        ANNOTATE,
        "bow-deep",
        "corr-lda, whose topics are then moved to predict tags from codewords alone",
        reference="after Blei and Jordan, SIGIR 2003",
        preset={"n_topics": 60, "refine": 25, "n_tokens": 200, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "ccd2",
        "visterm.neighbours.ccd2:CodeAnnotator",
        ANNOTATE,
        "deep",
        "the tags of the nearest pictures in a small space learned from tags",
        reference="Nakayama et al., BMVC 2010",
    ),
    Method(
        "jec",
        "visterm.neighbours.jec:JEC",
        ANNOTATE,
        "deep",
        "the tags of the nearest picture, then of the next ones; all features count equally",
        reference="Makadia, Pavlovic and Kumar, ECCV 2008",
    ),
    Method(
        "tagprop",
        "visterm.neighbours.tagprop:TagProp",
        ANNOTATE,
        "deep",
        "the tags of similar pictures; learns how much each neighbour's vote counts",
        reference="Guillaumin et al., ICCV 2009",
    ),
    Method(
        "two-pass-knn",
        "visterm.neighbours.two_pass_knn:TwoPassKnn",
        ANNOTATE,
        "deep",
        "every tag, frequent or rare, gets votes from its most similar pictures",
        reference="Verma and Jawahar, ECCV 2012",
    ),
    Method(
        "graph-mixture",
        "visterm.graph.graph_mixture:GraphMixture",
        ANNOTATE,
        "bow-deep",
        "topics on which similar pictures agree; for collections with few tagged pictures",
        reference="Shao et al., ACM TIST 2014",
        preset={"metric": "hellinger", "n_tokens": 20, "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "label-propagation",
        "visterm.graph.label_propagation:LabelPropagation",
        ANNOTATE,
        "deep",
        "tags spread along links between similar pictures",
        reference="Zhou et al., NIPS 2004",
        preset={"metric": "hellinger"},
        takes_any_features=False,
    ),
    Method(
        "pamir",
        "visterm.ranking.pamir:PAMIR",
        RANK,
        "visterms-10k",
        "learns word weights that rank relevant pictures first, from queries of several words",
        reference="Grangier and Bengio, TPAMI 2008",
        preset={"kernel": "visterm", "random_state": 0},
        takes_any_features=False,
    ),
    Method(
        "pamir-warp",
        "visterm.ranking.pamir:PAMIR",
        RANK,
        "bow-deep",
        "pamir with a kernel and a loss that weighs the top of the ranking",
        reference="Weston, Bengio and Usunier, IJCAI 2011",
        preset={"n_steps": 200_000, "loss": "warp", "random_state": 0},
    ),
    Method(
        "cmrm",
        "visterm.ranking.cmrm:CMRM",
        ANNOTATE | RANK,
        "bow-deep",
        "the words of the training pictures that explain the codewords best",
        reference="Jeon, Lavrenko and Manmatha, SIGIR 2003",
        preset={"n_tokens": 100},
        takes_any_features=False,
    ),
    Method(
        "cmtt",
        "visterm.ranking.cmtt:CMTT",
        ANNOTATE | RANK,
        "bow-deep",
        "translates codewords into words that occur in the same pictures",
        reference="Pan et al., ICME 2004",
        takes_any_features=False,
    ),
    Method(
        "concept-svm",
        "visterm.ranking.concept_svm:ConceptSVM",
        RANK,
        "deep",
        "one margin classifier per word, averaged over the words of a query",
        reference="Grangier and Bengio, TPAMI 2008",
        preset={"C": 10.0, "random_state": 0},
    ),
    Method(
        "caption-ridge",
        "visterm.ranking.caption_ridge:CaptionRidge",
        ANNOTATE | RANK,
        "deep",
        "one ridge regression per word and per set of words found together",
    ),
    Method(
        "kernel-ccd",
        "visterm.neighbours.kernel_ccd:KernelContextualAnnotator",
        ANNOTATE,
        "deep",
        "the tags of the nearest pictures in a small space learned from all features and tags",
        reference="Nakayama et al., BMVC 2010",
    ),
):
    register(_method)

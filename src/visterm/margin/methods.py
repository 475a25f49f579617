"""The rows of the margin methods in the registry. Nothing heavy is imported: see ``Method``."""

from visterm.contracts.method import ANNOTATE, CLASSIFY, Method

METHODS = (
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
)

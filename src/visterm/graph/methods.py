"""The rows of the graph methods in the registry. Nothing heavy is imported: see ``Method``."""

from visterm.contracts.method import ANNOTATE, Method

METHODS = (
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
)

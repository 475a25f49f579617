"""The rows of the rankers in the registry. Nothing heavy is imported: see ``Method``."""

from visterm.contracts.method import ANNOTATE, RANK, Method

METHODS = (
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
        "sentence-cca",
        "visterm.ranking.sentence_cca:SentenceCCA",
        ANNOTATE | RANK,
        "deep-lite2",
        "places pictures and texts in one space: any sentence finds pictures, in many languages",
        reference="Hotelling, Biometrika 1936; Conneau et al., ICLR 2018",
    ),
)

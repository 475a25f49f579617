from . import experiments as experiments
from . import research_data as research_data
from .comparison import Comparison as Comparison
from .comparison import compare as compare
from .experiments import Experiment as Experiment
from .experiments import ExperimentsReport as ExperimentsReport
from .experiments import Figure as Figure
from .experiments import Finding as Finding
from .experiments import run_experiments as run_experiments
from .picture_data import load_pictures as load_pictures
from .picture_distances import load_distances as load_distances
from .significance import Interval as Interval
from .significance import SignedRank as SignedRank
from .significance import holm as holm
from .significance import letters as letters
from .significance import paired_bootstrap as paired_bootstrap
from .significance import wilcoxon as wilcoxon

__all__ = [
    "Comparison",
    "Experiment",
    "ExperimentsReport",
    "Figure",
    "Finding",
    "Interval",
    "SignedRank",
    "compare",
    "experiments",
    "holm",
    "letters",
    "load_distances",
    "load_pictures",
    "paired_bootstrap",
    "research_data",
    "run_experiments",
    "wilcoxon",
]

from . import experiments as experiments
from . import research_data as research_data
from .experiments import Experiment as Experiment
from .experiments import ExperimentsReport as ExperimentsReport
from .experiments import Figure as Figure
from .experiments import Finding as Finding
from .experiments import run_experiments as run_experiments
from .picture_data import load_pictures as load_pictures
from .picture_distances import load_distances as load_distances

__all__ = [
    "Experiment",
    "ExperimentsReport",
    "Figure",
    "Finding",
    "experiments",
    "load_distances",
    "load_pictures",
    "research_data",
    "run_experiments",
]

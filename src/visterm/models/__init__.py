"""Model folders: fitted estimators on disk, without pickle."""

from visterm.models.folder import (
    Model,
    SearchSettings,
    checked_scores,
    load_model,
    open_model,
    read_info,
    save_model,
    using,
)
from visterm.models.info import ModelInfo

__all__ = [
    "Model",
    "ModelInfo",
    "SearchSettings",
    "checked_scores",
    "load_model",
    "open_model",
    "read_info",
    "save_model",
    "using",
]

"""Model folders: fitted estimators on disk, without pickle."""

from visterm.models.folder import Model, ModelInfo, SearchSettings, load_model, open_model, read_info, save_model

__all__ = ["Model", "ModelInfo", "SearchSettings", "load_model", "open_model", "read_info", "save_model"]

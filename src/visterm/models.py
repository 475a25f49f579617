"""Model folders: fitted estimators on disk, without pickle."""

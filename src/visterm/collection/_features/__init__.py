"""The parts of the feature store: its manifest, its growing files, its lock."""

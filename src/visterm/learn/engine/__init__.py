"""Learning that knows arrays and methods, but no workspace."""

"""The parts of the array store."""

"""What every method promises: the shapes, the words and the checks shared by all estimators."""

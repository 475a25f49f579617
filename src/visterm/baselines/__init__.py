"""The honest floor: methods that never look at the picture."""
